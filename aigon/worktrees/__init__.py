"""Worktrees: made, readied, listed and removed, and nothing in them lost."""
