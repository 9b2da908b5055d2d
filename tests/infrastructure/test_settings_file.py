import tomllib

import pytest
from builders import an_endpoint

from turnkeeper.application.portable import (
    PortableChannel,
    PortableProvider,
    PortableRow,
    PortableServer,
    PortableUser,
)
from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Model, Sampling
from turnkeeper.infrastructure.settings_file import read, written

SERVER = PortableServer(
    server="guild",
    primary="openai:a",
    fallbacks=("endpoint:1",),
    sampling=Sampling(temperature=1.0, stop=('END"\n', "\x1bé"), logit_bias=(("5", -1.0),)),
    channels=(PortableChannel(id="9", cooldown=CooldownRule(type=CooldownType.STRICT)),),
    providers=(PortableProvider(provider="openai", sampling=Sampling(disabled=frozenset("ba"))),),
    endpoints=(an_endpoint(1),),
    models=(Model.named("openai:a"),),
)
USER = PortableUser(user="ann", providers=(PortableRow(provider="openai", model="openai:a"),))


@pytest.mark.parametrize("settings", [SERVER, USER, PortableServer(server="x")])
def test_what_is_written_is_read(settings: PortableServer | PortableUser) -> None:
    assert read(written(settings)) == settings


def test_what_is_not_set_is_not_written() -> None:
    assert tomllib.loads(written(PortableUser(user="ann"))) == {
        "format": 1,
        "user": "ann",
        "server_fallback": True,
    }


def test_what_is_left_out_has_its_default() -> None:
    assert read('format = 1\nserver = "x"\n') == PortableServer(server="x")


HEAD = 'format = 1\nserver = "x"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format = ", "it is no TOML: Invalid value (at end of document)"),
        (HEAD + "primary = sk-1234", "it is no TOML: Invalid value (at line 3, column 11)"),
        ("", "format: it is 1, and this file's is not"),
        ('format = 2\nserver = "x"', "format: it is 1, and this file's is not"),
        ("format = 1", "it names either a server or a user, by `server` or `user`"),
        (HEAD + 'user = "y"', "it names either a server or a user, by `server` or `user`"),
        (HEAD + 'api_key = "sk-1234"', "api_key: there is no such setting"),
        (HEAD + "[[channels]]\nid = '1'\ncolor = 1", "channels[0].color: there is no such setting"),
        (HEAD + "[[channels]]", "channels[0].id: it is missing"),
        (HEAD + 'randomizer = "yes"', "randomizer: it is to be true or false"),
        (HEAD + "primary = 2026-11-30", "primary: it is to be a text without NUL"),
        (HEAD + 'primary = "a\\u0000"', "primary: it is to be a text without NUL"),
        (HEAD + "[sampling]\ntemperature = nan", "sampling.temperature: it is to be a number"),
        (HEAD + "[sampling]\ntop_k = true", "sampling.top_k: it is to be a whole number"),
        (HEAD + f"[sampling]\ntop_k = {2**63}", "sampling.top_k: it is to be a whole number"),
        (HEAD + "fallbacks = " + "[" * 9000, "it is no TOML that can be read: lists within lists"),
        (HEAD + "[quota]\nper_user = " + "9" * 5000, "it is no TOML that can be read: a number"),
        ("format = 1\nserver = ' '", "the file: an owner's id is a text without outer blanks"),
        ("format = 1\nuser = ''", "the file: an owner's id is a text without outer blanks"),
        (HEAD + "sampling = 1", "sampling: it is to be a table"),
        (HEAD + "fallbacks = 'a'", "fallbacks: it is to be a list"),
        (
            HEAD + "[sampling]\nlogit_bias = [['a', 1.0], ['a']]",
            "sampling.logit_bias[1]: it is to be a list of 2",
        ),
        (
            HEAD + '[cooldown]\ntype = "sometimes"',
            "cooldown.type: it is to be"
            " 'off' or 'per_user' or 'per_channel' or 'server' or 'strict'",
        ),
        (
            HEAD + "[cooldown]\nlength_s = 0",
            "cooldown: a cooldown is 1 to 86400 seconds long, not 0",
        ),
        (
            HEAD + '[[models]]\nid = "a"\nprovider = "a"\nname = "a"\n[models.limits]\nwindow = 1',
            "models[0].limits.window: there is no such setting",
        ),
    ],
)
def test_what_is_unknown_or_broken_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(text)

    assert str(refused.value).startswith(said)
    assert "sk-" not in str(refused.value)


def test_all_problems_are_named_at_once() -> None:
    text = HEAD + "fallbacks = [1]\ncolour = 1\n[quota]\nperiod_days = 0\n"

    with pytest.raises(SettingsError) as refused:
        read(text)

    assert str(refused.value) == (
        "colour: there is no such setting; fallbacks[0]: it is to be a text without NUL;"
        " quota: period_days is 1 to 365, not 0"
    )
