"""The use cases that no turn needs. Each is imported when it is first asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnkeeper.application.answer_press import AnswerPress
    from turnkeeper.application.configure import Configure
    from turnkeeper.application.forget_user import ForgetUser
    from turnkeeper.application.list_turns import ListTurns
    from turnkeeper.application.preview_turn import PreviewTurn
    from turnkeeper.application.prune import Prune
    from turnkeeper.application.saved_pools import SavedPools


def configure_of(**ports: Any) -> "Configure":
    """All that owners can set, on the ports that `ConfigurePorts` names."""
    from turnkeeper.application.configure import Configure
    from turnkeeper.application.configure_models import ConfigurePorts

    return Configure(ConfigurePorts(**ports))


def preview_of(**ports: Any) -> "PreviewTurn":
    """What would become of a turn."""
    from turnkeeper.application.preview_turn import PreviewTurn

    return PreviewTurn(**ports)


def pools_of(**ports: Any) -> "SavedPools":
    """How the saved keys stand."""
    from turnkeeper.application.saved_pools import SavedPools

    return SavedPools(**ports)


def list_turns_of(**ports: Any) -> "ListTurns":
    """The turns that were."""
    from turnkeeper.application.list_turns import ListTurns

    return ListTurns(**ports)


def forget_user_of(**ports: Any) -> "ForgetUser":
    """What forgets a user."""
    from turnkeeper.application.forget_user import ForgetUser

    return ForgetUser(**ports)


def prune_of(**ports: Any) -> "Prune":
    """What deletes old turns."""
    from turnkeeper.application.prune import Prune

    return Prune(**ports)


def answer_press_of(**ports: Any) -> "AnswerPress":
    """What answers a press of a button."""
    from turnkeeper.application.answer_press import AnswerPress

    return AnswerPress(**ports)
