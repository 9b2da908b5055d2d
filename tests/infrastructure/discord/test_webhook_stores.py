"""Webhooks in memory and in Postgres."""

import pytest
from contracts.webhook_store import ONE, OWNER, WebhookStoreContract
from sqlalchemy import Engine, text

from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.resealer import PostgresResealer
from turnkeeper.infrastructure.postgres.webhook_store import PostgresWebhookStore
from turnkeeper.infrastructure.vault import AesGcmVault


class TestMemoryWebhookStore(WebhookStoreContract):
    @pytest.fixture
    def store(self) -> WebhookStore:
        return MemoryWebhookStore()


@pytest.mark.postgres
class TestPostgresWebhookStore(WebhookStoreContract):
    @pytest.fixture
    def store(self, database: Engine, vault: AesGcmVault) -> WebhookStore:
        return PostgresWebhookStore(database, vault=vault)

    def test_the_token_is_not_to_be_read_in_the_database(
        self, store: WebhookStore, database: Engine
    ) -> None:
        store.save(OWNER, ONE)

        with connected(database) as connection:
            rows = connection.execute(text("SELECT * FROM discord_webhooks")).all()
        assert len(rows) == 1
        assert ONE.token.reveal().encode() not in repr(rows).encode() + bytes(rows[0].sealed)

    def test_a_token_opens_only_for_its_own_webhook(
        self, store: WebhookStore, database: Engine
    ) -> None:
        store.save(OWNER, ONE)
        with connected(database) as connection:
            connection.execute(text("UPDATE discord_webhooks SET webhook_id = '12'"))

        with pytest.raises(VaultError):
            store.load(OWNER, "7")


@pytest.mark.postgres
def test_a_token_outlives_a_change_of_the_master_secret(database: Engine) -> None:
    old, new = Secret("the old secret of this test"), Secret("the new secret of this test")
    before = AesGcmVault(MasterSecrets(current=1, by_version=((1, old),)))
    between = AesGcmVault(MasterSecrets(current=2, by_version=((1, old), (2, new))))
    after = AesGcmVault(MasterSecrets(current=2, by_version=((2, new),)))
    PostgresWebhookStore(database, vault=before).save(OWNER, ONE)

    for _ in PostgresResealer(database, vault=between).reseal():
        pass

    assert PostgresWebhookStore(database, vault=after).load(OWNER, "7") == ONE
