"""Text: pure functions without any access to the world.

amounts: durations, times, sizes, money and counts as people read them; quoting: foreign text made safe to show, and
stable names for errors; documents: our own YAML, strictly; untrusted: YAML and JSON of strangers;
patterns: expressions, and globs of paths; shell: command lines, read far enough to see what they start
"""
