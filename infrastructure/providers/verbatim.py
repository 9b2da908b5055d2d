"""Models that write their tool calls as text, asked like all others."""

from collections.abc import Iterator

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent


class VerbatimTools(ChatProvider):
    """A provider that is asked in words where its model writes its tool calls as text.

    Args:
        provider: Answers the calls; those to other models just as they are.
    """

    def __init__(self, provider: ChatProvider) -> None:
        self._provider = provider
        self.heeds_stop = getattr(provider, "heeds_stop", False)

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        can = call.model.capabilities
        if not (can.verbatim_tool_calling and can.tools and call.endpoint):
            return self._provider.stream(call, key=key, stop=stop, deadline=deadline)
        # Imported here since few models do.
        from turnkeeper.domain.verbatim_history import callable_names, in_words
        from turnkeeper.infrastructure.providers.verbatim_answer import VerbatimAnswer

        names = callable_names(call.conversation)
        asked = replace(call, conversation=in_words(call.conversation))
        events = self._provider.stream(asked, key=key, stop=stop, deadline=deadline)
        return VerbatimAnswer(names).read(events) if names else events
