"""The command line: lazy verbs, one error handler, exit codes.

`--version` and `--help` are answered before anything heavy is imported: start-up time is a feature.
"""

import sys

VERBS = {
    "demo": ("demo", "See it work in a minute, in a temporary repository."),
    "init": ("init", "Set up aigon in this repository."),
    "feature-create": ("feature_create", "Write a new feature spec into the inbox."),
    "feature-prioritise": ("feature_prioritise", "Give a feature its ID and move it to the backlog."),
    "feature-setup": ("feature_setup", "Start a feature: its branch, its spec in progress."),
    "feature-implement": ("feature_implement", "Let an agent work until every criterion is proven (--loop)."),
    "feature-validate": ("feature_validate", "Run checks and criteria once: no agent, no writes."),
    "feature-status": ("feature_status", "Say where the features stand."),
    "feature-done": ("feature_done", "Merge a proven feature into its base branch."),
    "spec-show": ("spec_show", "List a spec's criteria and how each is decided."),
    "approve": ("approve", "Decide as a person that criteria are met."),
    "reject": ("reject", "Decide as a person that criteria are not met, and why."),
    "parked": ("parked", "List what was parked, or bring it back."),
}
"""Every verb: its module in `aigon.commands`, and its line in the help."""


def main() -> None:
    """The entry point of the `aigon` script."""
    if sys.argv[1:] == ["--version"]:
        from aigon import __version__

        print(f"aigon {__version__}")
        return
    from aigon.commands.root import run

    sys.exit(run(sys.argv[1:]))
