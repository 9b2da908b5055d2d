"""The families of dialects: where each leads on the wall, and what the wall speaks there."""

from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.fault import Family
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect


@frozen
class Way:
    """A provider whose address is the wall's, what the wall speaks there, and its first model."""

    name: str
    family: Family
    dialect: Dialect
    path: str
    primary: str = "alpha"


WAYS = (
    Way(name="openai", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(name="custom", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(
        name="openrouter",
        family="openrouter",
        dialect=OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning"),
        path="/api/v1",
    ),
    Way(name="google", family="google", dialect=GeminiDialect(), path="/v1beta"),
    Way(name="anthropic", family="anthropic", dialect=AnthropicDialect(), path="/v1"),
    Way(
        name="novelai",
        family="openai",
        dialect=OpenAiDialect(base_path="/oa/v1"),
        path="",
        primary="xialong-v1",  # whose window is the same for all, so that nobody is asked for it
    ),
)


def way_of(provider: str) -> Way:
    """The way to a provider; one that has none of its own is spoken to as OpenAI is."""
    ways = {way.name: way for way in WAYS}
    return ways.get(provider) or replace(ways["openai"], name=provider)
