"""Start and read a program by what its kind says: what every adapter does that has nothing of its own to say."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from aigon.agents.adapters._ending import SAID, ending, environment, how_it_exited, last_words, unspent, with_stderr
from aigon.agents.adapters._tools import MOST_DENIED, MOST_TOOLS
from aigon.model.agent_types import ARGUMENT_GROUPS, AgentType
from aigon.model.judging import JudgeAnswer
from aigon.model.turns import (
    TEMPORARY_ENDS,
    Agent,
    FindProgram,
    Launch,
    ProgramExit,
    Turn,
    TurnEnd,
    TurnReport,
    TurnRequest,
)

LONGEST = 100_000
"""Bytes of a prompt that go by command line: the system takes 131,071 in one argument (measured, Linux)."""
NOWHERE = TurnRequest(number=0, feature_id="", run_id="", workspace="", checkout="", spec_file="", prompt_file="")
"""The question of a judge, which is about no turn."""
_OUTDATED = re.compile(rb"unknown (?:option|argument|feature)|unexpected argument|unrecognized option", re.IGNORECASE)
_GROUP = re.compile(r"\{(\w+)\}")


def ready(kind: AgentType, agent: Agent, find: FindProgram) -> str:
    """Empty when the program is on PATH. Whether it is logged in shows only in a turn."""
    if not kind.program:
        return f"{kind.title} names no program: add `program:` to the file of that kind"
    if find(kind.program):
        return ""
    install = f" Install it with: {kind.install}" if kind.install else ""
    login = f"; then log in: {kind.login}" if kind.login else ""
    return f"The agent {agent.name} needs {kind.title}, and there is no `{kind.program}` on PATH.{install}{login}"


def launch(kind: AgentType, agent: Agent, ask: TurnRequest) -> Launch:
    """The command line of one turn; `agent.args` come last, or where the kind puts them, so that they win."""
    values = _values(agent, ask)
    argv = kind.argv if "{args}" in kind.argv else (*kind.argv, "{args}")
    words = [word for each in argv for word in _expanded(each, kind, agent, ask, values)]
    env = {**defaults(kind, agent, values), **environment(agent, ask)}
    stdin: Literal["prompt", "nothing"] = "prompt" if kind.wants_stdin else "nothing"
    return Launch((kind.program, *words), env=env, stdin=stdin, unset=kind.unset)


def _values(agent: Agent, ask: TurnRequest) -> dict[str, str]:
    return {
        "prompt_file": ask.prompt_file,
        "output": ask.output_file,
        "workspace": ask.workspace,
        "model": agent.model,
        "effort": agent.effort,
        "usd": "" if ask.budget is None else f"{ask.budget:.2f}",
        "session": "",
    }


def _expanded(word: str, kind: AgentType, agent: Agent, ask: TurnRequest, values: Mapping[str, str]) -> Iterator[str]:
    group = _GROUP.fullmatch(word)
    if group and group[1] in ARGUMENT_GROUPS:
        words = _group(group[1], kind, agent, ask)
        yield from words if group[1] == "args" else (_filled(each, ask, values) for each in words)
    else:
        yield _filled(word, ask, values)


def _group(name: str, kind: AgentType, agent: Agent, ask: TurnRequest) -> Sequence[str]:
    """The words of a group: none for what nobody asked for."""
    match name:
        case "args":
            return agent.args
        case "approval":
            return _approval(kind, agent, ask)
        case "model":
            return kind.model if agent.model else ()
        case "effort":
            return kind.effort if agent.effort else ()
        case "budget":
            return kind.budget if ask.budget is not None else ()
    return ()  # every turn begins afresh: a session to go on with is for people


def _approval(kind: AgentType, agent: Agent, ask: TurnRequest) -> Sequence[str]:
    """Nobody is there to be asked, unless a person gave other flags about it."""
    if kind.is_permitted_by(agent.args):
        return ()
    sandboxed = {**os.environ, **agent.env}.get("IS_SANDBOX") == "1"
    return kind.approval_as_root if ask.root and not sandboxed and kind.approval_as_root is not None else kind.approval


def _filled(word: str, ask: TurnRequest, values: Mapping[str, str]) -> str:
    """A word with its placeholders filled in, each once; doubled braces are braces, as in `str.format`."""

    def value(match: "re.Match[str]") -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return _prompt(ask) if match[1] == "prompt" else values.get(match[1], match[0])

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", value, word)


def _prompt(ask: TurnRequest) -> str:
    """The prompt where it is short enough for a command line, else where to read it."""
    with open(ask.prompt_file, "rb") as file:  # noqa: PTH123 - a plain read
        text = file.read(LONGEST + 1)
    if len(text) <= LONGEST and b"\0" not in text:
        return text.decode("utf-8", "replace")
    return f"Your task stands in the file {ask.prompt_file}. Read all of it first, then do what it says."


def defaults(kind: AgentType, agent: Agent, values: Mapping[str, str]) -> dict[str, str]:
    """The kind's variables, less those that the person sets.

    One with a placeholder says what was chosen for this turn: it goes before the person's, and is none while empty.
    """
    chosen = {**os.environ, **agent.env}
    filled = {name: _GROUP.sub(lambda m: values.get(m[1], m[0]), value) for name, value in kind.env.items()}
    return {name: value for name, value in filled.items() if (value if value != kind.env[name] else name not in chosen)}


def consult(kind: AgentType, agent: Agent) -> Launch:
    """Return the command line that answers the question on standard input; `agent.args` could give it tools."""
    use = kind.judge
    assert use is not None, "only a kind with `judge` is asked"
    values = _values(agent, NOWHERE)
    words = [word for each in use.argv for word in _expanded(each, kind, agent, NOWHERE, values)]
    return Launch((kind.program, *words), env={**agent.env, **defaults(kind, agent, {}), **use.env}, unset=kind.unset)


def consulted(kind: AgentType, agent: Agent, exited: ProgramExit, seen: TurnReport) -> JudgeAnswer:
    """Return the whole text of the answer; a session that did not end well, or that used a tool, has none."""
    ended = turn(agent, NOWHERE, exited, seen)
    spent = JudgeAnswer(cost=ended.cost, cost_status=ended.cost_status, usage=ended.usage)
    if ended.end == "finished":
        used = f"it used a tool ({seen.tools[0]}), so its answer is not its own" if seen.tools else ""
        return replace(spent, text="" if used else seen.said, failure=used)
    outdated = ended.exit_code not in (0, None) and bool(_OUTDATED.search(exited.stderr))
    detail = f"{ended.detail}. Update {kind.title}: {kind.install}" if outdated else ended.detail
    lasting = ended.end in ("bad_credentials", "usage_limit", "not_started")
    return replace(spent, failure=detail, available=not outdated and not lasting)


def turn(agent: Agent, ask: TurnRequest, exited: ProgramExit, seen: TurnReport) -> Turn:
    """The turn by what its output says; by the process where aigon ended it or the two do not agree."""
    end, detail = ending(exited)
    if end in ("finished", "failed"):
        end, detail = _judged(exited, seen)
    elif end == "timed_out":
        end, detail = _cut_off(exited, seen, detail)
    cost = 0.0 if unspent(end, exited) else seen.cost
    return Turn(
        number=ask.number,
        agent=agent.name,
        model=seen.model or agent.model,
        end=end,
        exit_code=exited.exit_code,
        said=seen.said[-SAID:],
        detail=detail,
        cost=cost,
        cost_status="reported" if unspent(end, exited) else "unknown" if cost is None else seen.cost_status,
        usage=seen.usage,
        session=seen.session,
        denied=tuple(dict.fromkeys(seen.denied))[:MOST_DENIED],
        duration=exited.duration,
        resets_at=seen.resets_at,
        tools=seen.tools[:MOST_TOOLS],
        usage_by_model=seen.usage_by_model if len(seen.usage_by_model) > 1 else (),
    )


def _judged(exited: ProgramExit, seen: TurnReport) -> tuple[TurnEnd, str]:
    """A program that came to an end of its own. An exit code is never trusted alone, and neither is a good record."""
    code = exited.exit_code or 0
    if seen.end is None:
        return "failed", with_stderr(seen.detail or f"ended without saying how ({how_it_exited(code)})", exited)
    if seen.end == "finished" and code:
        return "failed", with_stderr(f"{how_it_exited(code)} although its output says that all is well", exited)
    return seen.end, seen.detail


def _cut_off(exited: ProgramExit, seen: TurnReport, detail: str) -> tuple[TurnEnd, str]:
    """A program that met its deadline. If it was waiting for its model, that is what ended the turn."""
    if seen.end in (*TEMPORARY_ENDS, "bad_credentials"):
        return seen.end, f"{seen.detail} ({detail})"
    last = seen.detail if seen.end != "finished" else ""
    return "timed_out", f"{detail}: {last}" if last else with_stderr(detail, exited)


def from_text(exited: ProgramExit) -> TurnReport:
    """What is known of a program that prints plain text: its exit code and its last words."""
    code = exited.exit_code or 0
    words = last_words(exited.stdout) or last_words(exited.stderr)
    if code:
        return TurnReport("failed", with_stderr(how_it_exited(code), exited), words)
    return TurnReport(end="finished", said=words)
