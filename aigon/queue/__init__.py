"""Features built while their owner is away: from watched folders and from the backlog, each in its own loop.

`folders` finds task files and makes features of them; `tasks` says which of them are to be built, and runs their loops
as an arena does; `watch` builds them. `backlog` lists what there is to do, and works through it.
"""
