"""What changes a notice that stands in a channel."""

from typing import Protocol

from turnkeeper.domain.notice import NoticeDetails, NoticePlace


class NoticeEditor(Protocol):
    """Edits notices where people see them. Safe to use from several threads."""

    def disable(self, place: NoticePlace, details: NoticeDetails) -> None:
        """Leave the notice as it is, with a button that can no longer be pressed.

        A notice that is gone is no error.

        Raises:
            SinkError: The button is as it was; a later try may go through.
            DestinationGone: ... and no later one will.
        """
        ...
