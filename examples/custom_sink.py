"""A sink of one's own: send, and delete where the destination can do that.

What a failed attempt had shown is deleted again. Leave `delete` out, and nothing is shown before
it is sure to stand.
"""

from turnkeeper.interfaces import Conversation, SimpleSink, Turnkeeper, TurnRequest, TurnResult


class BoardSink(SimpleSink):
    """Pins the messages of a turn on a board, by number."""

    max_chars = 500

    def __init__(self, board: dict[str, str]) -> None:
        super().__init__()
        self._board = board

    def send(self, text: str) -> str:
        message_id = str(len(self._board) + 1)
        self._board[message_id] = text
        return message_id

    def delete(self, message_id: str) -> bool:
        return self._board.pop(message_id, None) is not None


def pinned(keeper: Turnkeeper, prompt: str, *, server_id: str = "local") -> dict[str, str]:
    """The board, once the prompt was answered."""
    board: dict[str, str] = {}
    request = TurnRequest(conversation=Conversation.of(prompt), server_id=server_id)
    result: TurnResult = keeper.run(request, BoardSink(board))
    board["status"] = result.status.value
    return board


if __name__ == "__main__":
    with Turnkeeper.open() as opened:
        print(pinned(opened, "Tell a story in five paragraphs."))
