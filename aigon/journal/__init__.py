"""The journal: typed events, the state that they add up to, and the files for people that are made from them.

events: what happens in a run; sinks: what receives them; replay: events as JSON, and journals read back
state: the fold of the events; attempt, attempts: what each iteration tried; history: all runs of a feature
records: the folder of a feature in aigon's home; decisions: of people
state_file, state_document: `.aigon/loop-state-*.json`, written and read; best: which assessment is better
memory, steps: what was tried, for agents and for people; account: a feature for reports
spending: what turns cost
"""
