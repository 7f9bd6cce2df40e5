"""Any program as an agent: the prompt on standard input, the workspace as working directory, the tree as the answer.

The program may say more in a last line on standard output, which is all that is read of it:

    {"cost_usd": 0.12, "usage": {"input": 1200, "output": 300}, "model": "..."}
    {"end": "usage_limit", "resets_at": 1795173026, "detail": "five hours are used up"}
    {"thought": "...", "next_action": "NEEDS_HUMAN", "reason": "criteria 2 and 3 contradict each other"}

`end` may be usage_limit, overloaded, bad_credentials or refused, which waiting, another agent or a person has to
resolve. `next_action` may be DONE, CONTINUE (both claim nothing: aigon assesses the tree itself), FAILED or
NEEDS_HUMAN. `tool_calls` are noted and never carried out: a command agent edits the files itself.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters._errors import read_own_ending
from aigon.agents.adapters._program import (
    LONGEST_DETAIL,
    build_environment,
    explain_no_interpreter,
    last_words,
    read_action,
)
from aigon.agents.adapters._records import describe_use, parse_dollars, parse_reported_usage
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, TurnEnd, TurnReport, TurnRequest
from aigon.text.patterns import compile_re
from aigon.text.untrusted import list_at, object_at

_EXAMPLE = '"agents": {"mine": {"adapter": "command", "command": ["./my-agent.sh"]}}'
_REPORT_LINE = 65_536
_CALLS = 20
"""Tool calls of a structured reply that are noted."""
_ACTIONS = ("DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN")
_CHOSEN = compile_re(r"(?<![${])\{(model|effort)\}(?!\})")
_OPTION = compile_re(r"--?[\w-]+")
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
    expanded = _expand_user(program)
    place = expanded if Path(expanded).is_absolute() else find(program)
    if place is None or not Path(place).is_file():
        if "/" not in program:
            return f"The program {program} of the agent {agent.name} is not on PATH. Install it, or give the path to it"
        return (
            f"The program {program} of the agent {agent.name} was not found. A relative path starts at the main "
            f"checkout; if the file is there, make it executable: chmod +x {program}"
        )
    if not os.access(place, os.X_OK):
        return (
            f"{program} is not executable. Run chmod +x {program}, or name its interpreter in the command: "
            f'["bash", "{program}"]'
        )
    return explain_no_interpreter(program, place)


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """Return the configured command; a relative program is the main checkout's, not the agent's own copy of it."""
    program, *arguments = agent.command
    expanded = _expand_user(program)
    words = _fill_choices((*arguments, *agent.args), {"model": agent.model, "effort": agent.effort})
    argv = (str(Path(ask.checkout, expanded)) if "/" in expanded else expanded, *words)
    return Launch(argv=argv, env=build_environment(agent, ask))


def _expand_user(program: str) -> str:
    return os.path.expanduser(program)  # noqa: PTH111 - a user that does not exist must not raise


def _fill_choices(words: Sequence[str], chosen: Mapping[str, str]) -> list[str]:
    """Fill `{model}` and `{effort}` in. `--model {model}` and `--model={model}` go if no model was chosen."""
    filled: list[str] = []
    for word in words:
        option, _, value = word.rpartition("=")
        whole = _CHOSEN.fullmatch(value)
        if not whole or chosen[whole[1]] or not (_OPTION.fullmatch(option) or not option):
            filled.append(_CHOSEN.sub(lambda match: chosen[match[1]], word))
        elif not option and filled and _OPTION.fullmatch(filled[-1]):
            filled.pop()
    return filled


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn as it ended; the cost only if the program reported one."""
    own = read_own_ending(exited)
    end, detail, resets_at = own.end, own.detail, own.resets_at
    before, _, line = exited.stdout.rstrip().rpartition(b"\n")
    report = _parse_report(line)
    said = last_words(exited.stdout)
    named, action = str(report.get("end")), str(report.get("next_action"))
    if end and named in _ENDS:
        end, resets_at = _ENDS[named], parse_dollars(report.get("resets_at"))
        detail = " ".join(str(report.get("detail") or named.replace("_", " ")).split())[:LONGEST_DETAIL]
    elif action in _ACTIONS:
        claimed, why, words = read_action(action, *(str(report.get(key) or "") for key in ("thought", "reason")))
        said = "\n\n".join(filter(None, (last_words(before), words)))
        if end == "finished":
            end, detail = claimed, " ".join(why.split())
    cost = parse_dollars(report.get("cost_usd"))
    return TurnReport(
        end,
        detail,
        said,
        model=str(report.get("model") or ""),
        usage=parse_reported_usage(report.get("usage")),
        cost=cost,
        resets_at=resets_at,
        tools=tuple(map(_describe_call, list_at(report, "tool_calls")[:_CALLS])),
    )


def _parse_report(line: bytes) -> dict[str, object]:
    """Return the JSON object on the last line; an empty one if it is something else."""
    try:
        return object_at(json.loads(line)) if len(line) <= _REPORT_LINE else {}
    except (ValueError, RecursionError):
        return {}


def _describe_call(call: object) -> str:
    name = call.get("tool") or call.get("name") if isinstance(call, dict) else call
    return f"{describe_use(name)[:160]} (asked for, not carried out)"


class TextReader:
    """Reads a program that prints plain text: its exit code or a limit decides, its last words are what it said."""

    def read_output(self, exited: ProgramExit) -> TurnReport:
        """Return the turn by its own ending. What it cost is unknown."""
        return replace(read_own_ending(exited), said=last_words(exited.stdout) or last_words(exited.stderr))


text = TextReader()
