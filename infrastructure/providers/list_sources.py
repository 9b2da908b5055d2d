"""Where the providers list their models, and how they are asked.

Source: the providers' API references.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.providers.dialects import DIALECTS, Dialect
from turnkeeper.infrastructure.providers.model_lists import (
    ReadList,
    anthropic_models,
    gemini_models,
    groq_models,
    llama_cpp_models,
    lm_studio_models,
    mistral_models,
    openrouter_models,
    vllm_models,
)
from turnkeeper.infrastructure.providers.natives import (
    ANTHROPIC,
    ANTHROPIC_VERSION,
    GOOGLE,
    Native,
)

_NOWHERE_ELSE: Mapping[str, str] = MappingProxyType({})
_OPENAI_SHAPED: dict[str, ReadList] = {
    "groq": groq_models,
    "llamacpp": llama_cpp_models,
    "mistral": mistral_models,
    "openrouter": openrouter_models,
    "vllm": vllm_models,
}
_PUBLIC = frozenset({"openrouter"})


def _same(name: str) -> str:
    return name


@frozen
class ListSource:
    """One provider's list.

    Attributes:
        names: The provider's registered name and its aliases.
        urls: Where it is, the next one if one does not say.
        read: Reads it.
        takes_key: Whether it is shown only to who has a key.
        key_header: The header that carries the bare key; empty is a bearer token.
        headers: Sent in any case.
        listed_as: By what a model may be listed that is not listed by its own name.
    """

    names: tuple[str, ...]
    urls: tuple[str, ...]
    read: ReadList
    takes_key: bool = True
    key_header: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    listed_as: Callable[[str], str] = _same

    def key_headers(self, key: Secret | None) -> tuple[tuple[str, str], ...]:
        """The headers for a key."""
        if key is None:
            return ()
        if self.key_header:
            return ((self.key_header, key.reveal()),)
        return (("Authorization", f"Bearer {key.reveal()}"),)


def list_sources(base_urls: Mapping[str, str] = _NOWHERE_ELSE) -> tuple[ListSource, ...]:
    """The lists that say more than names.

    Args:
        base_urls: By provider, the addresses that are not the usual ones.
    """
    return (
        *_openai_shaped(base_urls),
        ListSource(
            names=(GOOGLE.name, *GOOGLE.aliases),
            urls=(f"{_base(GOOGLE, base_urls)}/models?pageSize=1000",),
            read=gemini_models,
            key_header="x-goog-api-key",
            listed_as=lambda name: name.removeprefix("models/"),
        ),
        ListSource(
            names=(ANTHROPIC.name,),
            urls=(f"{_base(ANTHROPIC, base_urls)}/models?limit=1000",),
            read=anthropic_models,
            key_header="x-api-key",
            headers=(("anthropic-version", ANTHROPIC_VERSION),),
        ),
    )


def _openai_shaped(base_urls: Mapping[str, str]) -> Iterator[ListSource]:
    for dialect in DIALECTS:
        names = (dialect.name, *dialect.aliases)
        base = _base(dialect, base_urls)
        if dialect.name == "lmstudio":
            own = base.removesuffix("/v1")
            urls = (f"{own}/api/v1/models", f"{own}/api/v0/models")
            yield ListSource(names=names, urls=urls, read=lm_studio_models)
        elif (read := _OPENAI_SHAPED.get(dialect.name)) is not None:
            yield ListSource(
                names=names,
                urls=(f"{base}/models",),
                read=read,
                takes_key=dialect.name not in _PUBLIC,
                listed_as=_without_variant if dialect.name == "openrouter" else _same,
            )


def _base(provider: Dialect | Native, base_urls: Mapping[str, str]) -> str:
    return base_urls.get(provider.name, provider.base_url).rstrip("/")


def _without_variant(name: str) -> str:
    """A routed model without the ``:online`` and the like, which the list leaves out."""
    return name.partition(":")[0]
