"""The words in which a turn is explained."""

from turnkeeper.domain.failure import REACTIONS, Failure, OtherKey, SameKey
from turnkeeper.domain.plan import ServerRoute

LONGEST_WORDS = 200


def said(failure: Failure) -> str:
    """A failure: its kind, the rule that knew it by what, and what was said."""
    status = f" {failure.status}" if failure.status else ""
    rule = f" [{failure.rule}{' ' if failure.evidence else ''}{failure.evidence}]"
    text = " ".join(failure.message.split())[:LONGEST_WORDS]
    after = failure.retry_after_s
    hint = f", back in {after:g} s as it says" if after is not None else ""
    return f"{words(failure.kind.value)}{status}{rule if failure.rule else ''} ({text}{hint})"


def reaction(failure: Failure) -> str:
    """What the table of failures lets follow."""
    reaction = REACTIONS[failure.kind]
    options = (
        "another key" if reaction.other_key is not OtherKey.NEVER else "",
        f"the same key ({reaction.same_key.value})"
        if reaction.same_key is not SameKey.NEVER
        else "",
        "the next model" if reaction.next_model else "",
    )
    may_help = " or ".join(option for option in options if option)
    return f"what may help is {may_help or 'nothing'}"


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


def so(cause: str) -> str:
    """The cause, if there is one."""
    return f": {cause}" if cause else ""


def words(name: str) -> str:
    """A name from the code, as people write it."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return spaced.replace("_", " ")
