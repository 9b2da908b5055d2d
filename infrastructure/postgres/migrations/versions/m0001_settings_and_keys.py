"""Settings, models, endpoints and saved keys."""

from datetime import datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.schema import CreateSequence, DropSequence

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SEQUENCES = ("provider_key_ids", "endpoint_ids")
TABLES = (
    "models",
    "owner_settings",
    "saved_providers",
    "endpoints",
    "provider_keys",
    "key_state",
)
NO_PAIRS = sa.text("'{}'::jsonb")
NO_ITEMS = sa.text("'[]'::jsonb")
ZERO = sa.text("0")


def upgrade() -> None:
    """Make the tables."""
    for name in SEQUENCES:
        op.execute(CreateSequence(sa.Sequence(name, data_type=sa.BigInteger)))
    _create_models()
    _create_owner_settings()
    _create_saved_providers()
    _create_endpoints()
    _create_provider_keys()
    _create_key_state()


def downgrade() -> None:
    """Drop the tables, and all settings and keys with them."""
    for name in reversed(TABLES):
        op.drop_table(name)
    for name in SEQUENCES:
        op.execute(DropSequence(sa.Sequence(name)))


def _create_models() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("capabilities", JSONB, nullable=False),
        sa.Column("window_tokens", sa.BigInteger),
        sa.Column("max_output_tokens", sa.BigInteger),
        sa.Column("price_in_per_mtok", sa.Double),
        sa.Column("price_out_per_mtok", sa.Double),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
    )
    op.create_index(op.f("ix_models_name"), "models", ["name"])


def _create_owner_settings() -> None:
    op.create_table(
        "owner_settings",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False, server_default=ZERO),
        sa.Column("primary_ref", JSONB),
        sa.Column("chain", JSONB, nullable=False, server_default=NO_ITEMS),
        sa.Column("randomizer", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("member_keys_only", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("content_filter", sa.Text, nullable=False, server_default="next"),
        sa.Column("sampling", JSONB, nullable=False, server_default=NO_PAIRS),
        sa.Column("cooldown", JSONB, nullable=False, server_default=NO_PAIRS),
        sa.Column("quota", JSONB, nullable=False, server_default=NO_PAIRS),
        sa.Column("persona_models", JSONB, nullable=False, server_default=NO_ITEMS),
        sa.Column("channel_models", JSONB, nullable=False, server_default=NO_ITEMS),
        sa.Column("channel_cooldowns", JSONB, nullable=False, server_default=NO_ITEMS),
        sa.Column("server_fallback", sa.Boolean, nullable=False, server_default=sa.true()),
        _instant_now("changed_at"),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_owner_settings")),
    )


def _create_saved_providers() -> None:
    op.create_table(
        "saved_providers",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("sampling", JSONB, nullable=False, server_default=NO_PAIRS),
        sa.Column("model_id", sa.Text),
        sa.Column("endpoint_id", sa.BigInteger),
        sa.Column("text_enabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("randomizer", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("owner", "provider", name=op.f("pk_saved_providers")),
    )


def _create_endpoints() -> None:
    op.create_table(
        "endpoints",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("connection_id", sa.BigInteger),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("base_url", sa.Text, nullable=False),
        sa.Column("model_name", sa.Text),
        sa.Column("model_id", sa.Text),
        sa.Column("requires_auth", sa.Boolean, nullable=False),
        sa.Column("trusted", sa.Boolean, nullable=False),
        sa.Column("num_ctx", sa.BigInteger),
        sa.Column("capabilities", JSONB, nullable=False),
        sa.PrimaryKeyConstraint("owner", "id", name=op.f("pk_endpoints")),
    )


def _create_provider_keys() -> None:
    op.create_table(
        "provider_keys",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("key_version", sa.Integer, nullable=False),
        sa.Column("hint", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        _instant_now("created_at"),
        sa.PrimaryKeyConstraint("owner", "provider", "id", name=op.f("pk_provider_keys")),
    )
    op.create_index(
        op.f("uq_provider_keys_fingerprint"),
        "provider_keys",
        ["owner", "provider", "fingerprint"],
        unique=True,
    )


def _create_key_state() -> None:
    key = ["owner", "provider", "key_id"]
    op.create_table(
        "key_state",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("key_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("is_main", sa.Boolean, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("usage_count", sa.BigInteger, nullable=False, server_default=ZERO),
        sa.Column("in_flight", sa.Integer, nullable=False, server_default=ZERO),
        _instant("last_leased_at"),
        sa.Column("error_count", sa.BigInteger, nullable=False, server_default=ZERO),
        _instant("rests_until"),
        _instant("rest_set_at"),
        sa.Column("rest_model", sa.Text),
        _instant("probe_until"),
        sa.Column("model_rests", JSONB, nullable=False, server_default=NO_PAIRS),
        sa.Column("disabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("last_error_class", sa.Text),
        sa.Column("last_error_text", sa.Text),
        _instant_now("secret_since"),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_key_state")),
        sa.ForeignKeyConstraint(
            key,
            ["provider_keys.owner", "provider_keys.provider", "provider_keys.id"],
            name=op.f("fk_key_state_owner_provider_key_id"),
            ondelete="CASCADE",
        ),
        postgresql_with={"fillfactor": 50},
    )
    op.create_index(
        op.f("uq_key_state_main"),
        "key_state",
        ["owner", "provider"],
        unique=True,
        postgresql_where=sa.text("is_main"),
    )


def _instant(name: str) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True))


def _instant_now(name: str) -> sa.Column[datetime]:
    kind = sa.DateTime(timezone=True)
    return sa.Column(name, kind, nullable=False, server_default=sa.func.now())
