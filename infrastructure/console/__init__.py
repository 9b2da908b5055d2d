"""Adapters for people at a terminal."""
