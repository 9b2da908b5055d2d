"""Runs the migrations on the connection that `migrate` hands over; Alembic loads this file."""

from alembic import context

from turnkeeper.infrastructure.postgres.metadata import metadata

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
    on_version_apply=attributes.get("on_version_apply"),
)
with context.begin_transaction():
    context.run_migrations()
