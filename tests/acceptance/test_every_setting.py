"""Every setting is set, read back, and seen to take effect on the next turn, by the CLI alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import PROVIDER, Commands, Town

from turnkeeper.domain.admission import CooldownRule, QuotaRule
from turnkeeper.domain.model import Endpoint, Sampling
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall

pytestmark = pytest.mark.postgres

ALPHA, BETA = f"{PROVIDER}:alpha", f"{PROVIDER}:beta"
ANN = ("--user", "ann")
SET = tuple[str, ...]
NO_ANSWER = Refuse(status=400)  # after which nothing rests
REFUSED = Answer(text="", finish="content_filter")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One setting.

    Attributes:
        of: The class and field that holds it.
        given: What is set before.
        set: The command that sets it; {url} is the wall's address, {root} its beginning.
        shown: What reads it back, and the place in what is read: names, or numbers in lists.
        value: What is read back.
        sees: What is seen of turns.
        before, after: That, before and after it is set.
        unset: The command that takes it back, where there is one; then it is as before.
    """

    of: str
    given: tuple[SET, ...] = ()
    alpha: Any = Answer(text="Aye.")
    beta: Any = Answer(text="Aye.")
    set: SET
    shown: SET = ("server", "show")
    place: tuple[str | int, ...]
    value: Any
    sees: Callable[[Town], Any]
    before: Any
    after: Any
    unset: SET = ()


def asked(*options: str) -> Callable[[Town], Any]:
    return lambda town: town.asked(*options)


def body(name: str, *options: str) -> Callable[[Town], Any]:
    return lambda town: town.body(*options).get(name)


def two(*options: str) -> Callable[[Town], Any]:
    return lambda town: town.two(*options)


def leads(*options: str) -> Callable[[Town], Any]:
    return lambda town: town.leads(*options)


def waits_longer(than: timedelta) -> Callable[[Town], Any]:
    """Whether the second turn in a channel is refused for longer than this."""

    def sees(town: Town) -> bool:
        channel = f"channel-{len(town.wall.seen)}"
        ends = [town.turn("--channel", channel, *ANN) for _ in range(2)]
        until = datetime.fromisoformat(ends[-1]["refusal"]["until"])
        return until - datetime.now(UTC) > than

    return sees


OFF, ONCE = ["completed", "completed"], ["completed", "skipped"]
AT_ALPHA, AT_BOTH = ["alpha"], ["alpha", "beta"]
ANNS = (("key", "add", PROVIDER, *ANN), ("model", "use", BETA, *ANN))
"""Ann has a key and a model of her own."""
DEN = (
    ("endpoint", "add", "den", "--url", "{url}", "--connection", "1", "--trusted"),
    ("key", "add", "custom:1"),
    ("model", "use", "endpoint:1"),
)
"""The server's primary model is an endpoint at the wall."""
USER = ("user", "show", *ANN)
DEN_SHOWN = ("endpoint", "show", "1")


def sampled(name: str, value: Any, *set_: str, sent_as: str = "", sent: Any = None) -> Case:
    """A value of the server's sampling, which its requests then send."""
    return Case(
        of=f"Sampling.{name}",
        set=("server", "set", *set_),
        place=("sampling", name),
        value=value,
        sees=body(sent_as or name),
        before=None,
        after=value if sent is None else sent,
        unset=("server", "set", "--unset", name),
    )


def of_den(name: str, set_: SET, value: Any, sees: Callable[[Town], Any], **more: Any) -> Case:
    return Case(
        of=f"Endpoint.{name}",
        given=(*DEN, *more.pop("given", ())),
        set=("endpoint", "set", "1", *set_),
        shown=DEN_SHOWN,
        place=more.pop("place", (name,)),
        value=value,
        sees=sees,
        **more,
    )


