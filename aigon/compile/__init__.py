"""`aigon spec-compile`: propose a command for each criterion that has none.

`compile` is the whole of it. `proposals` are made by plain rules, `model` asks a judge's model for better ones from
what `surroundings` found; `safety` says which commands only look, `trial` runs those once, and `compilation` is what
came of it, as text and as data.
"""
