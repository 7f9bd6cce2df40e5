"""Findings of `aigon doctor`, and results of a set-up: the project, command files, and values with their origin."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs, to_builtins

from aigon import __version__
from aigon.checks.execution import render_command
from aigon.checks.project_checks import NAME_A_CHECK
from aigon.config.loading import PROJECT_FILE, SCHEMA_FOLDER
from aigon.model.agents import CommandFileResult
from aigon.model.outcomes import AgentHealth, Diagnosis, MachineFact, RepairReport
from aigon.profiles.resolution import describe_absent
from aigon.text.quoting import clean, fold, wrap_lines

if TYPE_CHECKING:
    from aigon.run.setup import InitialisedProject

WIDTH = 80
_INDENT = "      "
OWN_AGENT = "aigon init --agent NAME=COMMAND"


def build_installation_document(found: Sequence[CommandFileResult], dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "changed": any(one.wrote for one in found),
        "files": [build_command_document(one) for one in found],
    }


def build_command_document(one: CommandFileResult) -> dict[str, object]:
    told = structs.asdict(one)
    newer = told.pop("beside") or None
    return {**told, "newer": newer, "why": one.why or None}


def render_installation(found: Sequence[CommandFileResult], titles: Mapping[str, str], dry_run: bool) -> str:
    """Return a heading per agent and a line per file."""
    lines = []
    for agent, files in groupby(found, key=lambda one: one.agent):
        each = list(files)
        lines += [titles[agent] if each[0].command == "mcp" else f"{titles[agent]}: type {each[0].usage}, and so on"]
        lines += [f"  {describe_command_file(one, dry_run)}" for one in each]
    return "\n".join(lines)


def describe_command_file(one: CommandFileResult, dry_run: bool = False) -> str:
    """Return what became of a file, in a line."""
    match one.state:
        case "new":
            return f"{'Would write' if dry_run else 'Wrote'} {one.path}"
        case "updated":
            return f"{'Would update' if dry_run else 'Updated'} {one.path}"
        case "unchanged":
            return f"Kept {one.path}: it is up to date"
        case "edited":
            newer = f"; the newer version is {one.beside}" if one.beside else ""
            return f"Kept {one.path}: you edited it{newer}"
        case "removed":
            return f"{'Would remove it from' if dry_run else 'Removed it from'} {one.path}"
        case "absent":
            return f"Nothing of aigon's is in {one.path}"
        case "foreign":
            return f"Kept {one.path}: aigon did not write it. Rename it to have aigon's"
    return f"Could not write {one.path}: {one.why}"


def build_init_document(done: "InitialisedProject") -> dict[str, object]:
    """Return what `aigon init` found and did as data."""
    checks = done.checks.checks
    return {
        "profile": done.checks.profile,
        "paths": dict(done.checks.folders),
        "other_projects": list(done.others),
        "checks": [
            {"name": c.name, "role": c.role, "command": render_command(c), "cwd": c.cwd, "source": c.source}
            for c in checks
        ],
        "missing": [{"check": c.name, "tool": c.missing, "hint": c.hint} for c in checks if c.missing],
        "absent": [{"role": a.role, "why": a.why, "of": a.ecosystem} for a in done.checks.absent],
        "written": [*done.written, *(c.path for c in done.commands if c.wrote)],
        "kept": [*done.kept, *(c.path for c in done.commands if not c.wrote)],
        "commands": [build_command_document(one) for one in done.commands],
        "commands_elsewhere": list(done.elsewhere),
        "unignored": list(done.unignored),
    }


def render_init(done: "InitialisedProject") -> str:
    """Return what `aigon init` found and did, for people."""
    folders, checks = done.checks.folders, done.checks.checks
    lines = [f"Profile of {place}: {name}" for place, name in folders.items()] or [f"Profile: {done.checks.profile}"]
    lines += ["Checks:"] if checks else ["Checks:", f"  none found; {NAME_A_CHECK}"]
    for c in checks:
        if not c.missing:
            lines += [f"  {c.name}: {render_command(c)}{'' if c.cwd == '.' else f'  (in {c.cwd})'}"]
    lines += [f"  {c.name}: {c.missing} is not installed. {c.hint}" for c in checks if c.missing]
    lines += [f"  {line}" for line in describe_absent(done.checks.absent)]
    lines += [f'{name} looks like a project of its own: name it in "paths" ({PROJECT_FILE})' for name in done.others]
    if kept := done.kept_profile:
        lines += [f'{PROJECT_FILE} says "profile": "{kept}": change it there to keep {done.checks.profile}']
    if done.committed_schemas:
        hint = f"git rm -rq {SCHEMA_FOLDER}   (for editors: aigon config schema --write)"
        lines += [f"{SCHEMA_FOLDER}/ is no longer needed: {hint}"]
    lines += [f"Wrote {name}" for name in done.written] + [f"Kept {name} as it is" for name in done.kept]
    lines += [describe_command_file(one) for one in done.commands if one.state != "unchanged"]
    lines += [f"{name} reads its commands in your home: aigon install-commands {name}" for name in done.elsewhere]
    if done.unignored:
        lines += ["Git does not ignore what tools write here. Add to .gitignore:"]
        lines += [f"  {line}" for line in done.unignored]
    return "\n".join(lines)


ConfigRow = tuple[str, object, str]
"""A dotted key, its value, its origin."""
WIDEST = 46
"""Columns of key and value after which an origin is printed; after longer ones it gets the next line."""


def render_config(rows: Iterable[ConfigRow], *, origin: bool) -> str:
    """Return `key = value` as JSON on a line each, with `origin` in a column behind them."""
    lines = [(f"{key} = {json.dumps(value, ensure_ascii=False)}", where) for key, value, where in rows]
    if not origin:
        return "\n".join(line for line, _ in lines)
    width = min(max(len(line) for line, _ in lines), WIDEST)
    return "\n".join(
        f"{line:<{width}}  {where}" if len(line) <= width else f"{line}\n{'':<{width}}  {where}"
        for line, where in lines
    )


def build_diagnosis_document(found: Diagnosis) -> dict[str, object]:
    """Return everything as data. Credentials are names, never values."""
    return {
        "version": __version__,
        "exit_code": int(found.exit_code),
        "agent": {"name": found.taken or None, "why": found.choice},
        "agents": [_encode_agent(agent) for agent in found.agents],
        "machine": {
            fact.name: {**fact.data, "text": fact.text, "ok": not fact.problem, "problem": fact.problem,
                        "remark": fact.remark}
            for fact in found.machine
            if fact.name != "configuration"
        },
        "problems": [fact.problem for fact in found.machine if fact.problem],
    }  # fmt: skip


def _encode_agent(agent: AgentHealth) -> dict[str, object]:
    told = structs.asdict(agent)
    lists = {key: list(value) for key, value in told.items() if isinstance(value, tuple)}
    absent = {key: told[key] or None for key in ("path", "version", "tested", "program")}
    found = {**told, **lists, **absent, "state": agent.state.replace(" ", "_")}
    found["credentials"] = found.pop("seen")
    return found


def render_diagnosis(found: Diagnosis) -> str:
    """Return a table of the agents that are installed, the others with how to get them, then the machine."""
    here = sorted((a for a in found.agents if a.state != "not installed"), key=lambda agent: agent.state != "ready")
    away = [agent for agent in found.agents if agent.state == "not installed"]
    missing = [(fold(each.name), each.install or (each.problems[0] if each.problems else "")) for each in away]
    width = max((len(name) for name, _ in missing), default=0)
    lines = [
        *(["Agents", *_render_agents(here)] if here else ["Agents: none is installed"]),
        *_wrap(found.choice, "  "),
        "",
        *(["Not installed"] if away else []),
        *(line for name, how in missing for line in _wrap(f"{name:<{width}}  {how}", "  ", " " * (width + 4))),
        *_wrap(f"Any other program can be an agent: {OWN_AGENT} ({found.note})", "  "),
        "",
        "This machine",
        *(line for fact in found.machine for line in _render_fact(fact)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _render_agents(agents: Sequence[AgentHealth]) -> Iterator[str]:
    name = max(len(fold(agent.name)) for agent in agents)
    version = max(len(agent.version) for agent in agents)
    for agent in agents:
        row = f"  {fold(agent.name):<{name}}  {agent.state:<9}  {agent.version:<{version}}  "
        yield row + _shorten_path(agent.path or agent.program or "built in", WIDTH - len(row))
        for problem in agent.problems:
            yield from _wrap(f"! {problem}", _INDENT, _INDENT + "  ")
        logins = [f"login seen: {', '.join(agent.seen)}"] if agent.seen else []
        for remark in (*logins, *agent.remarks):
            yield from _wrap(f"- {remark}", _INDENT, _INDENT + "  ")


def _render_fact(fact: MachineFact) -> Iterator[str]:
    words = " ".join(_shorten_path(word, WIDTH - 14) for word in fact.text.split())
    yield from _wrap(f"{fact.title:<10}  {words}", "  ", " " * 14)
    for sign, said in (("!", fact.problem), ("-", fact.remark)):
        if said:
            yield from _wrap(f"{sign} {said}", " " * 14, " " * 16)


def _wrap(words: str, first: str, others: str | None = None) -> list[str]:
    return wrap_lines(clean(words), WIDTH, first, first if others is None else others)


def _shorten_path(path: str, width: int) -> str:
    """Return a path (or a word) in so many columns, its end if it is too long; the person's home is `~`."""
    home = str(Path.home())
    shown = fold(re.sub(rf"^(\(?){re.escape(home)}(?=/)", r"\1~", path) if home != "/" else path, 1000)
    return shown if len(shown) <= width else f"…{shown[-width + 1 :]}"


def build_repair_document(done: RepairReport) -> dict[str, object]:
    return {
        "exit_code": int(done.exit_code),
        "repaired": [{**to_builtins(each), "kept_as": each.kept_as or None} for each in done.repaired],
        "unmended": [to_builtins(each) for each in done.unmended],
        "ended_processes": done.ended,
    }


def render_repair(done: RepairReport) -> str:
    """Return a paragraph per file, or one sentence if there was nothing to do."""
    lines = []
    for each in done.repaired:
        lines += [f"{each.what}: {each.how}", f"  {each.path}"]
        lines += [f"  kept as {each.kept_as}"] if each.kept_as else []
    for left in done.unmended:
        lines += [
            f"{left.what}: left as it is: {left.why}",
            f"  {left.path}",
            *([f"  do: {left.do}"] if left.do else []),
        ]
    lines += [f"{done.ended} processes that killed loops had left are ended"] if done.ended else []
    return "\n".join(lines) or "Everything is sound: there was nothing to do."
