"""Text: pure functions without any access to the world.

amounts: durations, times, sizes, money and counts as people read them; documents: strict YAML, TOML, JSON and INI
quoting: foreign text made safe to show; fingerprints: stable names for errors
globs: patterns of paths; shell: command lines, read far enough to see what they start
"""
