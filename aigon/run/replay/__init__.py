"""Look at a run that is over: verify its records, try its checks again, make a recording of it.

verification  whether journal, state file, commits, trailers and ticked boxes agree
recheck       the checks once more on each iteration commit
recording     a recording that the replay agent plays
"""
