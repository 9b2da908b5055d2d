"""Any environment gives settings, or a clear refusal that shows no secret."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.address_check import AddressCheck
from turnkeeper.infrastructure.master_secrets import SHORT_CHARACTERS
from turnkeeper.interfaces.settings import Settings, variables

CANARY = "canary-" * 6
# What the operating system lets into an environment.
VALUES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40
) | st.sampled_from(
    ["0", "1", "-1", "1.5", "nan", "inf", "1e400", "9" * 30, "true", "off", "memory", "[]", "{}",
     "null", '{"openai": "http://h/v1"}', '{"openai": 1}', '["h"]', "[[", '"', "１", " 1 ", "~"]
)  # fmt: skip
SECRETS = st.sampled_from(
    ["TURNKEEPER_SECRET_V1", "TURNKEEPER_SECRET_V2", "TURNKEEPER_SECRET_V0",
     "TURNKEEPER_SECRET_V99999999999", "TURNKEEPER_SECRET_Vx", "TURNKEEPER_SECRET"]
)  # fmt: skip
CURRENT = "TURNKEEPER_SECRET_CURRENT"
ENVIRONMENTS = st.dictionaries(st.sampled_from((*variables(), CURRENT)), VALUES, max_size=5)


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def refusal_of(values: dict[str, str]) -> str | None:
    """Why there are no settings; None where there are some, all of which can be read."""
    with environment(values):
        try:
            settings = Settings()
            _ = settings.policy, settings.limits, settings.data_folder, settings.unreachable_s
            AddressCheck(allowed_hosts=settings.allowed_hosts)
        except SettingsError as error:
            return str(error)
    assert CANARY not in repr(settings)
    return None


@given(ENVIRONMENTS)
def test_any_values_are_settings_or_are_refused_by_name(values: dict[str, str]) -> None:
    refusal = refusal_of(values)

    assert refusal is None or any(name in refusal for name in (*values, "allowed host"))


@given(ENVIRONMENTS, st.dictionaries(SECRETS, st.just(CANARY), min_size=1))
def test_no_refusal_shows_a_master_secret(values: dict[str, str], secrets: dict[str, str]) -> None:
    refusal = refusal_of(values | secrets)

    assert CANARY not in (refusal or "")
    assert len(CANARY) > SHORT_CHARACTERS


@given(VALUES)
def test_no_refusal_shows_the_database_url(rest: str) -> None:
    url = f"postgresql://bot:{CANARY}@{rest}"

    refusal = refusal_of({"TURNKEEPER_DATABASE_URL": url, "TURNKEEPER_POOL_SIZE": "none"})

    assert refusal is not None
    assert CANARY not in refusal
