"""What is said through webhooks, in channels and threads."""

import pytest
from discord_caller import Caller, answer_of, contents

from turnkeeper.infrastructure.discord_double.double import FOREIGN_APPLICATION, DiscordDouble
from turnkeeper.infrastructure.discord_double.mentions import Pings

NO_TOKEN: dict[str, None] = {"Authorization": None}
ROW = {"type": 1, "components": [{"type": 2, "style": 2, "label": "Go", "custom_id": "go"}]}


def test_a_webhook_speaks_under_the_name_it_is_given(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    path = call.webhook(channel)

    body = {"content": "hi", "username": "Ada", "avatar_url": "https://example.org/a.png"}
    said = call("POST", f"{path}?wait=true", body, **NO_TOKEN).json()

    message = discord.visible(channel)[0]
    assert (message.author.name, message.author.avatar) == ("Ada", "https://example.org/a.png")
    assert (said["webhook_id"], said["id"]) == (message.author.webhook_id, message.id)


def test_who_does_not_wait_learns_no_id(discord: DiscordDouble, call: Caller, channel: str) -> None:
    response = call("POST", call.webhook(channel), {"content": "hi"})

    assert (response.status_code, response.content) == (204, b"")
    assert contents(discord, channel) == ["hi"]


def test_nonce_and_reference_mean_nothing_to_a_webhook(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    path = call.webhook(channel)
    question = discord.say(channel, "why?")
    body = {
        "content": "because",
        "nonce": "n1",
        "enforce_nonce": True,
        "message_reference": {"message_id": question},
    }

    call("POST", f"{path}?wait=true", body)
    call("POST", f"{path}?wait=true", body)

    assert contents(discord, channel) == ["why?", "because", "because"]
    assert discord.visible(channel)[1].reply_to is None


def test_a_webhook_reads_changes_and_deletes_its_own(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    path = call.webhook(channel)
    own = f"{path}/messages/{call('POST', f'{path}?wait=true', {'content': 'o'}).json()['id']}"
    discord.revoke(channel, "MANAGE_MESSAGES")

    assert call("GET", own, **NO_TOKEN).json()["content"] == "o"
    assert call("PATCH", own, {"content": "one"}, **NO_TOKEN).json()["content"] == "one"
    assert call("DELETE", own, **NO_TOKEN).status_code == 204
    assert [gone.by for gone in discord.deleted(channel)] == ["webhook"]


def test_another_webhook_does_not_know_the_message(call: Caller, channel: str) -> None:
    one, other = call.webhook(channel), call.webhook(channel)
    message = call("POST", f"{one}?wait=true", {"content": "hi"}).json()

    assert answer_of(call("DELETE", f"{other}/messages/{message['id']}")) == (404, 10008)


def test_in_a_thread_a_message_is_found_only_with_the_thread_s_id(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    thread = discord.add_thread(channel)
    path = call.webhook(channel)
    said = call("POST", f"{path}?wait=true&thread_id={thread}", {"content": "hi"}).json()
    own = f"{path}/messages/{said['id']}"

    assert said["channel_id"] == thread
    assert answer_of(call("DELETE", own)) == (404, 10008)
    assert call("DELETE", f"{own}?thread_id={thread}").status_code == 204


def test_a_webhook_has_only_its_own_channel_s_threads(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    elsewhere = discord.add_thread(discord.add_channel("elsewhere"))
    path = f"{call.webhook(channel)}?wait=true&thread_id={elsewhere}"

    assert answer_of(call("POST", path, {"content": "hi"})) == (404, 10003)


def test_a_deleted_webhook_is_unknown_and_its_messages_are_the_bot_s_to_delete(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    path = call.webhook(channel)
    said = call("POST", f"{path}?wait=true", {"content": "hi"}).json()
    discord.delete_webhook(discord.webhooks(channel)[0].id)

    assert answer_of(call("DELETE", f"{path}/messages/{said['id']}")) == (404, 10015)
    assert call("DELETE", f"/channels/{channel}/messages/{said['id']}").status_code == 204


def test_a_wrong_token_does_not_open_a_webhook(call: Caller, channel: str) -> None:
    assert answer_of(call("POST", f"{call.webhook(channel)}x", {"content": "hi"})) == (401, 50027)


def test_the_list_hides_the_tokens_of_other_applications(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.add_webhook(channel, of_application=discord.application_id)
    discord.add_webhook(channel)
    discord.add_webhook(channel, of_application=FOREIGN_APPLICATION)

    listed = call("GET", f"/channels/{channel}/webhooks").json()

    assert ["token" in webhook for webhook in listed] == [True, True, False]


def test_only_the_application_s_own_webhook_shows_buttons(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    body = {"content": "hi", "components": [ROW]}
    for owner in (discord.application_id, None):
        webhook = discord.add_webhook(channel, of_application=owner)
        call("POST", f"/webhooks/{webhook.id}/{webhook.token}", body)

    assert [len(message.components) for message in discord.visible(channel)] == [1, 0]


def test_a_channel_has_fifteen_webhooks_at_most(call: Caller, channel: str) -> None:
    for _ in range(15):
        call.webhook(channel)

    response = call("POST", f"/channels/{channel}/webhooks", {"name": "Lantern"})

    assert answer_of(response) == (400, 30007)


def test_making_webhooks_needs_permission(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    discord.revoke(channel, "MANAGE_WEBHOOKS")

    response = call("POST", f"/channels/{channel}/webhooks", {"name": "Lantern"})

    assert answer_of(response) == (403, 50013)


@pytest.mark.parametrize("name", ["", "x" * 81, "My Discord bot", "CLYDE"])
def test_a_name_that_is_not_allowed_is_refused(call: Caller, channel: str, name: str) -> None:
    response = call("POST", call.webhook(channel), {"content": "hi", "username": name})

    assert answer_of(response) == (400, 50035)


@pytest.mark.parametrize("by_token", [True, False])
def test_a_webhook_is_deleted_by_its_token_or_by_the_bot(
    discord: DiscordDouble, call: Caller, channel: str, by_token: bool
) -> None:
    path = call.webhook(channel)

    response = call("DELETE", path if by_token else path.rpartition("/")[0])

    assert response.status_code == 204
    assert discord.webhooks(channel) == ()


def test_a_webhook_pings_users_by_default_and_nobody_else(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    call("POST", call.webhook(channel), {"content": "@everyone <@7> <@&8>"})

    assert discord.visible(channel)[0].pings == Pings(users=("7",))


def test_a_message_opens_an_archived_thread(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    thread = discord.add_thread(channel)
    discord.archive(thread)

    call.post(thread, "anybody here?")

    assert not discord.channel(thread).archived


def test_what_stands_in_an_archived_thread_stays_until_it_is_opened(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    thread = discord.add_thread(channel)
    path = f"/channels/{thread}/messages/{call.post(thread, 'one')['id']}"
    discord.archive(thread)

    assert answer_of(call("DELETE", path)) == (400, 50083)
    assert answer_of(call("PATCH", path, {"content": "x"})) == (400, 50083)
    assert call("PATCH", f"/channels/{thread}", {"archived": False}).status_code == 200
    assert call("DELETE", path).status_code == 204


def test_nothing_is_said_in_a_locked_thread(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    thread = discord.add_thread(channel)
    discord.lock(thread)
    body = {"content": "x"}

    assert answer_of(call("POST", f"/channels/{thread}/messages", body)) == (400, 160005)
    assert answer_of(call("POST", f"{call.webhook(channel)}?thread_id={thread}", body)) == (
        400,
        160005,
    )


def test_a_thread_has_its_parent_s_permissions(
    discord: DiscordDouble, call: Caller, channel: str
) -> None:
    thread = discord.add_thread(channel)
    discord.revoke(channel, "SEND_MESSAGES")
    call.post(thread, "still heard")
    discord.revoke(channel, "SEND_MESSAGES_IN_THREADS")

    response = call("POST", f"/channels/{thread}/messages", {"content": "x"})

    assert answer_of(response) == (403, 50013)
