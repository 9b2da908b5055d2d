"""What harms the turnkeepers of a Postgres server, as statements."""

WRITTEN = ("turns", "turn_events", "delivery_intents", "quota_units", "key_state")
"""What cannot be written any more on a full disk."""
DISK_IS_FULL = """
CREATE OR REPLACE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END
$$
"""
FILL_DISK = (
    DISK_IS_FULL,
    *(
        f"CREATE TRIGGER disk_is_full BEFORE INSERT OR UPDATE ON {table}"
        " EXECUTE FUNCTION disk_is_full()"
        for table in WRITTEN
    ),
)
CLEAR_DISK = tuple(f"DROP TRIGGER disk_is_full ON {table}" for table in WRITTEN)
END_TURNKEEPERS = """
SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND starts_with(application_name, 'turnkeeper')
"""
"""End all their connections, wherever their transactions are; it says how many those were.

It waits, for at most 5 s each, until they are gone: one that is just going would still be used."""
