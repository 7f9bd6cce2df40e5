"""Guards: each is a function of the limits, the state after the latest assessment and a probe of the world.

A guard returns the outcome with which the run ends, or None. The exit code of the outcome decides which guard goes
first. `resources` stops for disk and memory (7), `availability` for an agent or judge that cannot work (6), `spending`
for time and money (5), `progress` for failures, repetition and the number of iterations (3).
"""
