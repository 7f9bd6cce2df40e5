"""Measure what new tests are worth, and what comments hide from checkers, on altered copies of the tree, in a room."""
