"""Millions of random event streams: ``python -m tests.fuzz.sse --cases 1000000 --seed 1``.

Each is read whole and in pieces. Both must give the same, raise nothing but `EventTooLarge`, and
give no event that is larger than allowed. A failing case is printed, and found again by its seed.
"""

import argparse
import random
import sys
import time

from turnkeeper.infrastructure.sse import EventTooLarge, SseEvent, SseReader, in_words

PIECES = (
    *(b"data: ", b"data:", b"data", b"event: ", b"event: error", b"id: 1", b"retry: 10", b": ping"),
    *(b":", b"\n", b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n", b" ", b"[DONE]", b"x" * 40),
    *(b'{"error": {"code": 429}}', b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe2\x82", b"\xff", b"\0"),
)
MOST_PIECES = 16
RANDOM_SHARE = 0.1
LIMITS = (8, 64, 10_000, 10_000)

Read = tuple[list[tuple[str, str]], object]


def stream_of(dice: random.Random) -> bytes:
    """A stream: mostly of what streams are made of, sometimes of anything."""
    if dice.random() < RANDOM_SHARE:
        return dice.randbytes(dice.randrange(200))
    return b"".join(dice.choices(PIECES, k=dice.randrange(MOST_PIECES)))


def cut(stream: bytes, dice: random.Random) -> list[bytes]:
    """The stream in pieces of random sizes."""
    edges = sorted(dice.randrange(len(stream) + 1) for _ in range(dice.randrange(6)))
    return [stream[a:b] for a, b in zip([0, *edges], [*edges, len(stream)], strict=True)]


def read(chunks: list[bytes], limit: int) -> Read:
    """The events, and what stood behind them."""
    reader = SseReader(max_event_bytes=limit)
    events: list[SseEvent] = []
    try:
        for chunk in chunks:
            events += map(in_words, reader.feed(chunk))
        tail = reader.end()
    except EventTooLarge:
        return [(one.event, one.data) for one in events], "too large"
    return [(one.event, one.data) for one in events], (tail, reader.comments)


def fault_in(seed: str) -> str | None:
    """What is wrong with how the case of that seed is read; None for nothing."""
    dice = random.Random(seed)  # the same case for the same seed, on every machine
    # Two blank lines behind it let every event end, so that its size is known however it is cut.
    stream, limit = stream_of(dice) + b"\n\n\n", dice.choice(LIMITS)
    chunks = cut(stream, dice)
    whole, pieces = read([stream], limit), read(chunks, limit)
    if whole != pieces:
        return f"cut as {chunks!r}, limit {limit}: {pieces!r} instead of {whole!r}"
    if any(len(data) > limit for _, data in whole[0]):
        return f"{stream!r} gives an event larger than {limit}"
    return None


def run(cases: int, seed: int) -> int:
    """Read so many cases; returns how many were read wrongly."""
    began_s = time.perf_counter()
    faults = 0
    for number in range(cases):
        fault = fault_in(f"{seed}.{number}")
        if fault is not None:
            faults += 1
            sys.stdout.write(f"case {seed}.{number}: {fault}\n")
    took_s = time.perf_counter() - began_s
    rate = cases / took_s if took_s else 0.0
    sys.stdout.write(
        f"seed {seed}: {cases} cases, {faults} faults, {took_s:.1f} s, {rate:.0f} cases/s\n"
    )
    return faults


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments and run; the exit code says whether there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    asked = parser.parse_args(arguments)
    return 1 if run(asked.cases, asked.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
