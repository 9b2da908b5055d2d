"""How much of a conversation NovelAI takes, which depends on what an account pays for.

Source: NovelAI's documentation of its plans; its API documentation of /user/subscription.
"""

from collections import OrderedDict
from hashlib import blake2b
from secrets import token_bytes
from threading import Lock
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.runner import Runner, StillRunning, Stop, Work
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpRequest

URLS = (
    "https://image.novelai.net/user/subscription",
    "https://text.novelai.net/user/subscription",
)
SAFE_TOKENS = 3072
"""What every plan takes; too much is refused, so this is the answer where nothing is known."""
LONGEST_WAIT_S = 5.0
KEPT_S = 24 * 3600.0
KEPT_AFTER_FAILURE_S = 600.0
MOST_ACCOUNTS = 1024

_WINDOWS = {"clio-v1": 8192, "llama-3-erato-v1": 8192, "xialong-v1": 36_864}  # on every plan
_WINDOWS_BY_TIER: dict[str, dict[int | None, int]] = {
    "kayra-v1": {1: 3072, 2: 6144, 3: 8192},
    "glm-4-5": {0: 1024, 1: 4096, 2: 8192, 3: 8192},
    "glm-4-6": {0: 1024, 1: 4096, 2: 8192, 3: 8192},
}
_MOST_BYTES = 65_536
_HEADERS = (("Accept", "application/json"),)


@frozen
class _Plan:
    """What an account pays for; None is not known."""

    tier: int | None = None
    context_tokens: int | None = None


@frozen
class _Known:
    plan: _Plan
    until_s: float


class NovelAiSubscription(CredentialWindow):
    """Asks once for each key, and remembers the answer for a day. Safe to use from several threads.

    No key is kept, only a mark of it that nobody else can make.

    Args:
        urls: Where it asks, the next one if one does not say.
        longest_wait_s: After which a caller goes on without an answer, which may still come.
    """

    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        runner: Runner,
        urls: tuple[str, ...] = URLS,
        longest_wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        self._http = http
        self._clock = clock
        self._runner = runner
        self._urls = urls
        self._longest_wait_s = longest_wait_s
        self._salt = token_bytes(32)
        self._lock = Lock()  # guards the two below
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._asking: dict[bytes, Work[_Plan]] = {}

    def window_tokens(self, key: Secret, model: str) -> int:
        """Prompt and answer together that the model takes with that key. Never raises.

        It waits for at most one bounded question, and only where the model's window is not the
        same for everybody.
        """
        if model in _WINDOWS:
            return _WINDOWS[model]
        plan = self._plan(key)
        if (by_tier := _WINDOWS_BY_TIER.get(model)) is not None:
            return by_tier.get(plan.tier, SAFE_TOKENS)
        return plan.context_tokens or SAFE_TOKENS

    def _plan(self, key: Secret) -> _Plan:
        mark = blake2b(key.reveal().encode("utf-8", "replace"), key=self._salt).digest()
        try:
            found = self._kept_or_asked(mark, key)
            return found if isinstance(found, _Plan) else found.result(self._longest_wait_s)
        except Exception as error:  # noqa: BLE001 - no turn fails for want of this number
            if isinstance(error, StillRunning):
                self._give_up_for_now(mark)
            return _Plan()

    def _kept_or_asked(self, mark: bytes, key: Secret) -> _Plan | Work[_Plan]:
        """What is known, else the question under way, begun by whoever needs it first."""
        with self._lock:
            known = self._known.get(mark)
            if known is not None and self._clock.monotonic() < known.until_s:
                self._known.move_to_end(mark)
                return known.plan
            if mark not in self._asking:
                self._asking[mark] = self._runner.start(
                    lambda stop: self._ask(mark, key, stop), "novelai-subscription"
                )
            return self._asking[mark]

    def _ask(self, mark: bytes, key: Secret, stop: Stop) -> _Plan:
        plan = None
        try:
            plan = next((plan for url in self._urls if (plan := self._said(url, key, stop))), None)
        finally:
            with self._lock:
                self._keep(mark, plan)
                del self._asking[mark]
        return plan or _Plan()

    def _said(self, url: str, key: Secret, stop: Stop) -> _Plan | None:
        """The plan as one address gives it; None if it does not."""
        stop.check()
        request = HttpRequest(
            url=url,
            headers=_HEADERS,
            secret_headers=(("Authorization", f"Bearer {key.reveal()}"),),
        )
        try:
            reply = self._http.get_json(
                request, stop=stop, limit_bytes=_MOST_BYTES, timeout_s=self._longest_wait_s
            )
        except HttpError:
            return None
        return _plan_in(reply.value) if reply.status < 300 else None

    def _give_up_for_now(self, mark: bytes) -> None:
        """Let no other turn wait for the same answer, unless it has just come."""
        with self._lock:
            if mark in self._asking:
                self._keep(mark, None)

    def _keep(self, mark: bytes, plan: _Plan | None) -> None:
        """Remember it, or for less long that nothing was said; the lock is held."""
        for_s = KEPT_S if plan else KEPT_AFTER_FAILURE_S
        until_s = self._clock.monotonic() + for_s
        self._known[mark] = _Known(plan=plan or _Plan(), until_s=until_s)
        self._known.move_to_end(mark)
        if len(self._known) > MOST_ACCOUNTS:
            self._known.popitem(last=False)


def _plan_in(value: Any) -> _Plan | None:
    if not isinstance(value, dict):
        return None
    perks = value.get("perks")
    plan = _Plan(
        tier=_number(value.get("tier")),
        context_tokens=_number(perks.get("contextTokens")) if isinstance(perks, dict) else None,
    )
    return plan if plan != _Plan() else None


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None
