"""A run as lines and as a live view."""
