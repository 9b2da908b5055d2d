"""What a provider itself says of one of its models, and what it changes in what was stored."""

from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Capabilities, Limits


@frozen
class ModelFacts:
    """What a provider's list says of a model; None is not said.

    Attributes:
        limits: How much it takes.
        images: Whether it sees images.
        videos: Whether it sees videos.
        tools: Whether it calls tools.
    """

    limits: Limits = Limits()
    images: bool | None = None
    videos: bool | None = None
    tools: bool | None = None

    def corrected(self, capabilities: Capabilities) -> Capabilities:
        """The capabilities with what is said in place of what was stored."""
        said = {"images": self.images, "videos": self.videos, "tools": self.tools}
        return replace(capabilities, **{name: can for name, can in said.items() if can is not None})


def first_known(*sources: Limits | None) -> Limits:
    """Each limit from the first of the sources that knows it."""
    known = [source for source in sources if source is not None]
    return Limits(
        window_tokens=next((one.window_tokens for one in known if one.window_tokens), None),
        max_output_tokens=next(
            (one.max_output_tokens for one in known if one.max_output_tokens), None
        ),
    )
