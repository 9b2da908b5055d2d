"""The crash test: faults on purpose, on loopback, and how turns came through them.

Reading order: `provider_faults`, `store_faults` and `discord_faults` (what is met), `watched` and
`observed` (what is seen of it), `score` (what is made of that), `plan` and `crash_test` (what is
run, and how), `report` (how it is said). `ground`, `street`, `town` and `breakable_store` are what
it is run on; `own_ground` is that with somebody's own models.
"""
