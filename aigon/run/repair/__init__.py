"""`aigon doctor --repair`: rebuild damaged records from what is intact."""
