"""Any program as an agent: the prompt on standard input, the workspace as working directory, the tree as the answer.

The program may say more in a last line on standard output, which is all that is read of it:

    {"cost_usd": 0.12, "usage": {"input": 1200, "output": 300}, "model": "..."}
    {"end": "usage_limit", "resets_at": 1795173026, "detail": "five hours are used up"}
    {"thought": "...", "next_action": "NEEDS_HUMAN", "reason": "criteria 2 and 3 contradict each other"}

`end` may be usage_limit, overloaded, bad_credentials or refused, which waiting, another agent or a person has to
resolve. `next_action` may be DONE, CONTINUE (both claim nothing: aigon looks for itself), FAILED or NEEDS_HUMAN.
`tool_calls` are noted and never carried out: a command agent edits the files itself.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.agents.adapters._program import (
    LAST_WORDS,
    build_environment,
    describe_ending,
    ending_from_action,
    is_unspent,
    last_words,
    parse_dollars,
)
from aigon.agents.adapters._records import describe_use
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, Turn, TurnEnd, TurnRequest, Usage

_EXAMPLE = '"agents": {"mine": {"adapter": "command", "command": ["./my-agent.sh"]}}'
_REPORT_LINE = 65_536
_CALLS = 20
"""Tool calls of a structured reply that are noted."""
_ACTIONS = ("DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN")
_CHOSEN = re.compile(r"(?<![${])\{(model|effort)\}(?!\})")
_OPTION = re.compile(r"--?[\w-]+")
_ENDS: Mapping[str, TurnEnd] = {
    "usage_limit": "usage_limit", "overloaded": "overloaded", "bad_credentials": "bad_credentials", "refused": "refused"
}  # fmt: skip


def explain_unready(agent: Agent, find: FindProgram, _env: Mapping[str, str]) -> str:
    """Return what is missing; empty if the program can be run.

    `find` is asked for a bare name (PATH) and for a relative path (the main checkout); for the latter it may give
    a file that is not executable, so that this can be told from a missing one.
    """
    if not agent.command or not agent.command[0]:
        return f"The agent {agent.name} has no command. Give it one in .aigon/config.json: {_EXAMPLE}"
    program = agent.command[0]
    expanded = os.path.expanduser(program)  # noqa: PTH111 - a user that does not exist must not raise
    place = expanded if Path(expanded).is_absolute() else find(program)
    if place is None or not Path(place).is_file():
        return _explain_missing(agent.name, program)
    return _explain_not_runnable(Path(place), program)


def _explain_missing(name: str, program: str) -> str:
    if "/" not in program:
        return f"The program {program} of the agent {name} is not on PATH. Install it, or give the path to it"
    return (
        f"The program {program} of the agent {name} was not found. A relative path starts at the main checkout; "
        f"if the file is there, make it executable: chmod +x {program}"
    )


def _explain_not_runnable(place: Path, program: str) -> str:
    if not os.access(place, os.X_OK):
        return (
            f"{program} is not executable. Run chmod +x {program}, or name its interpreter in the command: "
            f'["bash", "{program}"]'
        )
    return _explain_no_interpreter(place, program)


def _explain_no_interpreter(place: Path, program: str) -> str:
    """Return why the kernel cannot run a text file: its first line has to say with what."""
    try:
        with place.open("rb") as file:
            head = file.read(512)
    except OSError:
        return ""  # executable but unreadable: the system decides
    if head.startswith(b"#!") or b"\0" in head:
        return ""
    return f"{program} does not say what runs it. Begin it with a line such as #!/bin/sh"


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """The configured command; a relative program is the one in the main checkout, not the agent's own copy of it."""
    program, *arguments = agent.command
    words = _fill_choices((*arguments, *agent.args), {"model": agent.model, "effort": agent.effort})
    return Launch(argv=(_resolve_program(program, ask.checkout), *words), env=build_environment(agent, ask))


def _fill_choices(words: Sequence[str], chosen: Mapping[str, str]) -> list[str]:
    """Fill `{model}` and `{effort}` in. `--model {model}` and `--model={model}` go where no model was chosen."""
    filled: list[str] = []
    for word in words:
        option, _, value = word.rpartition("=")
        whole = _CHOSEN.fullmatch(value)
        if not whole or chosen[whole[1]] or not (_OPTION.fullmatch(option) or not option):
            filled.append(_CHOSEN.sub(lambda match: chosen[match[1]], word))
        elif not option and filled and _OPTION.fullmatch(filled[-1]):
            filled.pop()
    return filled


def _resolve_program(program: str, checkout: str) -> str:
    expanded = os.path.expanduser(program)  # noqa: PTH111 - see ready
    return str(Path(checkout, expanded)) if "/" in expanded else expanded


def read_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """Return the turn as it ended; the cost only if the program reported one."""
    end, detail = describe_ending(exited)
    report = _parse_report(exited.stdout)
    said = last_words(exited.stdout)
    cost = 0.0 if is_unspent(end, exited) else parse_dollars(report.get("cost_usd"))
    told = str(report.get("end")) if end in ("finished", "failed") else ""
    if told in _ENDS:
        end, detail = _ENDS[told], " ".join(str(report.get("detail") or told.replace("_", " ")).split())[:500]
    elif (action := str(report.get("next_action"))) in _ACTIONS:
        claimed, why, words = ending_from_action(action, *(str(report.get(key) or "") for key in ("thought", "reason")))
        before = last_words(exited.stdout.rstrip().rpartition(b"\n")[0])
        said = "\n\n".join(filter(None, (before, words)))[-LAST_WORDS:]
        if end == "finished":
            end, detail = claimed, " ".join(why.split())
    return Turn(
        number=ask.number,
        agent=agent.name,
        model=str(report.get("model") or agent.model),
        end=end,
        exit_code=exited.exit_code,
        said=said,
        detail=detail,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
        usage=_usage(report.get("usage")),
        duration=exited.duration,
        resets_at=parse_dollars(report.get("resets_at")) if told in _ENDS else None,
        tools=_note_calls(report.get("tool_calls")),
    )


def _note_calls(calls: object) -> tuple[str, ...]:
    """Note the tool calls of a structured reply: `create_invoice (asked for, not carried out)`."""
    found = calls if isinstance(calls, list) else []
    names = [call.get("tool") or call.get("name") if isinstance(call, dict) else call for call in found[:_CALLS]]
    return tuple(f"{describe_use(name)[:160]} (asked for, not carried out)" for name in names)


def _parse_report(stdout: bytes) -> dict[str, object]:
    """Return the JSON object on the last line that is not empty; an empty one when there is none."""
    line = stdout.rstrip().rpartition(b"\n")[2]
    if len(line) > _REPORT_LINE:
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    tokens = {name: value.get(name, 0) for name in ("input", "output", "cached")}
    if not all(type(count) is int and count >= 0 for count in tokens.values()):
        return None
    return Usage(**tokens)
