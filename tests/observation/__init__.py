"""Which files commands read."""
