"""``python -m benchmarks.truncation``: cutting a history takes time in proportion to its length."""

import gc
import time
from collections.abc import Callable

from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    Role,
    Tag,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.truncation import Sizes, cut_to

SHORT, LONG = 10_000, 100_000
LINEAR, ALLOWED = LONG / SHORT, 1.5
ROUNDS = 7


def history(count: int) -> tuple[Conversation, Sizes]:
    """So many items; every eighth is a tool call and every ninth its result."""
    items = tuple(_item(number) for number in range(count))
    return Conversation(items=items), Sizes(items=(20,) * count)


def _item(number: int) -> Item:
    call_id = f"call-{number // 10}"
    if number % 10 == 8:
        call = ToolCallPart(call_id=call_id, name="dice", arguments_json="{}")
        return Item(role=Role.MODEL, parts=(call,), tag=Tag.HISTORY)
    if number % 10 == 9:
        result = ToolResultPart(call_id=call_id, name="dice", result_json="6")
        return Item(role=Role.TOOL, parts=(result,), tag=Tag.HISTORY)
    return Item.said((Role.USER, Role.MODEL)[number % 2], f"message {number}")


def seconds(cut: Callable[[], object]) -> float:
    gc.disable()  # as timeit does: it looks at all that the process holds, not at the cut alone
    began_s = time.perf_counter()
    cut()
    taken_s = time.perf_counter() - began_s
    gc.enable()
    return taken_s


def ratio() -> tuple[float, float]:
    """The time for the short history, and how many times that the long one takes.

    The least of some rounds in turn: what others do on the machine only ever adds.
    """
    short, short_sizes = history(SHORT)
    long, long_sizes = history(LONG)
    shorts, longs = [], []
    for _ in range(ROUNDS):
        shorts.append(seconds(lambda: cut_to(short, short_sizes, to_tokens=SHORT * 10)))
        longs.append(seconds(lambda: cut_to(long, long_sizes, to_tokens=LONG * 10)))
    return min(shorts), min(longs) / min(shorts)


def main() -> None:
    """Measure, print, and fail where it is not linear."""
    short_s, times = ratio()
    print(f"{SHORT:,} items: {short_s * 1e3:.1f} ms; {LONG:,} items: {times:.1f} times that")
    if times > LINEAR * ALLOWED:
        raise SystemExit(f"more than {LINEAR * ALLOWED:g} times for {LINEAR:g} times the items")


if __name__ == "__main__":
    main()
