"""Features built while their owner is away: from watched folders and from the backlog, each in its own loop.

`loops` runs the processes, as an arena does; `folders` finds task files and makes features of them; `due` says which of
them are to be built, and `watch` builds them. `backlog` lists what there is to do, and works through it.
"""
