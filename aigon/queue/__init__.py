"""Features built while their owner is away: from watched folders and from the backlog, each in its own loop.

`loops` runs the processes, as an arena does; `folders` finds task files and `intake` makes features of them; `watch`
and `start` decide what is next. `convert` makes specs of a table of tasks.
"""
