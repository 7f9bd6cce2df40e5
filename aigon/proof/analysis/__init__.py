"""Tools of the proof and its rules: syntax trees, constant folding, assertions, references, altered code, sightings.

A text or a tree in, facts or an altered text out.
"""
