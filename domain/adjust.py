"""How a repeated invocation differs from what was prepared."""

from turnkeeper.domain.frozen import frozen


@frozen(kw_only=False)
class AsIs:
    """It does not."""


@frozen
class Shrink:
    """The conversation is cut to this many tokens, fewer than before."""

    to_tokens: int


@frozen
class CapOutput:
    """The output is capped at what the balance pays for."""

    tokens: int


@frozen(kw_only=False)
class WithoutMedia:
    """Images and videos become notices."""


@frozen(kw_only=False)
class Repeat:
    """The same once more."""


Adjust = AsIs | Shrink | CapOutput | WithoutMedia | Repeat


def tokens_of(adjust: Adjust) -> int | None:
    """The tokens that an invocation is shrunk or capped to, or None where it is not."""
    match adjust:
        case AsIs() | WithoutMedia() | Repeat():
            return None
        case Shrink(to_tokens=tokens) | CapOutput(tokens=tokens):
            return tokens


def adjust_of(name: str, tokens: int | None) -> Adjust:
    """The change of that name.

    Raises:
        ValueError: There is none, or it lacks its tokens.
    """
    plain: dict[str, Adjust] = {
        type(one).__name__: one for one in (AsIs(), WithoutMedia(), Repeat())
    }
    if name in plain:
        return plain[name]
    if tokens is None or name not in ("Shrink", "CapOutput"):
        raise ValueError(f"there is no change {name!r} to {tokens} tokens")
    return Shrink(to_tokens=tokens) if name == "Shrink" else CapOutput(tokens=tokens)
