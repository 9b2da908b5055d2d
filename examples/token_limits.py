"""What a host knows of its models' limits, where neither the provider nor the registration says.

A window that is known keeps a long conversation within it, and the output that is asked for within
what the model gives.
"""

from turnkeeper.interfaces import Conversation, Limits, SimpleSink, Turnkeeper, TurnRequest

LIMITS = {
    "vllm:house-model": Limits(window_tokens=8192, max_output_tokens=1024),
}
"""By ``provider:name``."""


def ask(keeper: Turnkeeper, prompt: str, *, server_id: str = "local") -> str:
    """The answer to a prompt."""
    request = TurnRequest(conversation=Conversation.of(prompt), server_id=server_id)
    return keeper.run(request, SimpleSink()).text


if __name__ == "__main__":
    with Turnkeeper.open(token_limits=LIMITS) as opened:
        print(ask(opened, "Hello!"))
