"""The check `endpoints`: what a server is asked, what it has to answer, and the program that asks.

`check` freezes the configuration as a `plan`. `__main__` is the program: `session` starts the `server`, sends the
requests (each an `exchange`), and compares every `answer`, with a schema of the plan if asked to.
"""
