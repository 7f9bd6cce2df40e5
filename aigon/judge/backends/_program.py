"""Run a program as a judge, and parse the one JSON object of its reply."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aigon.agents.adapters._program import describe_exit
from aigon.files.temporary import TemporaryFolder
from aigon.judge.reply import parse_json
from aigon.model.judging import JudgeSettings
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets import redaction
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

_FENCE = compile_re(r"^ {0,3}(`{3,})[ \t]*(\w*)[ \t]*$", re.M)
_BEGINNINGS = 1000
"""Places in a text where an object may begin; a text with more is taken for one that holds an object."""
_WORDS = 300


def parse_whole_object(text: str) -> dict[str, object]:
    """Return the object that `text` is, but for white space around it. Raises ValueError, with a text for people."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def parse_answered_object(text: str) -> dict[str, object]:
    """Return the object that a model answered with: the whole text, or the one block fenced as JSON in it.

    Raises ValueError if there is none, or another object that could have been meant.
    """
    text = text.replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        return parse_whole_object(text)
    blocks = [(begin, end) for begin, end in _find_blocks(text) if begin[2].lower() in ("", "json")]
    if len(blocks) != 1:
        raise ValueError(f"it has {len(blocks) or 'no'} JSON block{'s' if len(blocks) > 1 else ''} where one is due")
    begin, end = blocks[0]
    if _holds_an_object(text[: begin.start()]) or _holds_an_object(text[end.end() :]):
        raise ValueError("it has more than one JSON object")
    return parse_whole_object(text[begin.end() : end.start()])


def _find_blocks(text: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Yield the fences around each block: one that closes has no word and as many backticks as the one that opened."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif not fence[2] and len(fence[1]) >= len(opened[1]):
            yield opened, fence
            opened = None


def _holds_an_object(text: str) -> bool:
    """Return whether some JSON object with a key begins anywhere."""
    starts = [found.start() for found in re.finditer(r'\{\s*"', text)]
    if len(starts) > _BEGINNINGS:
        return True
    for start in starts:
        try:
            json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return True
    return False


def ask_program(argv: Sequence[str], settings: JudgeSettings, question: str, *, cwd: Path | None = None) -> ProgramExit:
    """Return what is left of the program, which is ended with its group when its time is up. Raises OSError.

    Without `cwd` it runs in an empty folder. Credentials are taken out of what it prints: that is written down.
    """
    with TemporaryFolder("judge") as folder:
        file, empty = folder / "question", folder / "empty"
        file.write_bytes(question.encode("utf-8", "replace"))
        empty.mkdir()
        place = cwd or empty
        return run.run(
            run.Command(
                argv,
                cwd=place,
                env={**settings.env, "PWD": str(place)},
                stdin=file,
                deadline=settings.timeout,
                merge=False,
                redact=redaction.make_redactor(os.environ, settings.env),
                ladder=run.AT_ONCE,
            )
        )


def describe_failure(exited: ProgramExit, settings: JudgeSettings) -> str:
    """Return why the program left no answer; empty if it came to a good end."""
    if exited.timed_out:
        return f"the judge did not answer within {settings.timeout:g} s"
    if exited.exit_code is None:
        return "the judge was stopped" if exited.killed else f"the judge did not start: {exited.start_error}"
    if exited.exit_code == 0:
        return ""
    how = describe_exit(exited.exit_code).replace("ended by", "was ended by")
    lines = strip_escapes(exited.stderr[-8 * _WORDS :].decode("utf-8", "replace")).strip().splitlines()
    said = " ".join(lines[-1].split())[:_WORDS] if lines else ""
    return f"the judge {how}{f': {said}' if said else ''}"
