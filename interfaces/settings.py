"""All settings of one installation, read from the environment once."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic_settings
from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.domain.text_rules import LEAST_DEDUPE_CHARS, TextRules
from turnkeeper.infrastructure.data_folder import default_data_folder
from turnkeeper.infrastructure.master_secrets import MasterSecrets, secrets_from

PREFIX = "TURNKEEPER_"
POLICY = TurnPolicy()
LIMITS = TimeLimits()
TEXT = TextRules()
OUTPUT_CAPS = (
    ("openrouter", "openrouter_max_output_tokens"),
    ("google", "google_max_output_tokens"),
    ("anthropic", "anthropic_max_output_tokens"),
)
"""Pairs of provider and the field that caps its output."""
NOT_A_SETTING = "content_filter"
"""The one field of the policy that each server sets for itself."""
SHOWN_CHARACTERS = 80
LEAST_TOKEN_CHARACTERS = 16
SECRETS = ("database_url", "master_secrets", "dashboard_token", "discord_token")

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Wait = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Milliseconds = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class _MasterSecretSource(PydanticBaseSettingsSource):
    """The numbered master secrets, whose names no field can have."""

    def __call__(self) -> dict[str, Any]:
        found = secrets_from(os.environ)
        return {} if found is None else {"master_secrets": found}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("the source is asked as a whole")


class Settings(BaseSettings):
    """Frozen. What is not given is read from the environment, once, when it is made.

    A field is read from its name in capitals after ``TURNKEEPER_``, unless an alias says otherwise.

    Attributes:
        database_url: Of a Postgres database; None starts or joins the embedded one.
        data_dir: Where this machine keeps what it has to; None for the user's data folder.
        store: ``memory`` keeps nothing, for tests and staging.
        pool_size: Database connections of this process.
        processes: How many processes share the database, for `doctor` to check.
        max_turns: Turns that run at once; more wait.
        queue_s: How long a turn waits for its turn, before it is refused as `Busy`.
        channel_wait_s: How long a turn waits while another speaks in its channel.
        serialize_channels: Whether one turn after the other speaks in a channel.
        base_urls: By provider, an address to use in place of the provider's own.
        allowed_hosts: Hosts, or host:port, that members' endpoints may name although they are not
            public.
        live_limits: Whether providers are asked for their models' limits, beside the turns.
        sweep_every_s: How often dead turns are swept up after, beside the turns; 0 never.
        log: Whether events become lines on the standard error, as ``json`` or as ``text``; no line
            holds what people or models wrote.
        log_level: The quietest line that is written.
        traces: Whether turns become OpenTelemetry spans; where to is up to the host's SDK.
        metrics: Whether turns are counted for `Turnkeeper.metrics_app`.
        dashboard_token: What has to be known to see the dashboard; without, it is for this machine.
        discord_token: Of the bot that speaks in Discord (DISCORD_TOKEN); None for none.
        discord_url: Where Discord's interface is, with its version; None for Discord itself.
        hold_chars: The first message waits for so much visible text ...
        hold_s: ... or until its first visible text is so old, whichever comes first.
        stand_alone_chars: A paragraph's end is worth a message from here on.
        capture_details: Whether a `<details>` block is kept back, like a thought.
        most_messages: So many messages of an answer are posted, and then it ends; 0 is no limit.
        dedupe_from: A piece of so many characters that came twice is taken once; None takes all.
        keep_text: Whether the store keeps what was answered with each turn; else a turn that is
            run a second time comes back without its text.
        app_site: The address of the app that a gateway counts the calls for; None for none.
        app_title: Its name.
        master_secrets: What seals the saved keys (TURNKEEPER_SECRET_V1 and so on); None for
            the one kept in the data folder.
        openrouter_attribution: Whether OpenRouter is told which app asks.
        openrouter_max_output_tokens: The most output that OpenRouter is asked for, if it is set.
        google_max_output_tokens: The most output that Google is asked for, if it is set.
        anthropic_max_output_tokens: The most output that Anthropic is asked for, if it is set.
        send_failure_retry_minutes: How long a channel in which nobody can be reached is left alone.

    Raises:
        SettingsError: A value makes no sense; the message names the variable.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
    )

    database_url: str | None = Field(default=None, repr=False)
    data_dir: Path | None = None
    store: Literal["postgres", "memory"] = "postgres"
    pool_size: Count = 10
    processes: Count = 1
    max_turns: Count = 64
    queue_s: Wait = 30.0
    channel_wait_s: Wait = 60.0
    serialize_channels: bool = True
    base_urls: dict[str, str] = {}
    allowed_hosts: tuple[str, ...] = ()
    live_limits: bool = True
    sweep_every_s: Wait = 300.0
    log: Literal["off", "json", "text"] = "off"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    traces: bool = False
    metrics: bool = False
    dashboard_token: str | None = Field(default=None, repr=False)
    discord_token: str | None = Field(default=None, repr=False, validation_alias="DISCORD_TOKEN")
    discord_url: str | None = None
    keep_text: bool = False
    app_site: str | None = None
    app_title: str = "turnkeeper"
    master_secrets: MasterSecrets | None = Field(default=None, repr=False)

    max_keys: Count = POLICY.max_keys
    max_invocations: Count = POLICY.max_invocations
    key_wait_s: Wait = POLICY.key_wait_s
    empty_fails_over: bool = POLICY.empty_fails_over
    empty_opens_server_route: bool = POLICY.empty_opens_server_route
    empty_retries: Annotated[int, Field(ge=0)] = POLICY.empty_retries
    empty_retry_s: Wait = POLICY.empty_retry_s
    min_affordable_tokens: Count = POLICY.min_affordable_tokens
    shrink_to: Annotated[float, Field(gt=0, lt=1)] = POLICY.shrink_to
    min_prompt_tokens: Count = POLICY.min_prompt_tokens

    connect_s: Seconds = LIMITS.connect_s
    first_progress_s: Seconds = LIMITS.first_progress_s
    last_first_progress_s: Seconds = LIMITS.last_first_progress_s
    attempt_s: Seconds = LIMITS.attempt_s
    turn_s: Seconds = LIMITS.turn_s
    reasoning_is_progress: bool = LIMITS.reasoning_is_progress
    min_chars_per_s: Wait = LIMITS.min_chars_per_s
    pace_window_s: Seconds = LIMITS.pace_window_s
    hold_chars: Annotated[int, Field(ge=0)] = TEXT.hold_chars
    hold_s: Wait = TEXT.hold_s
    stand_alone_chars: Count = TEXT.stand_alone_chars
    capture_details: bool = TEXT.capture_details
    dedupe_from: Annotated[int, Field(ge=LEAST_DEDUPE_CHARS)] | None = TEXT.dedupe_from
    most_messages: Annotated[int, Field(ge=0)] = TEXT.most_messages
    silence_ms: Milliseconds = Field(
        default=int(LIMITS.silence_s * 1000), validation_alias="STREAM_SDK_CALL_TIMEOUT_MS"
    )
    settle_ms: Annotated[int, Field(ge=0)] = Field(
        default=int(LIMITS.settle_s * 1000),
        validation_alias="STREAM_ABANDONED_SETTLE_TIMEOUT_MS",
    )
    tool_ms: Milliseconds = Field(
        default=int(LIMITS.tool_s * 1000), validation_alias="TOOL_EXECUTION_TIMEOUT_MS"
    )

    openrouter_attribution: bool = Field(
        default=True, validation_alias="OPENROUTER_APP_ATTRIBUTION_ENABLED"
    )
    openrouter_max_output_tokens: Count = Field(
        default=8192, validation_alias="OPENROUTER_MAX_OUTPUT_TOKENS"
    )
    google_max_output_tokens: Count = Field(
        default=8192, validation_alias="GOOGLE_MAX_OUTPUT_TOKENS"
    )
    anthropic_max_output_tokens: Count = Field(
        default=8192, validation_alias="ANTHROPIC_MAX_OUTPUT_TOKENS"
    )
    send_failure_retry_minutes: Count = Field(
        default=15, validation_alias="SEND_FAILURE_RETRY_MINUTES"
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(_said(error)) from None
        except pydantic_settings.SettingsError as error:
            raise SettingsError(_unparsed(error)) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _MasterSecretSource(settings_cls)

    @field_validator("base_urls")
    @classmethod
    def _are_addresses(cls, urls: Mapping[str, str]) -> Mapping[str, str]:
        for provider, url in urls.items():
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"the address of {provider} does not begin with https://")
        return urls

    @field_validator("dashboard_token")
    @classmethod
    def _is_long(cls, token: str | None) -> str | None:
        if token is not None and len(token) < LEAST_TOKEN_CHARACTERS:
            raise ValueError(f"a token has at least {LEAST_TOKEN_CHARACTERS} characters")
        return token

    @property
    def data_folder(self) -> Path:
        """Where this machine keeps what it has to."""
        return self.data_dir.expanduser() if self.data_dir else default_data_folder()

    @property
    def policy(self) -> TurnPolicy:
        """How hard turns try."""
        names = [one.name for one in fields(TurnPolicy) if one.name != NOT_A_SETTING]
        return TurnPolicy(**{name: getattr(self, name) for name in names})

    @property
    def text_rules(self) -> TextRules:
        """What is shown of an answer, and when."""
        names = [one.name for one in fields(TextRules) if one.name != "speakers"]
        return TextRules(**{name: getattr(self, name) for name in names})

    @property
    def limits(self) -> TimeLimits:
        """How long things may take."""
        return TimeLimits(
            connect_s=self.connect_s,
            first_progress_s=self.first_progress_s,
            last_first_progress_s=self._last_first_progress_s,
            silence_s=self.silence_ms / 1000,
            reasoning_is_progress=self.reasoning_is_progress,
            min_chars_per_s=self.min_chars_per_s,
            pace_window_s=self.pace_window_s,
            attempt_s=self.attempt_s,
            turn_s=self.turn_s,
            settle_s=self.settle_ms / 1000,
            tool_s=self.tool_ms / 1000,
        )

    @property
    def _last_first_progress_s(self) -> float:
        """Unless it was set: no less patience for the first word than for any later one."""
        if "last_first_progress_s" in self.model_fields_set:
            return self.last_first_progress_s
        return max(self.last_first_progress_s, self.silence_ms / 1000)

    @property
    def output_caps(self) -> tuple[tuple[str, int], ...]:
        """Pairs of provider and the output cap that was set for it; defaults are no caps."""
        return tuple(
            (provider, getattr(self, field))
            for provider, field in OUTPUT_CAPS
            if field in self.model_fields_set
        )

    @property
    def unreachable_s(self) -> float:
        """How long a channel in which nobody can be reached is left alone."""
        return self.send_failure_retry_minutes * 60.0

    def over(self, **values: Any) -> Self:
        """The same settings with some others; None changes nothing."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**given | {n: v for n, v in values.items() if v is not None})


def variables() -> tuple[str, ...]:
    """The names of all variables that are read, the numbered secrets aside."""
    return tuple(variable_of(name) for name in Settings.model_fields if name != "master_secrets")


def variable_of(name: str) -> str:
    """The variable of a field, by the field's name or by its alias."""
    field = Settings.model_fields.get(name)
    if field is None:
        return name
    alias = field.validation_alias
    return alias if isinstance(alias, str) else PREFIX + name.upper()


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = str(first["loc"][0]) if first["loc"] else "the settings"
    if first["type"] == "extra_forbidden":
        return f"there is no setting {place!r}; there are: {', '.join(Settings.model_fields)}"
    variable = variable_of(place)
    shown = "" if _is_secret(variable) else f" is {_shown(first['input'])}"
    why = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{variable}{shown}: {why}; set it right, or unset it"


def _unparsed(error: pydantic_settings.SettingsError) -> str:
    named = [name for name in Settings.model_fields if f'"{name}"' in str(error)]
    variable = variable_of(named[0]) if named else "a setting"
    return f'{variable} cannot be read: write JSON, such as {{"openai": "https://host/v1"}}'


def _is_secret(variable: str) -> bool:
    return variable in {variable_of(name) for name in SECRETS}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
