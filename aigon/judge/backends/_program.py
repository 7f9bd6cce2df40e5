"""A program that is asked: the question on standard input, from a file that is gone afterwards."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.model.judging import JudgeSettings
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets import redaction
from aigon.text.fingerprints import plain

_WORDS = 300


def asked(argv: Sequence[str], settings: JudgeSettings, question: str, *, cwd: Path | None = None) -> ProgramExit:
    """What is left of the program; it is ended with its group when its time is up. Raises OSError for a full disk.

    Without `cwd` it runs in an empty folder. Credentials are taken out of what it prints: that is written down.
    """
    with tempfile.TemporaryDirectory(prefix="aigon-judge-", ignore_cleanup_errors=True) as folder:
        file, empty = Path(folder, "question"), Path(folder, "empty")
        file.write_bytes(question.encode("utf-8", "replace"))
        empty.mkdir()
        return run.run(_command(argv, settings, file, cwd or empty))


def _command(argv: Sequence[str], settings: JudgeSettings, stdin: Path, cwd: Path) -> run.Command:
    return run.Command(
        argv,
        cwd=cwd,
        env={**settings.env, "PWD": str(cwd)},
        stdin=stdin,
        deadline=settings.timeout,
        merge=False,
        redact=redaction.make_redactor(os.environ, settings.env),
        ladder=run.AT_ONCE,
    )


def failure(exited: ProgramExit, settings: JudgeSettings) -> str:
    """Why the program left no answer; empty when it came to a good end."""
    if exited.timed_out:
        return f"the judge did not answer within {settings.timeout:g} s"
    if exited.exit_code is None:
        return "the judge was stopped" if exited.killed else f"the judge did not start: {exited.start_error}"
    if exited.exit_code == 0:
        return ""
    how = f"exited with {exited.exit_code}" if exited.exit_code > 0 else f"was ended by signal {-exited.exit_code}"
    said = last_line(exited.stderr)
    return f"the judge {how}{f': {said}' if said else ''}"


def last_line(output: bytes) -> str:
    """The last line that says something, as text for a report."""
    lines = plain(output[-8 * _WORDS :].decode("utf-8", "replace")).strip().splitlines()
    return " ".join(lines[-1].split())[:_WORDS] if lines else ""


def place(program: str, settings: JudgeSettings, env: Mapping[str, str]) -> str | None:
    """Where a program is: a path starts at the main checkout, a bare name is looked up. None when it is nowhere."""
    import shutil

    expanded = os.path.expanduser(program)  # noqa: PTH111 - a user that does not exist must not raise
    if "/" not in expanded:
        return shutil.which(expanded, path=env.get("PATH"))
    file = Path(settings.cwd, expanded).absolute()
    return str(file) if file.is_file() else None
