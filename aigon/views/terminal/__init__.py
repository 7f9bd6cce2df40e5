"""Runs and arenas while they happen.

events what happened, in words;  lines  a line per event or action;  arena  NDJSON and the summary
live   the live view: what has a terminal to itself;  scene  what it shows;  frame  how that is drawn
"""
