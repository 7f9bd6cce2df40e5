"""Secrets: the shapes of credentials, and taking them out of everything that is written down."""
