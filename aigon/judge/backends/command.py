"""Any program as a judge: the question as JSON on standard input, the reply as JSON on standard output.

What it gets is the question's `document`; `reply_schema` in it is the JSON Schema of what it has to print. Beside that,
its reply may say what it cost: `"cost_usd": 0.12` and `"usage": {"input": 1200, "output": 300}`.

An agent's own program is one, too (`agent`), for people with a subscription and no key.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters._program import describe_exit, explain_no_interpreter
from aigon.agents.adapters._records import get_cost_status, parse_dollars, parse_reported_usage
from aigon.agents.obstacles import find_program
from aigon.files.folders import TemporaryFolder
from aigon.judge.backends import NOBODY, AgentJudgeSettings
from aigon.judge.reply import MALFORMED, parse_json
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets import redaction
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

REPLY = 1024 * 1024
"""Bytes of the longest reply that is read: some hundred criteria with ten quotes each."""
_MISSING = 'the judge command needs a program: "judge": {"backend": "command", "command": ["./judge.sh"]}'

_FENCE = compile_re(r"^ {0,3}(`{3,})[ \t]*(\w*)[ \t]*$", re.M)
_BEGINNINGS = 1000
"""Places in a text where an object may begin; a text with more is taken for one that holds an object."""
_WORDS = 300


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
    """Run the program once. A reply that is not exactly one JSON object does not count."""
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


def parse_whole_object(text: str) -> dict[str, object]:
    """Return the object that `text` is, but for white space around it. Raises ValueError, with a text for people."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def parse_answered_object(text: str) -> dict[str, object]:
    """Return the object that a model answered with: the whole text, or the one block fenced as JSON in it.

    Raises ValueError if no object is found, or more than one could be meant.
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


_FORM = """\
Use no tool: the answer of one who did is void. Answer with exactly one JSON object and nothing else: no introduction,
no explanation, no other JSON. It has to be valid by this JSON Schema:

```json
{schema}
```"""


class AgentBackend:
    """An agent's own program as a judge, started and read as its adapter says (`aigon.model.turns`).

    It is given the question on standard input, no tool, and an empty folder to run in: it can neither read nor change
    the work that it judges.
    """

    def explain_unready(self, settings: JudgeSettings, _env: Mapping[str, str]) -> str:
        """Return what is missing; empty if the agent's program is there and can be asked without tools."""
        return settings.missing if isinstance(settings, AgentJudgeSettings) else NOBODY

    def ask(self, question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
        """Run one session of the agent, for one answer."""
        if not isinstance(settings, AgentJudgeSettings) or settings.missing:
            why = f"the judge cannot be asked: {self.explain_unready(settings, settings.env)}"
            return JudgeAnswer(failure=why, cost=0.0, cost_status="reported", available=False)
        launch = settings.launch
        kept = {name: value for name, value in settings.env.items() if name not in launch.unset}
        form = _FORM.format(schema=json.dumps(question.schema, indent=1))
        prompt = "\n\n".join([question.rules, question.shared, question.task, form]) + "\n"
        try:
            exited = ask_program(launch.argv, replace(settings, env={**kept, **launch.env}), prompt)
        except (OSError, ValueError) as error:
            return JudgeAnswer(failure=f"the judge could not be asked: {error}")
        answer = settings.read(exited)
        if answer.failure:
            by_process = exited.timed_out or exited.start_error
            why = describe_failure(exited, settings) if by_process else f"the judge could not answer: {answer.failure}"
            return replace(answer, text="", failure=" ".join(why.split()))
        try:
            return replace(answer, text=json.dumps(parse_answered_object(answer.text)))
        except ValueError as error:
            return replace(answer, text="", failure=f"{MALFORMED}: {error}")


agent = AgentBackend()
