"""An arena as lines, as JSON and as a live view."""
