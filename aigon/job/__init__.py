"""The job: what a run is about and where it works, decided before any agent starts.

`job` says what is built and in which seat, `options` what a person asked for and the limits that follow, `escalation`
who works next. `world` is the frozen context with its attendants, `assessment` and `results` what was found on one tree
and what proven means, `ledger` what the loops of an arena spend. `branch`, `bookkeeping` and `spec_locations` are about
checkouts and specs.
"""
