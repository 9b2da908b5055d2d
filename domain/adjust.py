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
