import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.interfaces.settings import NOT_A_SETTING, Settings, variables

CANARY = "canary-never-shown"


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Exactly these variables, for the time of a `with`."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def refusal(**variables: str) -> str:
    with environment(**variables), pytest.raises(SettingsError) as refused:
        Settings()
    return str(refused.value)


def test_without_an_environment_the_policies_have_their_own_defaults() -> None:
    with environment():
        settings = Settings()

    assert settings.policy == TurnPolicy()
    assert settings.limits == TimeLimits()


@pytest.mark.parametrize(
    ("variables", "patience_s"),
    [
        ({"STREAM_SDK_CALL_TIMEOUT_MS": "45000"}, 300.0),
        ({"STREAM_SDK_CALL_TIMEOUT_MS": "400000"}, 400.0),
        (
            {
                "STREAM_SDK_CALL_TIMEOUT_MS": "400000",
                "TURNKEEPER_LAST_FIRST_PROGRESS_S": "60",
            },
            60.0,
        ),
    ],
    ids=["less", "more", "set apart"],
)
def test_the_first_word_has_no_less_time_than_any_later_one_unless_that_is_set(
    variables: dict[str, str], patience_s: float
) -> None:
    with environment(**variables):
        assert Settings().limits.last_first_progress_s == patience_s


def test_every_field_of_the_policy_but_the_servers_own_is_a_setting() -> None:
    names = {field.name for field in fields(TurnPolicy)}

    assert names - set(Settings.model_fields) == {NOT_A_SETTING}


@pytest.mark.parametrize(
    ("variable", "text", "attribute", "value"),
    [
        ("STREAM_ABANDONED_SETTLE_TIMEOUT_MS", "0", "limits.settle_s", 0.0),
        ("STREAM_SDK_CALL_TIMEOUT_MS", "45000", "limits.silence_s", 45.0),
        ("TOOL_EXECUTION_TIMEOUT_MS", "1500", "limits.tool_s", 1.5),
        ("SEND_FAILURE_RETRY_MINUTES", "2", "unreachable_s", 120.0),
        ("OPENROUTER_APP_ATTRIBUTION_ENABLED", "false", "openrouter_attribution", False),
        ("TURNKEEPER_FIRST_PROGRESS_S", "3.5", "limits.first_progress_s", 3.5),
        ("TURNKEEPER_REASONING_IS_PROGRESS", "false", "limits.reasoning_is_progress", False),
        ("TURNKEEPER_MIN_CHARS_PER_S", "2.5", "limits.min_chars_per_s", 2.5),
        ("TURNKEEPER_PACE_WINDOW_S", "20", "limits.pace_window_s", 20.0),
        ("TURNKEEPER_MAX_KEYS", "5", "policy.max_keys", 5),
        ("TURNKEEPER_MAX_TURNS", "7", "max_turns", 7),
        ("TURNKEEPER_DATA_DIR", "/somewhere", "data_folder", Path("/somewhere")),
        (
            "TURNKEEPER_BASE_URLS",
            '{"openai":"http://h/v1"}',
            "base_urls",
            {"openai": "http://h/v1"},
        ),
    ],
)
def test_a_variable_sets_what_it_names(
    variable: str, text: str, attribute: str, value: object
) -> None:
    with environment(**{variable: text}):
        found: object = Settings()
    for name in attribute.split("."):
        found = getattr(found, name)

    assert found == value


def test_the_output_caps_keep_their_names() -> None:
    with environment(
        OPENROUTER_MAX_OUTPUT_TOKENS="1",
        GOOGLE_MAX_OUTPUT_TOKENS="2",
        ANTHROPIC_MAX_OUTPUT_TOKENS="3",
    ):
        settings = Settings()

    assert settings.output_caps == (("openrouter", 1), ("google", 2), ("anthropic", 3))


def test_the_numbered_secrets_are_read() -> None:
    with environment(TURNKEEPER_SECRET_V1=CANARY, TURNKEEPER_SECRET_V2="x" * 40):
        settings = Settings()

    expected = MasterSecrets(current=2, by_version=((1, Secret(CANARY)), (2, Secret("x" * 40))))
    assert settings.master_secrets == expected


def test_an_empty_variable_counts_as_none() -> None:
    with environment(TURNKEEPER_DATABASE_URL="", TURNKEEPER_MAX_TURNS=""):
        assert Settings().database_url is None


def test_a_bad_value_is_named_with_its_variable_and_the_way_out() -> None:
    message = refusal(TURNKEEPER_MAX_TURNS="many")

    assert message.startswith("TURNKEEPER_MAX_TURNS is 'many': it should be a valid integer")
    assert message.endswith("set it right, or unset it")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("TURNKEEPER_SHRINK_TO", "1"),
        ("TURNKEEPER_TURN_S", "inf"),
        ("TURNKEEPER_CONNECT_S", "0"),
        ("STREAM_ABANDONED_SETTLE_TIMEOUT_MS", "-1"),
        ("TURNKEEPER_STORE", "redis"),
        ("TURNKEEPER_BASE_URLS", "openai=http://h"),
        ("TURNKEEPER_BASE_URLS", '{"openai":"ftp://h"}'),
        ("TURNKEEPER_SECRET_V0", "zero"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(variable: str, text: str) -> None:
    assert refusal(**{variable: text}).startswith(variable)


def test_no_message_and_no_repr_holds_a_secret() -> None:
    url = f"postgresql://user:{CANARY}@host/db"
    with environment(TURNKEEPER_DATABASE_URL=url, TURNKEEPER_SECRET_V1=CANARY):
        assert CANARY not in repr(Settings())
    assert CANARY not in refusal(TURNKEEPER_SECRET_CURRENT="2", TURNKEEPER_SECRET_V1=CANARY)


def test_a_setting_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(SettingsError, match=r"there is no setting 'max_trns'.*max_turns"):
        Settings(max_trns=3)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().max_turns = 3


def test_over_keeps_what_is_not_given() -> None:
    with environment(STREAM_SDK_CALL_TIMEOUT_MS="45000"):
        settings = Settings(pool_size=3).over(max_turns=2, data_dir=None)

    assert (settings.pool_size, settings.max_turns, settings.silence_ms) == (3, 2, 45000)


def test_all_variables_but_the_specifications_carry_the_prefix() -> None:
    others = {name for name in variables() if not name.startswith("TURNKEEPER_")}

    assert others == {
        "ANTHROPIC_MAX_OUTPUT_TOKENS",
        "DISCORD_TOKEN",
        "GOOGLE_MAX_OUTPUT_TOKENS",
        "OPENROUTER_APP_ATTRIBUTION_ENABLED",
        "OPENROUTER_MAX_OUTPUT_TOKENS",
        "SEND_FAILURE_RETRY_MINUTES",
        "STREAM_ABANDONED_SETTLE_TIMEOUT_MS",
        "STREAM_SDK_CALL_TIMEOUT_MS",
        "TOOL_EXECUTION_TIMEOUT_MS",
    }
