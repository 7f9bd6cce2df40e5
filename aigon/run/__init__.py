"""A run around its loop: prepare, open, resume, recover, repair."""
