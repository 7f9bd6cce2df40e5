"""Findings and repairs of `aigon doctor`, as text in 80 columns and as data."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs, to_builtins

from aigon import __version__
from aigon.model.diagnosis import AgentHealth, Diagnosis, MachineFact, RepairReport
from aigon.text.quoting import clean, fold
from aigon.text.tables import wrap_lines

WIDTH = 80
_INDENT = "      "
OWN_AGENT = "aigon init --agent NAME=COMMAND"


def build_diagnosis_document(found: Diagnosis) -> dict[str, object]:
    """Return everything as data. Credentials are names, never values."""
    return {
        "version": __version__,
        "exit_code": int(found.exit_code),
        "agent": {"name": found.taken or None, "why": found.choice},
        "agents": [_agent(agent) for agent in found.agents],
        "machine": {fact.name: _fact(fact) for fact in found.machine if fact.name != "configuration"},
        "problems": [fact.problem for fact in found.machine if fact.problem],
    }


def _agent(agent: AgentHealth) -> dict[str, object]:
    told = structs.asdict(agent)
    lists = {key: list(value) for key, value in told.items() if isinstance(value, tuple)}
    absent = {key: told[key] or None for key in ("path", "version", "tested", "program")}
    found = {**told, **lists, **absent, "state": agent.state.replace(" ", "_")}
    found["credentials"] = found.pop("seen")
    return found


def _fact(fact: MachineFact) -> dict[str, object]:
    return {**fact.data, "text": fact.text, "ok": not fact.problem, "problem": fact.problem, "remark": fact.remark}


def render_diagnosis(found: Diagnosis) -> str:
    """Return a table of the agents that are installed, the others with how to get them, then the machine."""
    here = sorted((a for a in found.agents if a.state != "not installed"), key=lambda agent: agent.state != "ready")
    away = [agent for agent in found.agents if agent.state == "not installed"]
    lines = [
        *(["Agents", *_table(here)] if here else ["Agents: none is installed"]),
        *_wrap(found.choice, "  "),
        "",
        *(["Not installed", *_missing(away)] if away else []),
        *_wrap(f"Any other program can be an agent: {OWN_AGENT} ({found.note})", "  "),
        "",
        "This machine",
        *(line for fact in found.machine for line in _facts(fact)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _table(agents: Sequence[AgentHealth]) -> Iterator[str]:
    name = max(len(fold(agent.name)) for agent in agents)
    version = max(len(agent.version) for agent in agents)
    for agent in agents:
        row = f"  {fold(agent.name):<{name}}  {agent.state:<9}  {agent.version:<{version}}  "
        yield row + _path(agent.path or agent.program or "built in", WIDTH - len(row))
        for problem in agent.problems:
            yield from _wrap(f"! {problem}", _INDENT, _INDENT + "  ")
        logins = [f"login seen: {', '.join(agent.seen)}"] if agent.seen else []
        for remark in (*logins, *agent.remarks):
            yield from _wrap(f"- {remark}", _INDENT, _INDENT + "  ")


def _missing(agents: Sequence[AgentHealth]) -> Iterator[str]:
    width = max(len(fold(agent.name)) for agent in agents)
    for agent in agents:
        how = agent.install or (agent.problems[0] if agent.problems else "")
        yield from _wrap(f"{fold(agent.name):<{width}}  {how}", "  ", " " * (width + 4))


def _facts(fact: MachineFact) -> Iterator[str]:
    words = " ".join(_path(word, WIDTH - 14) for word in fact.text.split())
    yield from _wrap(f"{fact.title:<10}  {words}", "  ", " " * 14)
    for sign, said in (("!", fact.problem), ("-", fact.remark)):
        if said:
            yield from _wrap(f"{sign} {said}", " " * 14, " " * 16)


def _wrap(words: str, first: str, others: str | None = None) -> list[str]:
    return wrap_lines(clean(words), WIDTH, first, first if others is None else others)


def _path(path: str, width: int) -> str:
    """Return a path (or a word) in so many columns, its end if it is too long."""
    shown = fold(_home(path), 1000)
    return shown if len(shown) <= width else f"…{shown[-width + 1 :]}"


def _home(words: str) -> str:
    """Return the words with the person's home as `~`."""
    home = str(Path.home())
    return re.sub(rf"^(\(?){re.escape(home)}(?=/)", r"\1~", words) if home != "/" else words


def build_repair_document(done: RepairReport) -> dict[str, object]:
    return {
        "exit_code": int(done.exit_code),
        "repaired": [{**to_builtins(each), "kept_as": each.kept_as or None} for each in done.repaired],
        "unmended": [to_builtins(each) for each in done.unmended],
        "ended_processes": done.ended,
    }


def render_repair(done: RepairReport) -> str:
    """Return a paragraph per file, or one sentence if there was nothing to do."""
    return "\n".join(_render_repairs(done)) or "Everything is sound: nothing was to do."


def _render_repairs(done: RepairReport) -> Iterator[str]:
    for each in done.repaired:
        yield f"{each.what}: {each.how}\n  {each.path}" + (f"\n  kept as {each.kept_as}" if each.kept_as else "")
    for left in done.unmended:
        yield f"{left.what}: left as it is: {left.why}\n  {left.path}" + (f"\n  do: {left.do}" if left.do else "")
    if done.ended:
        yield f"{done.ended} processes that killed loops had left are ended"
