"""The providers with an interface of their own: what is known of each without its code.

Source: the providers' API references.
"""

from turnkeeper.domain.frozen import frozen

ANTHROPIC_VERSION = "2023-06-01"


@frozen
class Native:
    """One such provider.

    Attributes:
        name: The name under which it is registered.
        base_url: Where it is.
        key_env: The environment variable that people keep its key in.
        aliases: Further names.
    """

    name: str
    base_url: str
    key_env: str
    aliases: tuple[str, ...]


GOOGLE = Native(
    name="google",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    key_env="GEMINI_API_KEY",
    aliases=("gemini",),
)
ANTHROPIC = Native(
    name="anthropic",
    base_url="https://api.anthropic.com/v1",
    key_env="ANTHROPIC_API_KEY",
    aliases=("claude",),
)
NOVELAI = Native(
    name="novelai",
    base_url="https://text.novelai.net",
    key_env="NOVELAI_API_KEY",
    aliases=("nai",),
)
