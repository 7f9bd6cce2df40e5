"""The built-in agent: a program of its own, started by `aigon.agents.adapters.api`. It alone asks a model.

It runs as a child process of the loop like every other agent, so that deadlines, Ctrl+C and sweeps are the same for it:
prompt on standard input, JSON records on standard output (`settings.py`), everything else by command line.
"""
