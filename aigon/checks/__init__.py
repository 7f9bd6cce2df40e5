"""Checks: which commands validate a project, how each is run, and what its output and reports show.

`project_checks` finds them in a `project`; `schedule` runs them side by side, `execution` runs one and makes a finding
of its `reports` and their `evidence`; `reuse` remembers passes and lends dependencies to rooms. `wording`
binds criteria to checks. One parser for each tool is in `parsers`; the check that asks a server is in `endpoints`.
"""
