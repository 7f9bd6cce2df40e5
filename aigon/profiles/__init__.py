"""Profiles: what kind of project this is, and which commands can fill each role. Pure; the data is in `profiles/`.

A `profile` takes roles from each `ecosystem`; `conditions` say what fits, `resolution` makes the checks of one project
of it, with what its configuration changes. `protection` says what an agent may not change.
"""
