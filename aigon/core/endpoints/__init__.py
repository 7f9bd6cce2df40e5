"""Endpoints: what is asked of a server, what its answers have to be, and what came of it. Values and comparisons."""
