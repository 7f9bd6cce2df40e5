"""The command line: lazy verbs, one error handler, exit codes.

`--version` and `--help` are answered before anything heavy is imported: start-up time is a feature.
"""

import os
import sys

PROGRAM = "aigon"
COMPLETE_VARIABLE = "_AIGON_COMPLETE"
"""Set by a shell that wants completions."""

SECTIONS = {
    "Start": {
        "init": ("setup", "Set up aigon in this repository."),
        "demo": ("setup", "See it work in a minute, in a temporary repository."),
        "doctor": ("setup", "Show which agents can work here, and what is missing."),
    },
    "Specify": {
        "feature-create": ("create", "Write a new feature spec into the inbox."),
        "spec-draft": ("create", "Have a model draft what a spec lacks."),
        "spec-check": ("spec", "Find problems in a spec, without a model."),
        "spec-show": ("spec", "List a spec's criteria and how each is decided."),
        "spec-compile": ("spec", "Propose a command that decides each criterion."),
        "feature-prove": ("prove", "Have an agent write tests before the work."),
        "feature-prioritise": ("stages", "Give a feature its ID and move it to the backlog."),
    },
    "Work": {
        "feature-setup": ("stages", "Create a feature's branch, or worktrees for agents."),
        "feature-implement": ("implement", "Have an agent build a feature until it is proven."),
        "arena": ("arena", "Have several agents build a feature side by side."),
        "fleet": ("arena", "Build many features on many machines."),
        "watch": ("queue", "Build the task files of a folder as they are committed."),
        "run": ("run", "Work through tasks: start, done, skip, convert, ..."),
        "stop": ("queue", "Stop a running loop after its current iteration."),
    },
    "Look": {
        "feature-status": ("look", "Show the state of each feature."),
        "logs": ("replay", "Follow what an agent does, or print what it did."),
        "tasks": ("look", "List a feature's criteria as tasks."),
        "replay": ("replay", "Play back a run, verify its records, or export it."),
        "board": ("look", "Show all features by stage, with running loops."),
        "stats": ("look", "Count over all runs: proven, iterations, cost."),
        "ui": ("serve", "Watch and control runs in a browser."),
        "report": ("look", "Write a page about a feature: evidence and cost."),
        "feature-validate": ("look", "Run checks and criteria once, without an agent."),
    },
    "Decide": {
        "feature-done": ("stages", "Merge a proven feature into its base branch."),
        "approve": ("decide", "Decide as a person that criteria pass."),
        "approvals": ("decide", "List what waits for your decision, and decide."),
        "reject": ("decide", "Decide as a person that criteria fail, and why."),
        "feature-eval": ("arena", "Compare the agents of an arena on the same evidence."),
        "cancel": ("stages", "Cancel a feature. Nothing is deleted."),
        "reopen": ("stages", "Reopen a feature that is cancelled or done."),
    },
    "Clean up": {
        "worktrees": ("tidy", "List the worktrees that aigon made."),
        "records": ("tidy", "Push a run's records to the remote, or fetch them."),
        "cleanup": ("tidy", "Remove a feature's worktrees if nothing is lost."),
        "parked": ("tidy", "List what was saved aside, or restore it."),
    },
    "Set up": {
        "config": ("config", "Show every setting and where it comes from."),
        "completion": ("config", "Set up Tab completion in bash, zsh or fish."),
        "install-commands": ("setup", "Give agents commands such as /feature-implement."),
        "mcp": ("serve", "Let agents and editors create and start features."),
        "judge-eval": ("config", "Measure a judge's accuracy on labelled changes."),
    },
}
"""What a person does, and for each verb its module in `aigon.commands` and its line in the help."""

VERBS = {verb: about for verbs in SECTIONS.values() for verb, about in verbs.items()}

ALIASES = {"feature-prioritize": "feature-prioritise"}
"""Other spellings of a verb. They work and are not listed."""


ABOUT = (
    "Run a coding agent in a loop until every acceptance criterion of a feature is proven.",
    "aigon runs your project's own checks after every turn, ticks exactly the criteria they prove, commits, and tells "
    "the agent what still fails. What the agent says never counts as evidence.",
    "New here? Try `aigon demo`, then `aigon init` in your repository.",
)
WIDEST = 80
"""Columns of the help at most."""


def help_text() -> str:
    """Return what `aigon --help` prints, as wide as the terminal."""
    try:  # as `shutil.get_terminal_size` does, which is not imported yet
        width = min(max(40, int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns), WIDEST)
    except (ValueError, OSError):
        width = WIDEST
    about = "\n\n".join(_fill(paragraph, "  ", width) for paragraph in ABOUT)
    sections = "\n".join(_section(title, {verb: line for verb, (_, line) in verbs.items()}, width)
                         for title, verbs in SECTIONS.items())  # fmt: skip
    options = {
        "COMMAND --help": "Show the help of a command (or: aigon help COMMAND).",
        "--version": "Show the version.",
    }
    return f"Usage: aigon COMMAND [OPTIONS]\n\n{about}\n\n{sections}\n{_section('Help', options, width)}"


def _section(title: str, rows: dict[str, str], width: int) -> str:
    column = max(map(len, VERBS)) + 4
    lines = (_fill(text, f"  {name}".ljust(column), width) for name, text in rows.items())
    return f"{title}:\n{chr(10).join(lines)}\n"


def _fill(text: str, head: str, width: int) -> str:
    """Return `head` and `text` in lines of at most `width` columns. `textwrap` would take longer to import."""
    lines = [head]
    for word in text.split():
        space = "" if lines[-1].endswith(" ") else " "
        if len(lines[-1]) + len(space) + len(word) > width:
            lines.append(" " * len(head))
            space = ""
        lines[-1] += space + word
    return "\n".join(lines)


def _open_streams() -> None:
    """Open what is closed of the standard streams: the next file would take its number, and get what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def discard_output() -> None:
    """Write what standard output still holds, or comes later, to nowhere: the end of the interpreter would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _print(text: str) -> None:
    try:
        print(text, end="", flush=True)
    except OSError:  # who reads has had enough, or the disk is full
        discard_output()
        sys.exit(1)


def main() -> None:
    """The entry point of the `aigon` script."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_streams()
    if COMPLETE_VARIABLE in os.environ:
        from aigon.commands.config import complete

        complete()
        return
    match sys.argv[1:]:
        case ["--version"]:
            from aigon import __version__

            _print(f"aigon {__version__}\n")
        case [] | ["--help"] | ["-h"] | ["help"]:
            _print(help_text())
        case arguments:
            import gc
            import signal

            gc.set_threshold(100_000)  # a start makes objects that stay: looking for cycles takes a tenth of it
            from aigon.commands.root import run

            code = run([*arguments[1:], "--help"] if arguments[0] == "help" else arguments)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is over and said: a late Ctrl+C makes no crash of it
            gc.freeze()  # nor does the end look for cycles in what goes with the process
            sys.exit(code)
