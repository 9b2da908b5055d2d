"""The settings that decisions depend on, with their defaults."""

from enum import Enum

from turnkeeper.domain.frozen import frozen


class ContentFilterPolicy(Enum):
    """What is done when a provider refuses the content."""

    NEXT = "next"
    """Another model may see it differently."""
    STOP = "stop"
    """The refusal stands."""


@frozen
class TurnPolicy:
    """How hard a turn tries.

    Attributes:
        max_keys: Keys tried for one attempt (MAX_KEY_ATTEMPTS); at least 1.
        max_invocations: Invocations of one attempt, repeats with the same key included.
        key_wait_s: The longest wait for a key that is coming back.
        empty_fails_over: Whether a clean end with nothing to see tries the next model.
        empty_opens_server_route: Whether it also opens the server route.
        empty_retries: How often a turn that ended empty is run again.
        empty_retry_s: After how long.
        content_filter: What is done when a provider refuses the content.
        min_affordable_tokens: A balance that pays for less output than this is no balance.
        shrink_to: The share of a too long prompt that is kept where no numbers are stated.
        min_prompt_tokens: A prompt is not shrunk below this.
    """

    max_keys: int = 3
    max_invocations: int = 6
    key_wait_s: float = 3.0
    empty_fails_over: bool = True
    empty_opens_server_route: bool = False
    empty_retries: int = 2
    empty_retry_s: float = 1.0
    content_filter: ContentFilterPolicy = ContentFilterPolicy.NEXT
    min_affordable_tokens: int = 256
    shrink_to: float = 0.7
    min_prompt_tokens: int = 256

    def __post_init__(self) -> None:
        for name in ("max_keys", "max_invocations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, not {getattr(self, name)}")
        if not 0 < self.shrink_to < 1:
            raise ValueError(f"shrink_to is between 0 and 1, not {self.shrink_to}")


@frozen
class ToolPolicy:
    """How far the model and its tools may go on with each other in one invocation.

    Attributes:
        max_calls: Provider calls; after them it is a time-out that opens no other model.
        max_failures: Tool failures in a row; after them it is an error.
        still_working_at: From this provider call on people are told once that it goes on.
        max_result_chars: Of a longer result the model sees the beginning.
    """

    max_calls: int = 100
    max_failures: int = 5
    still_working_at: int = 20
    max_result_chars: int = 40_000


@frozen
class TimeLimits:
    """How long things may take, in seconds.

    Attributes:
        connect_s: To a connection.
        first_progress_s: To the first text, reasoning or tool argument while another attempt may
            answer and the model is not known to think first.
        last_first_progress_s: The same, where nothing else may answer or the model thinks first.
        silence_s: Between one progress and the next (STREAM_SDK_CALL_TIMEOUT_MS).
        reasoning_is_progress: Whether reasoning counts as progress, beside text and tool arguments.
        min_chars_per_s: The slowest that an answer may come once it has begun; 0 for any pace.
        pace_window_s: In which the characters of that pace must have come, again and again.
        attempt_s: For one invocation.
        turn_s: For the whole turn.
        settle_s: What an abandoned stream gets to settle
            (STREAM_ABANDONED_SETTLE_TIMEOUT_MS); 0 does not wait.
        tool_s: For one tool (TOOL_EXECUTION_TIMEOUT_MS).
    """

    connect_s: float = 10.0
    first_progress_s: float = 12.0
    last_first_progress_s: float = 300.0
    silence_s: float = 120.0
    reasoning_is_progress: bool = True
    min_chars_per_s: float = 0.0
    pace_window_s: float = 30.0
    attempt_s: float = 600.0
    turn_s: float = 900.0
    settle_s: float = 5.0
    tool_s: float = 300.0

    def __post_init__(self) -> None:
        for name in TimeLimits.__dataclass_fields__:
            if getattr(self, name) < 0 or (name not in _MAY_BE_0 and getattr(self, name) == 0):
                raise ValueError(f"{name} is more than 0 seconds, not {getattr(self, name)}")


_MAY_BE_0 = frozenset({"settle_s", "min_chars_per_s", "reasoning_is_progress"})
