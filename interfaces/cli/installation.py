"""What the commands work on: the settings of this machine, and a turnkeeper for one command."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.interfaces.container import Container
    from turnkeeper.interfaces.settings import Settings
    from turnkeeper.interfaces.turnkeeper import Turnkeeper


@frozen
class Installation:
    """Where to find it; None is what the environment says.

    Attributes:
        data_dir: The data folder.
        database_url: The database.
    """

    data_dir: Path | None = None
    database_url: str | None = None

    @property
    def settings(self) -> "Settings":
        """The environment's settings, with what the command line says in their place."""
        from turnkeeper.interfaces.settings import Settings

        return Settings().over(data_dir=self.data_dir, database_url=self.database_url)

    @contextmanager
    def turnkeeper(self, *, lends_environment_keys: bool = False) -> Iterator["Turnkeeper"]:
        """A turnkeeper for the time of a `with`; it sweeps only if it is told to.

        Args:
            lends_environment_keys: Whether keys in the environment stand in for missing ones.
        """
        from turnkeeper.interfaces.turnkeeper import Turnkeeper

        keys = environment_keys(os.environ) if lends_environment_keys else {}
        settings = self.settings.over(sweep_every_s=0.0)
        with Turnkeeper.open(settings, environment_keys=keys) as keeper:
            yield keeper

    @contextmanager
    def container(self) -> Iterator["Container"]:
        """The parts, for commands that must not migrate."""
        from turnkeeper.interfaces.container import built, shut_down

        container = built(self.settings, {})
        try:
            yield container
        finally:
            shut_down(container)


def environment_keys(environ: Mapping[str, str]) -> dict[str, Secret]:
    """The keys that the environment has, by the names of their providers.

    Raises:
        SettingsError: One cannot be a key.
    """
    from turnkeeper.interfaces.providers import key_variables

    found: dict[str, Secret] = {}
    for variable, names in key_variables():
        text = environ.get(variable, "")
        if text.strip():
            key = _pasted(text, variable)
            found |= {name: key for name in names}
    return found


def _pasted(text: str, variable: str) -> Secret:
    try:
        return Secret.pasted(text)
    except ValueError as error:
        raise SettingsError(f"{variable} cannot be used: {error}") from None
