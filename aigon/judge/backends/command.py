"""Any program as a judge: the question as JSON on standard input, the reply as JSON on standard output.

What it gets is the question's `document`; `reply_schema` in it is the JSON Schema of what it has to print. Beside that,
its reply may say what it cost: `"cost_usd": 0.12` and `"usage": {"input": 1200, "output": 300}`.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from aigon.judge.backends._program import Document, ask_program, describe_failure, locate_program, parse_whole_object
from aigon.judge.reply import MALFORMED
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import ProgramExit, Usage

REPLY = 1024 * 1024
"""Bytes of the longest reply that is read: some hundred criteria with ten quotes each."""
_MISSING = 'the judge command needs a program: "judge": {"backend": "command", "command": ["./judge.sh"]}'


def explain_unready(settings: JudgeSettings, env: Mapping[str, str]) -> str:
    """Return what is missing; empty if the program can be run."""
    if not settings.command or not settings.command[0]:
        return _MISSING
    program = settings.command[0]
    found = locate_program(program, settings, env)
    if found is None:
        where = "on PATH" if "/" not in program else f"in {settings.cwd}"
        several = ". A program with arguments is a list" if " " in program else ""
        return f"the judge's program {program} was not found {where}{several}"
    if not os.access(found, os.X_OK):
        return f'{program} is not executable: chmod +x {program}, or name its interpreter: ["bash", "{program}"]'
    return "" if _runs(Path(found)) else f"{program} does not say what runs it. Begin it with a line such as #!/bin/sh"


def _runs(file: Path) -> bool:
    """The kernel runs a text file only if its first line says with what; one that cannot be read, it decides on."""
    try:
        with file.open("rb") as opened:
            head = opened.read(512)
    except OSError:
        return True
    return head.startswith(b"#!") or b"\0" in head


def ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    """One run of the program. A reply that is not exactly one JSON object is none."""
    try:
        if why := explain_unready(settings, settings.env):
            return JudgeAnswer(failure=why, cost=0.0, cost_status="reported", available=False)
        program = locate_program(settings.command[0], settings, settings.env) or settings.command[0]
        document = json.dumps(question.document)
        exited = ask_program((program, *settings.command[1:]), settings, document, cwd=Path(settings.cwd).absolute())
    except (OSError, ValueError) as error:
        return JudgeAnswer(failure=f"the judge could not be asked: {error}")
    if why := describe_failure(exited, settings):
        return JudgeAnswer(failure=why, available=not exited.start_error)
    return _answer(exited)


def _answer(exited: ProgramExit) -> JudgeAnswer:
    if len(exited.stdout) > REPLY:
        return JudgeAnswer(failure=f"the judge printed {len(exited.stdout):,} bytes or more; {REPLY:,} are read")
    try:
        document = parse_whole_object(exited.stdout.decode("utf-8"))
    except UnicodeDecodeError:
        return JudgeAnswer(failure=f"{MALFORMED}: it is not UTF-8")
    except ValueError as error:
        return JudgeAnswer(failure=f"{MALFORMED}: {error}")
    cost, usage = _dollars(document.pop("cost_usd", None)), _usage(document.pop("usage", None))
    return JudgeAnswer(
        json.dumps(document), cost=cost, cost_status="unknown" if cost is None else "reported", usage=usage
    )


def _dollars(value: object) -> float | None:
    """Return a sum of money; true is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    given: Document = value
    tokens = {name: given.get(name, 0) for name in ("input", "output", "cached")}
    counts = [count for count in tokens.values() if type(count) is int and count >= 0]
    return Usage(*counts) if len(counts) == len(tokens) else None
