"""The tables of settings and saved keys.

Each table of a tenant begins its primary key with the owner, written ``server:ID`` or ``user:ID``,
so that the tables can be split by it. All instants are the database's own.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Sequence,
    Table,
    Text,
    false,
    func,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB

from turnkeeper.infrastructure.postgres.metadata import metadata

NO_PAIRS = text("'{}'::jsonb")
NO_ITEMS = text("'[]'::jsonb")
ZERO = text("0")
Json = JSONB(none_as_null=True)
Instant = DateTime(timezone=True)

# Ids that are never given twice, so that an old reference never leads to a new row.
key_ids = Sequence("provider_key_ids", data_type=BigInteger, metadata=metadata)
endpoint_ids = Sequence("endpoint_ids", data_type=BigInteger, metadata=metadata)

models = Table(
    "models",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", Text, nullable=False),
    Column("name", Text, nullable=False, index=True),
    Column("capabilities", Json, nullable=False),
    Column("window_tokens", BigInteger),
    Column("max_output_tokens", BigInteger),
    Column("price_in_per_mtok", Double),
    Column("price_out_per_mtok", Double),
)

token_measures = Table(
    "token_measures",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("factor", Double, nullable=False),
    Column("learnt_at", Instant, nullable=False, server_default=func.now()),
)

# References are {"kind": …, "id": …}; pairs are lists of two, so that they keep their order.
owner_settings = Table(
    "owner_settings",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("version", BigInteger, nullable=False, server_default=ZERO),
    Column("primary_ref", Json),
    Column("chain", Json, nullable=False, server_default=NO_ITEMS),
    Column("randomizer", Boolean, nullable=False, server_default=false()),
    Column("member_keys_only", Boolean, nullable=False, server_default=false()),
    Column("content_filter", Text, nullable=False, server_default="next"),
    Column("sampling", Json, nullable=False, server_default=NO_PAIRS),
    Column("cooldown", Json, nullable=False, server_default=NO_PAIRS),
    Column("quota", Json, nullable=False, server_default=NO_PAIRS),
    Column("persona_models", Json, nullable=False, server_default=NO_ITEMS),
    Column("channel_models", Json, nullable=False, server_default=NO_ITEMS),
    Column("channel_cooldowns", Json, nullable=False, server_default=NO_ITEMS),
    Column("tools_off", Json, nullable=False, server_default=NO_ITEMS),
    Column("server_fallback", Boolean, nullable=False, server_default=true()),
    Column("changed_at", Instant, nullable=False, server_default=func.now()),
)

saved_providers = Table(
    "saved_providers",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("sampling", Json, nullable=False, server_default=NO_PAIRS),
    Column("model_id", Text),
    Column("endpoint_id", BigInteger),
    Column("text_enabled", Boolean, nullable=False, server_default=false()),
    Column("randomizer", Boolean, nullable=False, server_default=false()),
)

endpoints = Table(
    "endpoints",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("connection_id", BigInteger),
    Column("label", Text, nullable=False),
    Column("base_url", Text, nullable=False),
    Column("model_name", Text),
    Column("model_id", Text),
    Column("requires_auth", Boolean, nullable=False),
    Column("trusted", Boolean, nullable=False),
    Column("num_ctx", BigInteger),
    Column("capabilities", Json, nullable=False),
)

provider_keys = Table(
    "provider_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("key_version", Integer, nullable=False),
    Column("hint", Text, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=func.now()),
    # Not in the order of the primary key, which it would be taken for where a pool is large.
    Index("uq_provider_keys_fingerprint", "fingerprint", "owner", "provider", unique=True),
)

# All that the choice of a key needs. Written at each lease and booking: so it is apart from the
# secret, and its pages are filled by half. A lease changes nothing indexed, which keeps it on its
# page and out of the indexes; a success moves its key in the order of the fit ones.
key_state = Table(
    "key_state",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("key_id", BigInteger, primary_key=True, autoincrement=False),
    Column("is_main", Boolean, nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("usage_count", BigInteger, nullable=False, server_default=ZERO),
    Column("in_flight", Integer, nullable=False, server_default=ZERO),
    Column("last_leased_at", Instant),
    Column("error_count", BigInteger, nullable=False, server_default=ZERO),
    Column("rests_until", Instant),
    Column("rest_set_at", Instant),
    Column("rest_model", Text),
    Column("probe_until", Instant),
    Column("model_rests", Json, nullable=False, server_default=NO_PAIRS),
    Column("disabled", Boolean, nullable=False, server_default=false()),
    Column("last_error_class", Text),
    Column("last_error_text", Text),
    Column("secret_since", Instant, nullable=False, server_default=func.now()),
    ForeignKeyConstraint(
        ["owner", "provider", "key_id"],
        ["provider_keys.owner", "provider_keys.provider", "provider_keys.id"],
        ondelete="CASCADE",
    ),
    Index("uq_key_state_main", "owner", "provider", unique=True, postgresql_where=text("is_main")),
    Index(
        "ix_key_state_fit",
        *("owner", "provider", "usage_count", "key_id"),
        postgresql_where=text("enabled AND NOT disabled AND rests_until IS NULL"),
    ),
    Index(
        "ix_key_state_rests",
        *("owner", "provider", "rests_until"),
        postgresql_where=text("enabled AND NOT disabled AND rests_until IS NOT NULL"),
    ),
    postgresql_with={"fillfactor": 50},
)
