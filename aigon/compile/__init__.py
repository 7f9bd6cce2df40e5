"""`aigon spec-compile`: propose a command for each criterion that has none."""