CASES = (
    # ── a server's models ───────────────────────────────────────────────────────────────────
    Case(
        of="ServerSettings.primary",
        set=("model", "use", BETA),
        place=("primary",),
        value=BETA,
        sees=asked(),
        before=["alpha"],
        after=["beta"],
        unset=("model", "use", ALPHA),
    ),
    Case(
        of="ServerSettings.chain",
        alpha=NO_ANSWER,
        set=("fallback", "add", BETA),
        place=("fallbacks", 0),
        value=BETA,
        sees=asked(),
        before=AT_ALPHA,
        after=AT_BOTH,
        unset=("fallback", "remove", BETA),
    ),
    Case(
        of="ServerSettings.randomizer",
        given=(("fallback", "set", BETA),),
        set=("randomizer", "on"),
        place=("randomizer",),
        value=True,
        sees=leads(),
        before={"alpha"},
        after={"alpha", "beta"},
    ),
    Case(
        of="ServerSettings.persona_models",
        set=("persona", "set", "zoe", "--model", BETA),
        place=("personas", 0),
        value={"id": "zoe", "model": BETA},
        sees=asked("--persona", "zoe"),
        before=AT_ALPHA,
        after=["beta"],
        unset=("persona", "remove", "zoe"),
    ),
    Case(
        of="ServerSettings.channel_models",
        set=("channel", "set", "77", "--model", BETA),
        place=("channels", 0, "model"),
        value=BETA,
        sees=asked("--channel", "77"),
        before=AT_ALPHA,
        after=["beta"],
        unset=("channel", "remove", "77"),
    ),
    # ── a server's rules ────────────────────────────────────────────────────────────────────
    Case(
        of="ServerSettings.member_keys_only",
        given=ANNS,
        beta=NO_ANSWER,
        set=("server", "set", "--member-keys-only"),
        place=("member_keys_only",),
        value=True,
        sees=asked(*ANN),
        before=["beta", "alpha"],
        after=["beta"],
        unset=("server", "set", "--lend-models"),
    ),
    Case(
        of="ServerSettings.content_filter",
        given=(("fallback", "set", BETA),),
        alpha=REFUSED,
        set=("server", "set", "--content-filter", "stop"),
        place=("content_filter",),
        value="stop",
        sees=asked(),
        before=AT_BOTH,
        after=AT_ALPHA,
        unset=("server", "set", "--content-filter", "next"),
    ),
    Case(
        of="ServerSettings.cooldown",
        set=("cooldown", "set", "server", "--seconds", "600"),
        place=("cooldown",),
        value={"type": "server", "length_s": 600},
        sees=two(),
        before=OFF,
        after=ONCE,
        unset=("cooldown", "set", "off"),
    ),
    Case(
        of="CooldownRule.type",
        set=("cooldown", "set", "per_channel"),
        given=(("cooldown", "set", "off", "--seconds", "600"),),
        place=("cooldown", "type"),
        value="per_channel",
        sees=two("--channel", "77"),
        before=OFF,
        after=ONCE,
        unset=("cooldown", "set", "off"),
    ),
    Case(
        of="CooldownRule.length_s",
        given=(("cooldown", "set", "per_channel", "--seconds", "600"),),
        set=("cooldown", "set", "per_channel", "--seconds", "86400"),
        place=("cooldown", "length_s"),
        value=86_400,
        sees=waits_longer(timedelta(hours=2)),
        before=False,
        after=True,
    ),
    Case(
        of="ServerSettings.channel_cooldowns",
        set=("channel", "set", "77", "--cooldown", "per_channel", "--seconds", "600"),
        place=("channels", 0, "cooldown"),
        value={"type": "per_channel", "length_s": 600},
        sees=two("--channel", "77"),
        before=OFF,
        after=ONCE,
        unset=("channel", "remove", "77", "--cooldown"),
    ),
    Case(
        of="ServerSettings.quota",
        set=("quota", "set", "--per-user", "1"),
        place=("quota",),
        value={"enabled": True, "daily_per_user": 1, "server_wide": 0, "period_days": 1},
        sees=two(*ANN),
        before=OFF,
        after=ONCE,
        unset=("quota", "off"),
    ),
    Case(
        of="QuotaRule.enabled",
        given=(("quota", "set", "--per-user", "1", "--off"),),
        set=("quota", "set", "--on"),
        place=("quota", "enabled"),
        value=True,
        sees=two(*ANN),
        before=OFF,
        after=ONCE,
    ),
    Case(
        of="QuotaRule.daily_per_user",
        given=(("quota", "set", "--on"),),
        set=("quota", "set", "--per-user", "1"),
        place=("quota", "daily_per_user"),
        value=1,
        sees=two(*ANN),
        before=OFF,
        after=ONCE,
        unset=("quota", "set", "--per-user", "0"),
    ),
    Case(
        of="QuotaRule.server_wide",
        set=("quota", "set", "--server-wide", "1"),
        place=("quota", "server_wide"),
        value=1,
        sees=two(*ANN),
        before=OFF,
        after=ONCE,
        unset=("quota", "set", "--server-wide", "0"),
    ),
    Case(
        of="QuotaRule.period_days",
        given=(("quota", "set", "--server-wide", "1"),),
        set=("quota", "set", "--period", "30"),
        place=("quota", "period_days"),
        value=30,
        sees=waits_longer(timedelta(days=2)),
        before=False,
        after=True,
    ),
    Case(
        of="ServerSettings.tools_off",
        set=("tool", "off", "lamp"),
        place=("tools_off",),
        value=["lamp"],
        sees=lambda town: town.offered(),
        before=["lamp", "log"],
        after=["log"],
        unset=("tool", "on", "lamp"),
    ),
    # ── what requests set ───────────────────────────────────────────────────────────────────
    Case(
        of="ServerSettings.sampling",
        set=("server", "set", "--temperature", "0.25", "--top-p", "0.5"),
        place=("sampling", "top_p"),
        value=0.5,
        sees=lambda town: [town.body().get(name) for name in ("temperature", "top_p")],
        before=[None, None],
        after=[0.25, 0.5],
    ),
    Case(
        of="ServerSettings.providers",
        given=(("server", "set", "--temperature", "0.25"),),
        set=("provider", "set", PROVIDER, "--temperature", "0.75"),
        place=("providers", 0, "sampling", "temperature"),
        value=0.75,
        sees=body("temperature"),
        before=0.25,
        after=0.75,
        unset=("provider", "remove", PROVIDER),
    ),
    sampled("temperature", 0.25, "--temperature", "0.25"),
    sampled("top_p", 0.5, "--top-p", "0.5"),
    sampled("top_k", 40, "--top-k", "40"),
    sampled("min_p", 0.1, "--min-p", "0.1"),
    sampled("frequency_penalty", -0.5, "--frequency-penalty", "-0.5"),
    sampled("presence_penalty", 1.5, "--presence-penalty", "1.5"),
    sampled("stop", ["END", "FIN"], "--stop", "END", "--stop", "FIN"),
    sampled(
        "logit_bias", [["50256", -100.0]], "--logit-bias", "50256=-100", sent={"50256": -100.0}
    ),
    sampled(
        "reasoning_effort",
        "low",
        "--reasoning-effort",
        "low",
        sent_as="reasoning",
        sent={"effort": "low"},
    ),
    Case(
        of="Sampling.max_output_tokens",
        set=("server", "set", "--max-output", "77"),
        place=("sampling", "max_output_tokens"),
        value=77,
        sees=lambda town: town.body().get("max_tokens") == 77,
        before=False,
        after=True,
        unset=("server", "set", "--unset", "max_output_tokens"),
    ),
    Case(
        of="Sampling.disabled",
        given=(("server", "set", "--temperature", "0.25"),),
        set=("server", "set", "--never-send", "temperature"),
        place=("sampling", "disabled"),
        value=["temperature"],
        sees=body("temperature"),
        before=0.25,
        after=None,
        unset=("server", "set", "--unset", "disabled"),
    ),
    # ── a user's own ────────────────────────────────────────────────────────────────────────
    Case(
        of="PersonalSettings.providers",
        given=ANNS[:1],
        set=("model", "use", BETA, *ANN),
        shown=USER,
        place=("providers", 0, "provider"),
        value=PROVIDER,
        sees=asked(*ANN),
        before=AT_ALPHA,
        after=["beta"],
        unset=("provider", "remove", PROVIDER, *ANN),
    ),
    Case(
        of="PersonalSettings.chain",
        given=(*ANNS, ("model", "add", f"{PROVIDER}:gamma")),
        beta=NO_ANSWER,
        set=("fallback", "add", f"{PROVIDER}:gamma", *ANN),
        shown=USER,
        place=("fallbacks",),
        value=[f"{PROVIDER}:gamma"],
        sees=asked(*ANN),
        before=["beta", "alpha"],
        after=["beta", "gamma"],
        unset=("fallback", "clear", *ANN),
    ),
    Case(
        of="PersonalSettings.server_fallback",
        given=ANNS,
        beta=NO_ANSWER,
        set=("user", "set", *ANN, "--no-server-fallback"),
        shown=USER,
        place=("server_fallback",),
        value=False,
        sees=asked(*ANN),
        before=["beta", "alpha"],
        after=["beta"],
        unset=("user", "set", *ANN, "--server-fallback"),
    ),
    Case(
        of="SavedProvider.model",
        given=(*ANNS, ("model", "add", f"{PROVIDER}:gamma")),
        set=("provider", "set", PROVIDER, *ANN, "--model", f"{PROVIDER}:gamma"),
        shown=USER,
        place=("providers", 0, "model"),
        value=f"{PROVIDER}:gamma",
        sees=asked(*ANN),
        before=["beta"],
        after=["gamma"],
    ),
    Case(
        of="SavedProvider.endpoint",
        given=(
            *ANNS,
            ("endpoint", "add", "den", *ANN, *DEN[0][3:]),
            ("key", "add", "custom:1", *ANN),
        ),
        set=("provider", "set", "custom:1", *ANN, "--model", "endpoint:1", "--text"),
        shown=USER,
        place=("providers", 0, "endpoint"),
        value="endpoint:1",
        sees=asked(*ANN),
        before=["beta"],
        after=["den"],
    ),
    Case(
        of="SavedProvider.text_enabled",
        given=ANNS,
        set=("provider", "set", PROVIDER, *ANN, "--no-text"),
        shown=USER,
        place=("providers", 0, "text_enabled"),
        value=False,
        sees=asked(*ANN),
        before=["beta"],
        after=AT_ALPHA,
        unset=("provider", "set", PROVIDER, *ANN, "--text"),
    ),
    Case(
        of="SavedProvider.randomizer",
        given=(*ANNS, ("fallback", "set", ALPHA, *ANN)),
        set=("randomizer", "on", *ANN),
        shown=USER,
        place=("providers", 0, "randomizer"),
        value=True,
        sees=leads(*ANN),
        before={"beta"},
        after={"alpha", "beta"},
    ),
    Case(
        of="SavedProvider.sampling",
        given=ANNS,
        set=("provider", "set", PROVIDER, *ANN, "--temperature", "0.75"),
        shown=USER,
        place=("providers", 0, "sampling", "temperature"),
        value=0.75,
        sees=body("temperature", *ANN),
        before=None,
        after=0.75,
        unset=("provider", "set", PROVIDER, *ANN, "--unset", "temperature"),
    ),
    # ── endpoints ───────────────────────────────────────────────────────────────────────────
    of_den("label", ("--label", "attic"), "attic", asked(), before=["den"], after=["attic"]),
    of_den(
        "model_name",
        ("--model-name", "llama"),
        "llama",
        asked(),
        before=["den"],
        after=["llama"],
    ),
    of_den(
        "base_url",
        ("--url", "{root}/api/v1"),
        "{root}/api/v1",
        lambda town: town.requests()[0].path,
        before="/v1/chat/completions",
        after="/api/v1/chat/completions",
    ),
    of_den(
        "connection_id",
        ("--connection", "2"),
        2,
        lambda town: town.requests()[0].key,
        given=(("key", "add", "custom:2"),),
        before="sk-custom:1-0123456789",
        after="sk-custom:2-0123456789",
    ),
    of_den(
        "model_id",
        ("--model", ALPHA),
        ALPHA,
        asked(),
        given=(("fallback", "set", ALPHA), ("endpoint", "set", "1", "--model-name", "beta")),
        beta=NO_ANSWER,
        before=["beta", "alpha"],
        after=["beta"],
    ),
    of_den(
        "requires_auth",
        ("--no-requires-auth",),
        False,
        lambda town: town.requests()[0].key,
        before="sk-custom:1-0123456789",
        after=None,
    ),
    of_den("trusted", ("--no-trusted",), False, asked(), before=["den"], after=[]),
    of_den(
        "num_ctx",
        ("--num-ctx", "4096"),
        4096,
        body("options"),
        before=None,
        after={"num_ctx": 4096},
    ),
    of_den(
        "capabilities",
        ("--reasoning",),
        True,
        body("reasoning_effort"),
        given=(("server", "set", "--reasoning-effort", "none"),),
        place=("capabilities", "reasoning"),
        before=None,
        after="none",
    ),
)

