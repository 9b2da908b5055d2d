"""How a repeated invocation differs from what was prepared."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AsIs:
    """It does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrink:
    """The conversation is cut to this many tokens, fewer than before."""

    to_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapOutput:
    """The output is capped at what the balance pays for."""

    tokens: int


@dataclass(frozen=True, slots=True)
class WithoutMedia:
    """Images and videos become notices."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same once more."""


Adjust = AsIs | Shrink | CapOutput | WithoutMedia | Repeat
