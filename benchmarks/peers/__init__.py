"""What other libraries take for the same, each in an environment of its own."""