NOT_SET = {
    "Endpoint.id": "is given by the store",
    "PersonalSettings.user_id": "says whose settings they are",
    "PersonalSettings.version": "counts the changes",
    "SavedProvider.provider": "says for which provider",
    "ServerSettings.server_id": "says whose settings they are",
    "ServerSettings.version": "counts the changes",
}


@pytest.fixture
def town(database_url: str, tmp_path: Path) -> Iterator[Town]:
    with Wall() as wall:
        yield Town(Commands(database_url, tmp_path, wall), wall)


def test_the_table_has_every_field_of_the_settings() -> None:
    kinds = (
        ServerSettings,
        PersonalSettings,
        SavedProvider,
        Sampling,
        CooldownRule,
        QuotaRule,
        Endpoint,
    )
    known = {f"{kind.__name__}.{field.name}" for kind in kinds for field in fields(kind)}

    assert {case.of for case in CASES} | set(NOT_SET) == known


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.of)
def test_it_is_set_read_back_and_takes_effect_on_the_next_turn(case: Case, town: Town) -> None:
    def filled(text: str) -> str:
        return text.replace("{url}", town.wall.base_url).replace("{root}", town.wall.url)

    def do(command: SET) -> None:
        is_key = command[:2] == ("key", "add")
        key = f"sk-{command[2]}-0123456789" if is_key else ""
        town.run.done(*map(filled, command), typed=key)

    for command in case.given:
        do(command)
    town.wall.script(case.alpha, model="alpha")
    town.wall.script(case.beta, model="beta")

    assert case.sees(town) == case.before
    do(case.set)
    town.patience = 60
    read = town.run.data(*case.shown)
    for part in case.place:
        read = read[part]
    assert read == (filled(case.value) if isinstance(case.value, str) else case.value)
    assert case.sees(town) == case.after
    if case.unset:
        do(case.unset)
        assert case.sees(town) == case.before
