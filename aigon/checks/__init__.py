"""Checks: which commands validate a project, how each is run, and what its output and reports show.

Parsers, one file per tool, are in `parsers`; the check that asks a server is in `endpoints`.
"""
