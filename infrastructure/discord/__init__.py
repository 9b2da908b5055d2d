"""Discord: its REST interface, and the sink that speaks there."""
