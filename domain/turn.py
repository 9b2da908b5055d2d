"""A turn: what is asked, and what comes back."""

from typing import TypeVar

from turnkeeper.domain.admission import Refused
from turnkeeper.domain.conversation import Conversation, ToolSpec
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Model
from turnkeeper.domain.occasion import Audience, Occasion
from turnkeeper.domain.outcome import Delivery, StreamResult, ThoughtLog, TurnStatus
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.stream import FinishReason, Usage

_CALLER = Audience.CALLER  # looking it up takes as long as a call


@frozen
class Persona:
    """Who answers.

    Attributes:
        id: The host's id for it; empty for the main persona.
        name: What it is called.
        lineage_id: What ties its versions together, or None.
        is_alter: Whether it speaks under a name of its own beside the main one.
        avatar_url: Its picture, or None.
    """

    id: str = ""
    name: str = "assistant"
    lineage_id: str | None = None
    is_alter: bool = False
    avatar_url: str | None = None


@frozen
class TurnRequest:
    """One persona answering one trigger.

    Attributes:
        conversation: What has been said.
        server_id: Whose server it is; in a direct message any name for the conversation.
        channel_id: Where it is answered.
        user_id: Who asked, or None for a turn that came by itself.
        trigger_id: The message or event that set it off; with the persona and the retry it
            makes the turn's key, so that the same turn is run once.
        parent_channel_id: The channel that a thread hangs under, or None.
        persona: Who answers.
        occasion: What set it off.
        audience: Who is told of a failure.
        impersonated: The name and picture of the user it speaks for, or None.
        llm_override: A model that replaces the planned one, ``provider:name``, or None.
        retry_count: How often the turn was run before, because nothing came.
        empty_finish: How the run before ended, where it ended empty.
        quota_trigger_key: What the quota counts once; the trigger unless set.
        quota_user_id: Whose quota counts; the user unless set.
        locale: In which language people are told things, such as ``en``.
        other_speakers: Who else speaks in the channel, by name; a line of the answer that one of
            these names labels ends it, since the model began to speak for others.
        only_tools: The tools that may be called, by name; none are left out if it is empty.
    """

    conversation: Conversation
    server_id: str = "local"
    channel_id: str = "local"
    user_id: str | None = None
    trigger_id: str = ""
    parent_channel_id: str | None = None
    persona: Persona = Persona()
    occasion: Occasion = Occasion()
    audience: Audience = Audience.PERSON
    impersonated: Persona | None = None
    llm_override: str | None = None
    retry_count: int = 0
    empty_finish: FinishReason | None = None
    quota_trigger_key: str = ""
    quota_user_id: str | None = None
    locale: str = "en"
    other_speakers: tuple[str, ...] = ()
    only_tools: tuple[str, ...] = ()

    def with_tools(self, offered: tuple[ToolSpec, ...]) -> "TurnRequest":
        """The request with further tools, and with none that may not be called."""
        if not offered and not self.only_tools:
            return self
        told = self.conversation
        names = {tool.name for tool in told.tools}
        tools = (*told.tools, *(tool for tool in offered if tool.name not in names))
        if self.only_tools:
            tools = tuple(tool for tool in tools if tool.name in self.only_tools)
        if tools == told.tools:
            return self
        return replace(self, conversation=replace(told, tools=tools))

    def without_tools(self, names: tuple[str, ...]) -> "TurnRequest":
        """The request with none of these tools."""
        if not names:
            return self
        told = self.conversation
        tools = tuple(tool for tool in told.tools if tool.name not in names)
        if tools == told.tools:
            return self
        return replace(self, conversation=replace(told, tools=tools))

    @property
    def server(self) -> Owner:
        """The server as an owner of keys and settings."""
        return Owner.server(self.server_id)

    @property
    def is_impersonation(self) -> bool:
        """Whether it speaks in somebody else's name."""
        return self.impersonated is not None or self.audience is _CALLER

    @property
    def hears(self) -> Audience:
        """Who is told of a failure; of a turn in somebody else's name, the caller alone."""
        return _CALLER if self.impersonated is not None else self.audience

    @property
    def turn_key(self) -> str:
        """What makes the turn the same turn; empty if the trigger has no id."""
        if not self.trigger_id:
            return ""
        return f"{self.trigger_id}/{self.persona.id}/{self.retry_count}"

    @property
    def trigger_key(self) -> str:
        """What cooldown and quota count once; empty if the trigger has no id."""
        return self.quota_trigger_key or self.trigger_id


