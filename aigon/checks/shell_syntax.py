"""A shell's own opinion on a command line."""

from collections.abc import Mapping
from pathlib import Path

from aigon.process.run import Command, run
from aigon.text.fingerprints import strip_escapes


def syntax_error(line: str, root: Path, env: Mapping[str, str]) -> str:
    """What bash says against `line` without running it; empty where it can be read."""
    done = run(Command(("bash", "-n", "-c", line), root, env, deadline=10.0))
    if done.exit_code == 0:
        return ""
    said = strip_escapes(done.stdout.decode(errors="replace")).strip().splitlines()
    return said[0][:200] if said else done.start_error or "it cannot be read"
