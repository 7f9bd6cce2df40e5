"""Hooks and notifications: programs of the project that are told what happens in a run."""
