"""Processes: run to their exit, captured, bounded in time, and none left behind.

run.py, children.py, server.py   a program that is waited for, several side by side, one that stays
start.py, spawner.py             a program in a session of its own, also a short one whose output is wanted
capture.py                       output: head and tail, redacted, in a log
stop.py                          what asks a run to end: signals, stop files, requests
orphans.py, watchdog.py          nothing survives: sweep, leftovers; what ends an agent if aigon is killed
running.py                       notes about what runs, and whether a loop still does
meter.py, capacity.py            what programs use, and what the machine has left
"""
