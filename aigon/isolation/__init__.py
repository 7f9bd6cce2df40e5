"""Isolation: what a sandbox grants, and the mechanisms that enforce it for agents and clean rooms."""
