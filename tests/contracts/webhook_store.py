"""What every store of webhooks does. Subclass as Test… and give `store`."""

import pytest

from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore

OWNER = Owner.server("1")
OTHER = Owner.server("2")
ONE = Webhook(id="11", channel_id="7", token=Secret("token-one"))
TWO = Webhook(id="22", channel_id="7", token=Secret("token-two"))


class WebhookStoreContract:
    @pytest.fixture
    def store(self) -> WebhookStore:
        raise NotImplementedError

    def test_there_is_none_at_first(self, store: WebhookStore) -> None:
        assert store.load(OWNER, "7") is None
        assert store.find("11") is None

    def test_what_is_saved_is_found_by_channel_and_by_id(self, store: WebhookStore) -> None:
        store.save(OWNER, ONE)

        assert store.load(OWNER, "7") == ONE
        assert store.find("11") == ONE

    def test_owners_have_their_own(self, store: WebhookStore) -> None:
        store.save(OWNER, ONE)
        store.save(OTHER, TWO)

        assert (store.load(OWNER, "7"), store.load(OTHER, "7")) == (ONE, TWO)

    def test_a_later_one_takes_the_place_of_an_earlier_one(self, store: WebhookStore) -> None:
        store.save(OWNER, ONE)
        store.save(OWNER, TWO)

        assert (store.load(OWNER, "7"), store.find("11")) == (TWO, None)

    def test_what_is_dropped_is_gone(self, store: WebhookStore) -> None:
        store.save(OWNER, ONE)

        store.drop("11")
        store.drop("11")

        assert (store.load(OWNER, "7"), store.find("11")) == (None, None)

    def test_dropping_one_leaves_the_one_in_its_place(self, store: WebhookStore) -> None:
        store.save(OWNER, ONE)
        store.save(OWNER, TWO)

        store.drop("11")

        assert store.load(OWNER, "7") == TWO
