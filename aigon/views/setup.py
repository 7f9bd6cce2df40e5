"""Results of a set-up: the project, command files of agents, and the configuration with the origin of each value."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import structs

from aigon.checks.execution import render_command
from aigon.checks.project_checks import NAME_A_CHECK
from aigon.config.loading import PROJECT_FILE
from aigon.config.schemas import SCHEMA_FOLDER
from aigon.model.agent_types import CommandFileResult
from aigon.profiles.resolution import describe_absent

if TYPE_CHECKING:
    from aigon.run.initialise import InitialisedProject


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
"""Columns of key and value beside which an origin stands; of longer ones it stands below."""


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
