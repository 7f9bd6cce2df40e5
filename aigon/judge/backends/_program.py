"""Run a program as a judge, and parse the one JSON object of its reply."""

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.model.judging import JudgeSettings
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets import redaction
from aigon.text.fingerprints import strip_escapes

_FENCE = re.compile(r"^ {0,3}(`{3,})[ \t]*(\w*)[ \t]*\n(.*?)^ {0,3}\1`*[ \t]*$", re.M | re.S)

Document = dict[str, object]
_WORDS = 300


def parse_whole_object(text: str) -> Document:
    """Return the object that `text` is, but for white space around it. Raises ValueError, with a text for people."""
    if not text.strip():
        raise ValueError("it is empty")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def parse_answered_object(text: str) -> Document:
    """Return the object that a model answered with: the whole text, or the one block fenced as JSON in it.

    Raises ValueError where there is none, or another object that could have been meant.
    """
    text = text.replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        return parse_whole_object(text)
    blocks = [block for block in _FENCE.finditer(text) if block[2].lower() in ("", "json")]
    if len(blocks) != 1:
        raise ValueError(f"it has {len(blocks) or 'no'} JSON block{'s' if len(blocks) > 1 else ''} where one is due")
    if _holds_an_object(text[: blocks[0].start()]) or _holds_an_object(text[blocks[0].end() :]):
        raise ValueError("it has more than one JSON object")
    return parse_whole_object(blocks[0][3])


def _holds_an_object(text: str) -> bool:
    """Whether some JSON object with a key begins anywhere; a text with a thousand braces is taken for one."""
    starts = [found.start() for found in re.finditer(r'\{\s*"', text)]
    return len(starts) > 1000 or any(_begins(text, start) for start in starts)


def _begins(text: str, start: int) -> bool:
    try:
        json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return True


def _once(pairs: Sequence[tuple[str, object]]) -> Document:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number in JSON")


def ask_program(argv: Sequence[str], settings: JudgeSettings, question: str, *, cwd: Path | None = None) -> ProgramExit:
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


def describe_failure(exited: ProgramExit, settings: JudgeSettings) -> str:
    """Return why the program left no answer; empty if it came to a good end."""
    if exited.timed_out:
        return f"the judge did not answer within {settings.timeout:g} s"
    if exited.exit_code is None:
        return "the judge was stopped" if exited.killed else f"the judge did not start: {exited.start_error}"
    if exited.exit_code == 0:
        return ""
    how = f"exited with {exited.exit_code}" if exited.exit_code > 0 else f"was ended by signal {-exited.exit_code}"
    said = read_last_line(exited.stderr)
    return f"the judge {how}{f': {said}' if said else ''}"


def read_last_line(output: bytes) -> str:
    """Return the last line that says something, as text for a report."""
    lines = strip_escapes(output[-8 * _WORDS :].decode("utf-8", "replace")).strip().splitlines()
    return " ".join(lines[-1].split())[:_WORDS] if lines else ""


def locate_program(program: str, settings: JudgeSettings, env: Mapping[str, str]) -> str | None:
    """Where a program is: a path starts at the main checkout, a bare name is looked up. None when it is nowhere."""
    import shutil

    expanded = os.path.expanduser(program)  # noqa: PTH111 - a user that does not exist must not raise
    if "/" not in expanded:
        return shutil.which(expanded, path=env.get("PATH"))
    file = Path(settings.cwd, expanded).absolute()
    return str(file) if file.is_file() else None
