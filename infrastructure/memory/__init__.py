"""Adapters that keep their state in this process; they pass the same contracts as Postgres."""
