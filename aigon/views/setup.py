"""What was set up: command files of agents, and the configuration with the origin of each value."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from aigon.model.agent_types import CommandFileResult


def build_installation_document(found: Sequence[CommandFileResult], dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "changed": any(one.wrote for one in found),
        "files": [build_command_document(one) for one in found],
    }


def build_command_document(one: CommandFileResult) -> dict[str, object]:
    return {
        "agent": one.agent,
        "command": one.command,
        "usage": one.usage,
        "path": one.path,
        "state": one.state,
        "newer": one.beside or None,
        "why": one.why or None,
    }


def render_installation(found: Sequence[CommandFileResult], titles: Mapping[str, str], dry_run: bool) -> str:
    """Return a heading per agent and a line per file."""
    lines = []
    for agent, files in groupby(found, key=lambda one: one.agent):
        each = list(files)
        lines += [f"{titles[agent]}: type {each[0].usage}, and so on"]
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
        case "foreign":
            return f"Kept {one.path}: aigon did not write it. Rename it to have aigon's"
    return f"Could not write {one.path}: {one.why}"


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
