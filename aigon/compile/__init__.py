"""`aigon spec-compile`: propose a command for each criterion that has none.

`compile` is the whole of it: it proposes, runs once what is known only to look, and writes. `proposals` are made by
plain rules, `model` asks a judge's model for better ones from what `surroundings` found, `safety` says which commands
only look, and `compilation` is what came of it, as text and as data.
"""
