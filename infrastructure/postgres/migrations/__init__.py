"""The migrations of the schema: `env` runs them, `versions` has one file for each."""
