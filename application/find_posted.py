"""Which messages of a channel are those whose ids a dead turn did not live to write."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from turnkeeper.application.ports.channel_reader import PostedMessage
from turnkeeper.application.ports.ledger import Intent, IntentState
from turnkeeper.application.ports.orphans import Left, Orphan
from turnkeeper.application.poster import content_hash
from turnkeeper.domain.frozen import frozen

SKEW = timedelta(seconds=10)
"""How far the destination's clock may be from the store's."""
POST = timedelta(seconds=60)
"""How long a post may be on its way."""


@frozen
class Found:
    """What was found.

    Attributes:
        messages: Pairs of intent id and its message.
        unsure: Ids of intents whose message may as well be another turn's.
        absent: Ids of intents without any message.
    """

    messages: tuple[tuple[str, PostedMessage], ...] = ()
    unsure: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def find_posted(
    orphan: Orphan,
    lost: tuple[Left, ...],
    messages: tuple[PostedMessage, ...],
    others: tuple[Left, ...],
    *,
    own_id: str,
) -> Found:
    """Match intents with messages by author or webhook, by time and by text.

    A message that another turn is known to have posted, or may have posted, is never the orphan's.

    Args:
        lost: The orphan's intents whose messages are looked for, in order of writing.
        messages: All that stands in their place, oldest first.
        others: The intents of other turns there.
    """
    taken = {left.message_id for left in (*orphan.left, *others)}
    rivals = [left for left in others if left.state is IntentState.INTENDED]
    found: dict[str, PostedMessage] = {}
    unsure: list[str] = []
    for left in lost:
        fitting = _fitting(left, orphan, messages, own_id, taken)
        sure = [one for one in fitting if not _may_be_of(rivals, one, own_id)]
        if sure:
            found[left.intent.intent_id] = sure[0]
            taken.add(sure[0].message_id)
        elif fitting:
            unsure.append(left.intent.intent_id)
    ids = [left.intent.intent_id for left in lost]
    absent = tuple(one for one in ids if one not in found and one not in unsure)
    return Found(messages=tuple(found.items()), unsure=tuple(unsure), absent=absent)


def span(left: Left, orphan: Orphan) -> tuple[datetime, datetime]:
    """From when to when its message may have been posted.

    An intent that was kept on its machine has that machine's time; if that is not within the
    turn's, the clock had jumped, and all of the turn's time counts.
    """
    if orphan.opened_at - SKEW <= left.written_at <= orphan.now + SKEW:
        return left.written_at - SKEW, max(orphan.alive_until, left.written_at + POST) + SKEW
    return orphan.opened_at - SKEW, orphan.now + SKEW


def _fitting(
    left: Left,
    orphan: Orphan,
    messages: Iterable[PostedMessage],
    own_id: str,
    taken: set[str | None],
) -> list[PostedMessage]:
    """Those that say just that first, then those that have grown from it."""
    earliest, latest = span(left, orphan)
    there = [
        message
        for message in messages
        if message.message_id not in taken
        and earliest <= message.posted_at <= latest
        and is_by(left.intent, message, own_id)
    ]
    exact = [message for message in there if says(left.intent, message.text)]
    grown = [message for message in there if has_grown_from(left.intent, message.text)]
    return exact + grown


def _may_be_of(rivals: Iterable[Left], message: PostedMessage, own_id: str) -> bool:
    return any(_candidates(rivals, message, own_id))


def _candidates(rivals: Iterable[Left], message: PostedMessage, own_id: str) -> Iterator[bool]:
    for rival in rivals:
        is_in_time = rival.written_at - SKEW <= message.posted_at
        text_fits = says(rival.intent, message.text) or has_grown_from(rival.intent, message.text)
        yield is_in_time and text_fits and is_by(rival.intent, message, own_id)


def is_by(intent: Intent, message: PostedMessage, own_id: str) -> bool:
    """Whether the intent's webhook sent the message, or the bot itself where it has none."""
    if intent.webhook_id is not None:
        return message.webhook_id == intent.webhook_id
    return message.webhook_id is None and message.author_id == own_id


def says(intent: Intent, text: str) -> bool:
    """Whether the text is what was to be posted, blanks around it aside."""
    return intent.content_hash in {content_hash(text.strip()), content_hash(text)}


def has_grown_from(intent: Intent, text: str) -> bool:
    """Whether the text begins with what was to be posted: it was edited in place since."""
    stripped = text.strip()
    if not 0 < intent.chars < len(stripped):
        return False
    return content_hash(stripped[: intent.chars]) == intent.content_hash
