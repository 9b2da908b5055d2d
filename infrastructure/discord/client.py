"""Makes calls of Discord's interface, and keeps to its rules."""

from typing import Any, assert_never

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.ports.sink import Tell
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.errors import BadBotToken
from turnkeeper.infrastructure.discord.lane import Ticket
from turnkeeper.infrastructure.discord.patience import Patience
from turnkeeper.infrastructure.discord.rate_limits import RateLimits
from turnkeeper.infrastructure.discord.refusals import RefusalBudget
from turnkeeper.infrastructure.discord.transport import Transport
from turnkeeper.infrastructure.discord.verdict import (
    Again,
    Done,
    Refused,
    TooEarly,
    Verdict,
    verdict_on,
    verdict_without_reply,
)
from turnkeeper.infrastructure.http import HttpError

PAUSES_S = (1.0, 2.0, 4.0)
MOST_EARLY = 5


def nobody(trouble: str, done: str) -> None:
    """Nobody wants to know."""


class DiscordClient:
    """The one client of a bot. Safe to use from several threads.

    A call is made once at a time for each limit, waits until it may be sent, and is made again
    where that can do no harm: after a limit always, after a failure where it is repeatable or
    was never sent.

    Attributes:
        tell: Called with each trouble that it, or who uses it, gets over.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        limits: RateLimits | None = None,
        budget: RefusalBudget | None = None,
        tell: Tell = nobody,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._limits = limits or RateLimits(clock)
        self._budget = budget or RefusalBudget(clock)
        self.tell = tell

    def telling(self, tell: Tell) -> "DiscordClient":
        """This client, with its limits and its budget, for one who wants to know its troubles."""
        return DiscordClient(
            self._transport, clock=self._clock, limits=self._limits, budget=self._budget, tell=tell
        )

    def within(self, seconds: float) -> Deadline:
        """The deadline of a call that may take so long from now on."""
        return Deadline(self._clock.monotonic() + seconds)

    def make(self, call: Call, *, deadline: Deadline = NEVER, stop: Stop | None = None) -> Any:
        """Return the JSON that Discord answers with; None where it answers with nothing.

        Raises:
            DiscordError: It refused; `Unreachable` where nobody can be reached in the channel.
            Unclear: It may have happened, and nobody can tell.
            Lost: It has not happened.
            Halted: Nothing was sent, as Discord blocks this side or soon would.
            WaitTooLong: It was not done within the deadline; the message names the wait.
            Cancelled: It was asked to stop.
        """
        patience = Patience(self._clock, deadline=deadline, stop=stop)
        with self._limits.turn(call, patience) as ticket:
            return self._insist(call, ticket, patience, stop)

    def close(self) -> None:
        """Close the connections that rest."""
        self._transport.close()

    def _insist(self, call: Call, ticket: Ticket, patience: Patience, stop: Stop | None) -> Any:
        failed, early = 0, 0
        while True:
            verdict = self._once(call, ticket, patience, stop)
            match verdict:
                case Done(value=value):
                    return value
                case Refused(error=error):
                    raise error
                case TooEarly(error=error):
                    early += 1
                    if early > MOST_EARLY or not call.insists:
                        raise error
                    self.tell(str(error), "waits as long as it says, then asks again")
                case Again(error=error):
                    if not call.insists or failed == len(PAUSES_S):
                        raise error
                    if patience.left_s < PAUSES_S[failed]:
                        raise error
                    patience.rest(PAUSES_S[failed], f"another try of {call.name}")
                    self.tell(str(error), f"waited {PAUSES_S[failed]:.0f} s, then asked again")
                    failed += 1
                case unknown:
                    assert_never(unknown)

    def _once(self, call: Call, ticket: Ticket, patience: Patience, stop: Stop | None) -> Verdict:
        self._check(call)
        self._limits.wait(ticket, call, patience)
        try:
            reply = self._transport.send(call, within_s=patience.left_s, stop=stop)
        except HttpError as error:
            return verdict_without_reply(call, error)
        self._limits.learn(ticket, call, reply)
        if reply.is_invalid:
            self._budget.note()
        verdict = verdict_on(call, reply)
        if isinstance(verdict, Refused) and isinstance(verdict.error, BadBotToken):
            self._budget.bad_token = verdict.error
        return verdict

    def _check(self, call: Call) -> None:
        self._budget.check()
        if call.by_bot and (known := self._budget.bad_token) is not None:
            raise BadBotToken(
                route=call.name, status=known.status, code=known.code, message=known.message
            )
