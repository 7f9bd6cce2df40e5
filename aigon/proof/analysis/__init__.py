"""Tools of the integrity rules: languages, syntax trees, constant folding, test cases, manifests, sightings.

Pure: a text or a tree in, facts out. Python is read by its syntax tree, every other language by patterns.
"""
