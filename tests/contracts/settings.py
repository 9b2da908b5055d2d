"""A store of settings under test, and what is put into it."""

from dataclasses import dataclass

from builders import a_model

from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.settings import (
    FallbackRef,
    PersonalSettings,
    ServerSettings,
)

ALPHA, BETA, GAMMA = a_model("alpha"), a_model("beta"), a_model("gamma")
SAMPLING = Sampling(
    temperature=0.0,
    top_p=0.9,
    top_k=0,
    min_p=0.05,
    frequency_penalty=-1.5,
    presence_penalty=1.0,
    stop=("END", "\n"),
    logit_bias=(("50256", -100.0), ("11", 2.5)),
    reasoning_effort="low",
    max_output_tokens=8192,
    disabled=frozenset({"top_k", "min_p"}),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The reader and the writer of the same settings."""

    store: SettingsStore
    editor: SettingsEditor

    def register(self, *models: Model) -> None:
        for model in models:
            self.editor.save_model(model)

    def save_server(
        self, settings: ServerSettings, *chain: FallbackRef, primary: FallbackRef | None = None
    ) -> ServerSettings:
        self.editor.save_server(settings, primary=primary, chain=chain)
        return self.store.server(settings.server_id)

    def save_personal(self, settings: PersonalSettings, *chain: FallbackRef) -> PersonalSettings:
        self.editor.save_personal(settings, chain=chain)
        return self.store.personal(settings.user_id)


def ref(target: Model | Endpoint) -> FallbackRef:
    if isinstance(target, Model):
        return FallbackRef(kind="model", id=target.id)
    return FallbackRef(kind="custom_endpoint", id=str(target.id))
