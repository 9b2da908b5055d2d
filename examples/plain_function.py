"""Ask, and get the answer as a text.

Set it up once on the command line:

    turnkeeper key add openrouter
    turnkeeper model add openrouter:openai/gpt-4o-mini
    turnkeeper model use openrouter:openai/gpt-4o-mini
"""

from turnkeeper.interfaces import Conversation, SimpleSink, Turnkeeper, TurnRequest


def ask(keeper: Turnkeeper, prompt: str, *, server_id: str = "local") -> str:
    """The answer; empty where none of the server's models gave one."""
    request = TurnRequest(conversation=Conversation.of(prompt), server_id=server_id)
    return keeper.run(request, SimpleSink()).text


if __name__ == "__main__":
    with Turnkeeper.open() as opened:
        print(ask(opened, "Say hello in three languages."))