@frozen
class PersonaResponse:
    """What a persona said in the turn."""

    text: str
    persona_name: str
    persona_id: str = ""
    persona_lineage_id: str | None = None


@frozen
class ThoughtLogOfUser:
    """The thoughts belong to a turn in a user's name."""

    username: str
    avatar_url: str | None = None


@frozen
class ThoughtLogOfPersona:
    """The thoughts belong to a persona beside the main one."""

    persona: Persona


@frozen
class ThoughtLogOfDefault:
    """The thoughts belong to the main persona."""


ThoughtLogOwner = ThoughtLogOfUser | ThoughtLogOfPersona | ThoughtLogOfDefault


@frozen
class AttemptFailure:
    """Why one attempt gave no answer.

    Attributes:
        attempt_no: Its number.
        label: Its label.
        model: The true model's name.
        failure: What failed, redacted.
    """

    attempt_no: int
    label: str
    model: str
    failure: Failure


@frozen
class TurnResult:
    """How a turn ended.

    Attributes:
        status: How; see `TurnStatus`.
        turn_id: The id under which it is journalled.
        stream_results: One a provider call of the invocation that stands.
        persona_responses: What was said; none, or one.
        thought_log: What was thought, or None.
        thought_log_owner: Whose thoughts; None where there is no thought log.
        success_model: The model that answered, or None.
        credential_source: Whose credentials the last invocation used, or None where none ran.
        usage: Tokens of all invocations of the turn, failed ones too, or None if unreported.
        failures: Why the attempts before, or all of them, gave no answer.
        refusal: The rule that refused the turn, or None.
        finish: Why the provider ended the answer that stands, or None.
        delivered: The messages that stand in the channel.
        delivered_by_tool: Whether a tool answered in the channel itself.
        retries: How often the turn was run again because nothing came.
    """

    status: TurnStatus
    turn_id: str = ""
    stream_results: tuple[StreamResult, ...] = ()
    persona_responses: tuple[PersonaResponse, ...] = ()
    thought_log: ThoughtLog | None = None
    thought_log_owner: ThoughtLogOwner | None = None
    success_model: Model | None = None
    credential_source: Route | None = None
    usage: Usage | None = None
    failures: tuple[AttemptFailure, ...] = ()
    refusal: Refused | None = None
    finish: FinishReason | None = None
    delivered: tuple[Delivery, ...] = ()
    delivered_by_tool: bool = False
    retries: int = 0

    @property
    def text(self) -> str:
        """What was said, possibly nothing."""
        return "\n".join(response.text for response in self.persona_responses)

    def without_texts(self) -> "TurnResult":
        """The same, without what people, models and tools wrote; what failed is still said."""
        log = self.thought_log
        return replace(
            self,
            stream_results=tuple(map(_without_text, self.stream_results)),
            persona_responses=tuple(map(_without_text, self.persona_responses)),
            thought_log=log and replace(log, summary=None, raw=None, fetched_content=None),
            delivered=tuple(map(_without_text, self.delivered)),
        )

    @property
    def was_rescued(self) -> bool:
        """Whether it was answered after something had failed."""
        return self.status is TurnStatus.COMPLETED and bool(self.failures)


Written = TypeVar("Written", StreamResult, PersonaResponse, Delivery)


def _without_text(one: Written) -> Written:
    return replace(one, text="")
