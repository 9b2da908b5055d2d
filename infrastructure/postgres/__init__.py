"""Adapters on Postgres; `tables` is the schema, `engine` the connection."""
