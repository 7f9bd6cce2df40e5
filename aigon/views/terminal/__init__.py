"""Runs and arenas while they happen.

events what happened, in words;  lines  a line per event;  arena  NDJSON of an arena, and its summary
live   the live view: what has a terminal to itself;  scene  what it shows;  frame  how that is drawn,
       on a page
"""
