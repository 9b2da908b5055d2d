"""A channel in a folder, one file a message, so that what is visible outlives a process."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from turnkeeper.application.ports.channel_reader import ChannelReader, Place, PostedMessage
from turnkeeper.application.ports.sink import Spoken, Target
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink

BOT = "bot"
AtPost = Callable[[str, int], None]
"""Called ``before`` and ``after`` each post with its number, from 1."""


def put(folder: Path, text: str, webhook_id: str | None = None) -> str:
    """Post a message; it is there whole or not at all."""
    message_id = uuid4().hex
    message = {
        "id": message_id,
        "text": text.strip(),  # as Discord does
        "webhook_id": webhook_id,
        "posted_at": datetime.now(UTC).isoformat(),
    }
    draft = folder / f"{message_id}.draft"
    draft.write_text(json.dumps(message))
    os.replace(draft, folder / f"{message_id}.json")
    return message_id


def shown(folder: Path) -> list[str]:
    """What people see, oldest first."""
    return [message["text"] for message in _read(folder)]


def _read(folder: Path) -> list[dict[str, str]]:
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda message: str(message["posted_at"]))


class FileSink(MemorySink):
    """Speaks into a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        at_post: AtPost = lambda when, number: None,
        at_finalize: Callable[[], None] = lambda: None,
        webhook_id: str | None = None,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._at_post = at_post
        self._at_finalize = at_finalize
        self._webhook_id = webhook_id
        self._posts = 0

    def prepare(self, request: TurnRequest) -> Target:
        target = super().prepare(request)
        is_temporary = self._webhook_id is not None
        return replace(target, webhook_id=self._webhook_id, webhook_is_temporary=is_temporary)

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        self._posts += 1
        self._at_post("before", self._posts)
        message_id = put(self._folder, text, self._webhook_id)
        self._at_post("after", self._posts)
        return Delivery(
            message_id=message_id, channel_id=target.channel_id, text=text, origin=origin
        )

    def take_back(self, delivery: Delivery) -> bool:
        (self._folder / f"{delivery.message_id}.json").unlink(missing_ok=True)
        return True

    def tell(self, spoken: Spoken) -> None:
        pass

    def finalize(self, result: TurnResult) -> None:
        self._at_finalize()


class FileChannelReader(ChannelReader):
    """Reads the folder, whatever the channel."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def own_id(self) -> str:
        return BOT

    def messages_since(self, place: Place, since: datetime) -> tuple[PostedMessage, ...]:
        read = (
            PostedMessage(
                message_id=message["id"],
                author_id=message["webhook_id"] or BOT,
                webhook_id=message["webhook_id"],
                text=message["text"],
                posted_at=datetime.fromisoformat(message["posted_at"]),
            )
            for message in _read(self._folder)
        )
        return tuple(message for message in read if message.posted_at >= since)

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        (self._folder / f"{message_id}.json").unlink(missing_ok=True)
        return True

    def delete_webhook(self, webhook_id: str) -> bool:
        (self._folder / f"deleted-{webhook_id}").touch()
        return True
