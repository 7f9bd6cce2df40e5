"""The command line: lazy verbs, one error handler, exit codes.

`--version` and `--help` are answered before anything heavy is imported: start-up time is a feature.
"""

import sys

VERBS = {
    "demo": ("demo", "See it work in a minute, in a temporary repository."),
    "init": ("init", "Set up aigon in this repository."),
    "doctor": ("doctor", "Say which agents can work here, and what is missing."),
    "install-commands": ("install_commands", "Write aigon's commands where agents read theirs."),
    "feature-create": ("feature.create", "Write a new feature spec into the inbox."),
    "feature-prioritise": ("feature.prioritise", "Give a feature its ID and move it to the backlog."),
    "feature-setup": ("feature.setup", "Start a feature: its branch, or a worktree for each agent."),
    "feature-implement": ("feature.implement", "Let an agent work until every criterion is proven (--loop)."),
    "arena": ("arena", "Let several agents do the same feature side by side."),
    "feature-validate": ("feature.validate", "Run checks and criteria once: no agent, no writes."),
    "stop": ("stop", "Ask a running loop to finish its iteration and stop."),
    "feature-status": ("feature.status", "Say where the features stand."),
    "board": ("board", "Show all features by stage: what is proven, and who works on it."),
    "feature-eval": ("feature.evaluate", "Compare what the agents of an arena made, on the same evidence."),
    "report": ("report", "Write one page on a feature: what is proven, by what, at what cost."),
    "feature-done": ("feature.done", "Merge a proven feature into its base branch."),
    "cancel": ("cancel", "Put a feature away that will not be built."),
    "reopen": ("reopen", "Take up a feature again that is cancelled or done."),
    "worktrees": ("worktrees", "List the worktrees that aigon made."),
    "cleanup": ("cleanup", "Remove a feature's worktrees, where nothing is lost by it."),
    "config": ("config", "Show the configuration, and where each value comes from."),
    "spec-show": ("spec_show", "List a spec's criteria and how each is decided."),
    "spec-compile": ("spec_compile", "Propose how open criteria can be decided by running something."),
    "judge-eval": ("judge_eval", "Measure a judge's accuracy on labelled changes."),
    "approve": ("approve", "Decide as a person that criteria are met."),
    "reject": ("reject", "Decide as a person that criteria are not met, and why."),
    "parked": ("parked", "List what was parked, or bring it back."),
}
"""Every verb: its module in `aigon.commands`, and its line in the help."""

ALIASES = {"feature-prioritize": "feature-prioritise"}
"""Other spellings of a verb. They work and are not listed."""


ABOUT = """\
Usage: aigon COMMAND [OPTIONS]

  Run a coding agent in a loop until every acceptance criterion of a feature is proven.

  aigon runs your project's own checks after every turn, ticks exactly the criteria they prove, commits, and tells
  the agent what is still wrong. What the agent says is never evidence.

  Start with `aigon demo`, then `aigon init` in your repository.
"""


def help_text() -> str:
    """What `aigon --help` prints."""
    width = max(map(len, VERBS)) + 2
    rows = "".join(f"  {verb:<{width}}{line}\n" for verb, (_, line) in VERBS.items())
    about_help = "Show this, or a command's own help (also: aigon help COMMAND)."
    options = f"  {'--version':<{width}}Show the version.\n  {'-h, --help':<{width}}{about_help}\n"
    return f"{ABOUT}\nCommands:\n{rows}\nOptions:\n{options}"


def main() -> None:
    """The entry point of the `aigon` script."""
    match sys.argv[1:]:
        case ["--version"]:
            from aigon import __version__

            print(f"aigon {__version__}")
        case [] | ["--help"] | ["-h"] | ["help"]:
            print(help_text(), end="")
        case arguments:
            import signal

            from aigon.commands.root import run

            code = run([*arguments[1:], "--help"] if arguments[0] == "help" else arguments)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is over and said: a late Ctrl+C makes no crash of it
            sys.exit(code)
