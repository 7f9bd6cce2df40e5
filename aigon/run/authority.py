"""Who may decide: a person, never an agent that found the command."""

import os
import sys

from aigon.errors import AigonError, Exit


def require_person(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) inside a loop, and without a terminal unless `yes` was given outside of one."""
    require_outside_a_run(verb)
    require_terminal(verb, yes)


def require_outside_a_run(verb: str) -> None:
    """Raise AigonError (exit 4) inside a loop, whatever was said."""
    if os.environ.get("AIGON_RUN") or _below_a_loop():
        raise _refused(f"{verb} is for a person, and this is inside a run of the loop", "Run it in your own shell")


def require_terminal(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) if nobody can be asked and `yes` was not given."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise _refused(f"{verb} is for a person, and nobody can be asked here", "Run it in a terminal, or add --yes")


def _refused(what: str, hint: str) -> AigonError:
    return AigonError(what, hint=hint, code=Exit.NEEDS_HUMAN)


def _below_a_loop() -> bool:
    """Whether one of this process's ancestors is an aigon that runs agents: it holds a feature's lock."""
    import psutil

    return any(_runs_a_loop(parent) for parent in psutil.Process().parents())


def _runs_a_loop(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return "feature-implement" in words and any("aigon" in word for word in words)
