"""The tools of an installation: `registry` first, then `tool` and `typed_function`."""
