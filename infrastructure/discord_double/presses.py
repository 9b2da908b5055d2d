"""People at the buttons: presses and modals go to the application, and its answers count."""

import secrets
from collections.abc import Mapping
from typing import Any

import orjson
import requests

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.interaction import (
    ANSWER_WITHIN_S,
    COMPONENT,
    MODAL_SUBMIT,
    Interaction,
)
from turnkeeper.infrastructure.discord_double.interaction_json import (
    interaction_json,
    ping_json,
    pressed_data,
    submitted_data,
)
from turnkeeper.infrastructure.discord_double.interaction_routes import take_answer
from turnkeeper.infrastructure.discord_double.message import Author
from turnkeeper.infrastructure.discord_double.problem import Refused
from turnkeeper.infrastructure.discord_double.signing import Manner, Signed, Signer
from turnkeeper.infrastructure.discord_double.state import State

TOKEN_BYTES = 64


@frozen
class Heard:
    """What the application's endpoint said.

    Attributes:
        interaction_id: None for a ping.
        token: Opens the callback and follow-up routes; None for a ping.
        status: None if nothing was sent, or no answer came in time.
        body: The JSON of the answer; None if there was none.
        problem: Why the person reads "This interaction failed"; None if all went well.
    """

    interaction_id: str | None
    token: str | None
    status: int | None = None
    body: Mapping[str, Any] | None = None
    problem: str | None = None


class Presses:
    """Sends interactions; the state is not locked while the application thinks."""

    def __init__(self, state: State, signer: Signer) -> None:
        self._state = state
        self._signer = signer

    def ping(self, url: str, manner: Manner) -> Heard:
        """See whether the endpoint is there."""
        with self._state.lock:
            signed = self._signed(ping_json(self._state), manner)
        return self._sent(url, signed, None)

    def press(
        self, message_id: str, custom_id: str, user: Author, url: str | None, manner: Manner
    ) -> Heard:
        """Press a button.

        Args:
            url: The endpoint; None to send nothing, as to an application on the gateway.

        Raises:
            LookupError: This user sees no such button.
        """
        with self._state.lock:
            message = self._state.messages.get(message_id)
            if message is None or message.shown_to not in (None, user.id):
                raise LookupError(f"{user.name} sees no message {message_id}")
            data = pressed_data(message, custom_id)
            interaction = self._begun(COMPONENT, user, message.channel_id, message_id)
            signed = self._signed(interaction_json(self._state, interaction, data), manner)
        return self._heard(url, signed, interaction, manner)

    def submit(
        self, interaction_id: str, values: Mapping[str, str], url: str | None, manner: Manner
    ) -> Heard:
        """Send the modal off that an interaction has shown.

        Raises:
            LookupError: It has shown none.
        """
        with self._state.lock:
            shown = self._state.interactions[interaction_id]
            if shown.modal is None:
                raise LookupError(f"interaction {interaction_id} has shown no modal")
            data = submitted_data(shown.modal, values)
            begun = self._begun(MODAL_SUBMIT, shown.user, shown.channel_id, shown.message_id)
            signed = self._signed(interaction_json(self._state, begun, data), manner)
        return self._heard(url, signed, begun, manner)

    def _begun(
        self, kind: int, user: Author, channel_id: str, message_id: str | None
    ) -> Interaction:
        interaction = Interaction(
            id=self._state.snowflakes.next(),
            token=secrets.token_urlsafe(TOKEN_BYTES),
            kind=kind,
            user=user,
            channel_id=channel_id,
            message_id=message_id,
            asked_at_s=self._state.clock.monotonic(),
        )
        self._state.interactions[interaction.id] = interaction
        return interaction

    def _signed(self, body: Mapping[str, Any], manner: Manner) -> Signed:
        now_s = int(self._state.clock.now().timestamp())
        return self._signer.signed(orjson.dumps(body), now_s, manner)

    def _heard(
        self, url: str | None, signed: Signed, interaction: Interaction, manner: Manner
    ) -> Heard:
        if url is None:
            return Heard(interaction_id=interaction.id, token=interaction.token)
        heard = self._sent(url, signed, interaction)
        if manner == "replayed":
            heard = self._sent(url, signed, interaction)
        return heard

    def _sent(self, url: str, signed: Signed, interaction: Interaction | None) -> Heard:
        ids = (interaction.id, interaction.token) if interaction else (None, None)
        status, body, problem = _posted(url, signed)
        if interaction is not None and problem is None:
            problem = self._counted(interaction, status, body)
        return Heard(interaction_id=ids[0], token=ids[1], status=status, body=body, problem=problem)

    def _counted(
        self, interaction: Interaction, status: int | None, body: Mapping[str, Any] | None
    ) -> str | None:
        """Let the endpoint's own answer count, unless it has used the callback route."""
        with self._state.lock:
            now = self._state.interactions[interaction.id]
            if body is None:
                return None if now.answer is not None else f"it was not answered, only {status}"
            try:
                take_answer(self._state, now, body)
            except Refused as error:
                return f"its answer was refused: {error.problem.code} {error.problem.message}"
        return None


def _posted(url: str, signed: Signed) -> tuple[int | None, Mapping[str, Any] | None, str | None]:
    try:
        with requests.Session() as session:
            session.trust_env = False
            response = session.post(
                url,
                data=signed.body,
                headers=dict(signed.headers),
                timeout=ANSWER_WITHIN_S,
                allow_redirects=False,
            )
    except requests.RequestException as error:
        return None, None, f"the endpoint did not answer: {type(error).__name__}"
    status = response.status_code
    if not response.ok:
        return status, None, f"the endpoint answered {status}"
    if not response.content:
        return status, None, None
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return status, None, "the endpoint's answer is not application/json"
    return status, response.json(), None
