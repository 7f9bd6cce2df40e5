"""What became of command files, for people and as data."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from aigon.model.agent_types import CommandFileResult


def document(found: Sequence[CommandFileResult], dry_run: bool) -> dict[str, object]:
    """Everything as data."""
    return {"dry_run": dry_run, "changed": any(one.wrote for one in found), "files": [as_data(one) for one in found]}


def as_data(one: CommandFileResult) -> dict[str, object]:
    """One file."""
    return {
        "agent": one.agent,
        "command": one.command,
        "usage": one.usage,
        "path": one.path,
        "state": one.state,
        "newer": one.beside or None,
        "why": one.why or None,
    }


def text(found: Sequence[CommandFileResult], titles: Mapping[str, str], dry_run: bool) -> str:
    """A heading per agent, a line per file."""
    lines = []
    for agent, files in groupby(found, key=lambda one: one.agent):
        each = list(files)
        lines += [f"{titles[agent]}: type {each[0].usage}, and so on"]
        lines += [f"  {line(one, dry_run)}" for one in each]
    return "\n".join(lines)


def line(one: CommandFileResult, dry_run: bool = False) -> str:
    """What became of one file, in a line."""
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
