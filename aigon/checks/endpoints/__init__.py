"""The check `endpoints`: what a server is asked, what it has to answer, and the program that asks.

`check` makes a `plan` of the configuration. `__main__` is the program: `session` starts the `server`, sends the
`requests` (each an `exchange`), and compares every `answer`, with `schemas` if that is asked for.
"""
