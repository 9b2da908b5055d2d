"""Who owns keys and settings, and whose credentials pay."""

from enum import Enum
from functools import lru_cache

from turnkeeper.domain.frozen import frozen


class Route(Enum):
    """Whose credentials pay."""

    PERSONAL = "personal"
    SERVER = "server"


class OwnerKind(Enum):
    """What kind of owner keys and settings have."""

    SERVER = "server"
    USER = "user"

    __hash__ = object.__hash__  # an enum's own is slow, and owners are keys of many dicts


@frozen(kw_only=False)
class Owner:
    """One server or one user; their keys and settings are never mixed.

    Attributes:
        kind: Server or user.
        id: The host's id, such as a Discord snowflake; not empty.
    """

    kind: OwnerKind
    id: str

    def __post_init__(self) -> None:
        if not self.id or self.id != self.id.strip():
            raise ValueError(f"an owner's id is a text without outer blanks, not {self.id!r}")

    def __str__(self) -> str:
        return f"{self.kind._value_}:{self.id}"  # a turn asks often, and `value` is slow

    @classmethod
    def server(cls, server_id: str) -> "Owner":
        """The owner that is a server."""
        return _server(server_id)

    @classmethod
    def user(cls, user_id: str) -> "Owner":
        """The owner that is a user."""
        return cls(OwnerKind.USER, user_id)

    @classmethod
    def parse(cls, text: str) -> "Owner":
        """The owner that `str` gave, such as ``server:12``.

        Raises:
            ValueError: The text is not of that form.
        """
        kind, colon, owner_id = text.partition(":")
        if not colon or kind not in {k.value for k in OwnerKind}:
            raise ValueError(f"an owner is written server:ID or user:ID, not {text!r}")
        return cls(OwnerKind(kind), owner_id)


@lru_cache(maxsize=1024)
def _server(server_id: str) -> Owner:
    return Owner(OwnerKind.SERVER, server_id)
