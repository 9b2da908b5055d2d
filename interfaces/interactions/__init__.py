"""Discord's interactions: presses of buttons, over HTTP or over a bot's own gateway."""
