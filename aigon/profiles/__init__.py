"""Profiles: what kind of project this is, and which commands can stand for each role."""
