"""The outside: settings, the one container, the facade and the command line."""
