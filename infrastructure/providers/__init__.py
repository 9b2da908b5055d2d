"""One file a provider dialect; `registry` finds them by name."""
