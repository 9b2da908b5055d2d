"""Adapters: one file a port, in folders named for their technology."""
