"""The crash test: faults on purpose, on loopback, and how turns came through them."""
