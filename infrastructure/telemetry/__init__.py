"""Listeners that show operators what turns do: log lines, spans and metrics."""
