"""Features built while their owner is away: from watched folders and from the backlog, each in its own loop.

`loops` runs the processes, as an arena does; `folders` finds task files and makes features of them; `backlog` lists
what there is to do; `watch` and `start` decide what is next.
"""
