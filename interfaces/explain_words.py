"""The words in which a turn is explained."""

from turnkeeper.domain.plan import ServerRoute

LONGEST_WORDS = 200


def messages(ids: tuple[str, ...]) -> str:
    """How many messages, or which one."""
    match len(ids):
        case 0:
            return "nothing"
        case 1:
            return f"message {ids[0]}"
        case several:
            return f"{several} messages"


def may_follow(server_route: str) -> str:
    """Whether the server's models may follow, where that is worth a word."""
    if server_route == ServerRoute.NOT_APPLICABLE.value:
        return ""
    if server_route == ServerRoute.MAY_OPEN.value:
        return "; the server's models may follow"
    return f"; the server's models may not follow: {server_route}"


def back(next_in_s: float | None) -> str:
    """When the next key is free."""
    return "none comes back by itself" if next_in_s is None else f"the next in {next_in_s:.1f} s"


def back_in(next_in_s: float | None) -> str:
    """When it may be tried again, where that is known."""
    return "" if next_in_s is None else f"; may be tried again in {next_in_s:.0f} s"


def so(cause: str) -> str:
    """The cause, if there is one."""
    return f": {cause}" if cause else ""


def words(name: str) -> str:
    """A name from the code, as people write it."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return spaced.replace("_", " ")
