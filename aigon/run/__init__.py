"""Around the loop: everything between a command and its first turn, and what else is done once per feature.

`implement` runs a feature. Before it, `seating` finds the checkout, `prepare` and `actors` what is run and by whom,
`choices` what a resumed run continues, `session` opens it with `opening` (a new run) or `resume` (an old one),
`run_world` makes its world and what its agents commit to. `dry_run` and `validate` show without an agent. `setup` sets
up a repository, `feature_stages` creates and sets up features, `decisions` records a person's word, which `invocations`
tells from that of a loop; it also stops runs and ends leftovers. `repair` and `record_repair` fix records, `doctor`
looks at the machine.
"""
