"""The outside: the public names, the settings, the container, the command line.

Reading order: `turnkeeper` (the facade), `settings`, `container` (the only wiring), `simple_sink`
(for hosts), `explain`, `cli`. The names below are imported when they are first used, so that the
command line starts fast and `turnkeeper.interfaces` loads no database driver.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers, which cannot see through `__getattr__`
    from turnkeeper.application.configure import Configure
    from turnkeeper.application.ports.channel_reader import ChannelReader, Place, PostedMessage
    from turnkeeper.application.ports.sink import Sink, Spoken, Target
    from turnkeeper.application.ports.tools import ToolUse
    from turnkeeper.application.sweep_report import LostTurn, SweepReport
    from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
    from turnkeeper.domain.conversation import Conversation, Item, Role, ToolSpec
    from turnkeeper.domain.errors import (
        AlreadyRunning,
        Busy,
        Closed,
        DestinationGone,
        SettingsError,
        SinkError,
        StoreError,
        StoreUnavailable,
        TurnFailed,
        TurnkeeperError,
    )
    from turnkeeper.domain.events import Entry
    from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model, Sampling
    from turnkeeper.domain.occasion import Audience, Occasion, QuotaSource
    from turnkeeper.domain.outcome import Delivery, Origin, TurnStatus
    from turnkeeper.domain.owner import Owner
    from turnkeeper.domain.secret import Secret
    from turnkeeper.domain.settings import SavedProvider
    from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolRules
    from turnkeeper.domain.turn import Persona, TurnRequest, TurnResult
    from turnkeeper.infrastructure.console.sink import ConsoleSink
    from turnkeeper.infrastructure.memory.sink import MemorySink
    from turnkeeper.infrastructure.tools.registry import ToolRegistry
    from turnkeeper.interfaces.settings import Settings
    from turnkeeper.interfaces.simple_sink import SimpleSink
    from turnkeeper.interfaces.turnkeeper import Turnkeeper

__all__ = [
    "AlreadyRunning",
    "Audience",
    "Busy",
    "Capabilities",
    "ChannelReader",
    "Closed",
    "Configure",
    "ConsoleSink",
    "Conversation",
    "CooldownRule",
    "CooldownType",
    "Delivery",
    "DestinationGone",
    "Endpoint",
    "Entry",
    "Item",
    "Limits",
    "LostTurn",
    "MemorySink",
    "Model",
    "Occasion",
    "Origin",
    "Owner",
    "Persona",
    "Place",
    "PostedMessage",
    "QuotaRule",
    "QuotaSource",
    "Role",
    "Sampling",
    "SavedProvider",
    "Secret",
    "Settings",
    "SettingsError",
    "SimpleSink",
    "Sink",
    "SinkError",
    "Spoken",
    "StoreError",
    "StoreUnavailable",
    "SweepReport",
    "Target",
    "ToolDone",
    "ToolFailed",
    "ToolRegistry",
    "ToolRules",
    "ToolSpec",
    "ToolUse",
    "TurnFailed",
    "TurnRequest",
    "TurnResult",
    "TurnStatus",
    "Turnkeeper",
    "TurnkeeperError",
]

_HOMES = {
    "application.configure": ("Configure",),
    "application.ports.channel_reader": ("ChannelReader", "Place", "PostedMessage"),
    "application.ports.sink": ("Sink", "Spoken", "Target"),
    "application.ports.tools": ("ToolUse",),
    "application.sweep_report": ("LostTurn", "SweepReport"),
    "domain.admission": ("CooldownRule", "CooldownType", "QuotaRule"),
    "domain.conversation": ("Conversation", "Item", "Role", "ToolSpec"),
    "domain.events": ("Entry",),
    "domain.model": ("Capabilities", "Endpoint", "Limits", "Model", "Sampling"),
    "domain.occasion": ("Audience", "Occasion", "QuotaSource"),
    "domain.outcome": ("Delivery", "Origin", "TurnStatus"),
    "domain.owner": ("Owner",),
    "domain.secret": ("Secret",),
    "domain.settings": ("SavedProvider",),
    "domain.tools": ("ToolDone", "ToolFailed", "ToolRules"),
    "domain.turn": ("Persona", "TurnRequest", "TurnResult"),
    "infrastructure.console.sink": ("ConsoleSink",),
    "infrastructure.memory.sink": ("MemorySink",),
    "infrastructure.tools.registry": ("ToolRegistry",),
    "interfaces.settings": ("Settings",),
    "interfaces.simple_sink": ("SimpleSink",),
    "interfaces.turnkeeper": ("Turnkeeper",),
}


def __getattr__(name: str) -> object:
    """Import a public name from where it lives."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = (home for home, names in _HOMES.items() if name in names)
    home = import_module(f"turnkeeper.{next(homes, 'domain.errors')}")
    value: object = getattr(home, name)
    globals()[name] = value
    return value
