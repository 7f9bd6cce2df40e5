"""The loop: take a snapshot, assess it, prove it, decide, publish, act."""
