"""Work on a spec before anybody builds it: propose commands, check it, and draft it.

`compile` is the whole of it: it proposes, runs once what is known only to look, and writes, also what others proposed.
`proposals` are made by plain rules, `model` asks a judge's model for better ones from what it finds in the project,
`safety` says which commands only look, and `compilation` is what came of it, as text and as data. `review` checks a
spec without a model, and `drafting` has a model write what is missing.
"""
