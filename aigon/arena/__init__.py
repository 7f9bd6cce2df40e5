"""The arena: several loops on one feature, side by side, each a process of its own.

entry         worktrees for all, then the loops
arena         start the loops, listen to them, pass on what asks for the end
entrant       one candidate: the command line of its loop, the process, and what it sends
lane          pure: what a loop has done, how it ended, how many run at a time, one exit code for all
"""
