"""Where it is kept how models count tokens."""

from typing import Protocol

from turnkeeper.domain.frozen import frozen


@frozen
class TokenMeasure:
    """How a model's own count compares with an estimate.

    Attributes:
        provider: The provider's name.
        model: The model's name.
        factor: What an estimate is multiplied by; more than 0.
    """

    provider: str
    model: str
    factor: float

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ValueError(f"factor is more than 0, not {self.factor}")


class TokenMeasures(Protocol):
    """Keeps one measure a model, the latest. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: From every method.
    """

    def load(self) -> tuple[TokenMeasure, ...]:
        """All measures, by provider and model."""
        ...

    def save(self, measures: tuple[TokenMeasure, ...]) -> None:
        """Keep these in the place of earlier ones of the same models."""
        ...
