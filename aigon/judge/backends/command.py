"""Any program as a judge: the question as JSON on standard input, the reply as JSON on standard output.

What it gets is the question's `document`; `reply_schema` in it is the JSON Schema of what it has to print. Beside that,
its reply may say what it cost: `"cost_usd": 0.12` and `"usage": {"input": 1200, "output": 300}`.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from aigon.agents.adapters._launch import explain_no_interpreter
from aigon.agents.adapters._program import get_cost_status, parse_dollars, parse_reported_usage
from aigon.agents.obstacles import find_program
from aigon.judge.backends._program import ask_program, describe_failure, parse_whole_object
from aigon.judge.reply import MALFORMED
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings

REPLY = 1024 * 1024
"""Bytes of the longest reply that is read: some hundred criteria with ten quotes each."""
_MISSING = 'the judge command needs a program: "judge": {"backend": "command", "command": ["./judge.sh"]}'


def explain_unready(settings: JudgeSettings, env: Mapping[str, str]) -> str:
    """Return what is missing; empty if the program can be run."""
    if not settings.command or not settings.command[0]:
        return _MISSING
    program = settings.command[0]
    file = _locate(settings, env)
    if file is None:
        where = "on PATH" if "/" not in program else f"in {settings.cwd}"
        several = ". A program with arguments is a list" if " " in program else ""
        return f"the judge's program {program} was not found {where}{several}"
    if not os.access(file, os.X_OK):
        return f'{program} is not executable: chmod +x {program}, or name its interpreter: ["bash", "{program}"]'
    return explain_no_interpreter(program, file)


def _locate(settings: JudgeSettings, env: Mapping[str, str]) -> str | None:
    """Return where the program is: a path starts at the main checkout, a bare name is looked up on PATH."""
    program = os.path.expanduser(settings.command[0])  # noqa: PTH111 - a user that does not exist must not raise
    return find_program(Path(settings.cwd).absolute(), env, program)


def ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    """Run the program once. A reply that is not exactly one JSON object is none."""
    try:
        if why := explain_unready(settings, settings.env):
            return JudgeAnswer(failure=why, cost=0.0, cost_status="reported", available=False)
        argv = (_locate(settings, settings.env) or settings.command[0], *settings.command[1:])
        exited = ask_program(argv, settings, json.dumps(question.document), cwd=Path(settings.cwd).absolute())
    except (OSError, ValueError) as error:
        return JudgeAnswer(failure=f"the judge could not be asked: {error}")
    if why := describe_failure(exited, settings):
        return JudgeAnswer(failure=why, available=not exited.start_error)
    return read_reply(exited.stdout)


def read_reply(stdout: bytes) -> JudgeAnswer:
    """Return the answer that a program printed."""
    if len(stdout) > REPLY:
        return JudgeAnswer(failure=f"the judge printed {len(stdout):,} bytes or more; {REPLY:,} are read")
    try:
        document = parse_whole_object(stdout.decode("utf-8"))
    except UnicodeDecodeError:
        return JudgeAnswer(failure=f"{MALFORMED}: it is not UTF-8")
    except ValueError as error:
        return JudgeAnswer(failure=f"{MALFORMED}: {error}")
    cost, usage = parse_dollars(document.pop("cost_usd", None)), parse_reported_usage(document.pop("usage", None))
    return JudgeAnswer(json.dumps(document), cost=cost, cost_status=get_cost_status(cost), usage=usage)
