from turns import FixedSettings, a_server, a_user

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.domain.owner import Owner

GUILD = Owner.server("guild")


def known(version: int = 1) -> tuple[KnownSettings, FixedSettings]:
    store = FixedSettings(a_server("alpha", version=version), a_user())
    return KnownSettings(store), store


def test_settings_are_read_once() -> None:
    settings, store = known()

    assert settings.server("guild") == settings.server("guild")
    assert store.server_reads == 1


def test_another_version_is_read_anew() -> None:
    settings, store = known(version=1)
    settings.server("guild")
    store.now_server = a_server("beta", version=2)

    assert not settings.are_current(((GUILD, 2),))
    assert settings.server("guild") == store.now_server


def test_the_same_version_is_kept() -> None:
    settings, store = known(version=3)
    settings.server("guild")

    assert settings.are_current(((GUILD, 3),))
    settings.server("guild")
    assert store.server_reads == 1


def test_what_was_never_read_is_not_stale() -> None:
    settings, _ = known()

    assert settings.are_current(((Owner.server("other"), 7),))


def test_a_full_memory_is_emptied_rather_than_grown() -> None:
    store = FixedSettings(a_server("alpha"), a_user())
    settings = KnownSettings(store, max_known=2)
    for name in ("one", "two", "three", "one"):
        settings.server(name)

    assert store.server_reads == 4
