"""What is shown of a kind: that init knows it, and that a green and a red tree are told as a person would want it."""

import json
import venv
from collections.abc import Mapping
from typing import Any

from tests.lab import Lab, Ran
from tests.real_projects import tools
from tests.real_projects.kind import Found, Kind

IGNORED = ".venv/\nnode_modules/\ndist/\ntarget/\n__pycache__/\n.mypy_cache/\n.ruff_cache/\n.pytest_cache/\n"
PROVEN, NOT_PROVEN = 0, 3
"""Exit codes of `feature-validate`."""


def show(kind: Kind, lab: Lab) -> tuple[str, str]:
    """Build the project of `kind` in `lab` and fail unless aigon gets everything right; what green and red came to."""
    lab.env.update(tools.environment(), MYPY_CACHE_DIR=str(lab.home / "mypy"))
    build(kind, lab)
    knows(kind, lab.aigon("init", "--json", "--no-commands"))
    if kind.config:
        lab.config(**kind.config)
    lab.spec("the checks pass <!-- verify: true -->")
    lab.commit("set up")
    green = looked(lab, PROVEN, kind.green_finds)
    for name, content in kind.red.items():
        lab.write(name, content) if content else lab.path(name).unlink()
    red = looked(lab, NOT_PROVEN, kind.red_finds)
    lab.git("checkout", "-q", ".")
    assert lab.git("status", "--porcelain", "--untracked-files=all") in ("", *_added(kind)), lab.git(
        "status", "--short"
    )
    return green, red


def build(kind: Kind, lab: Lab) -> None:
    """Write and commit the files, and put the installed packages beside them."""
    lab.write(".gitignore", IGNORED)
    for name, content in kind.files.items():
        lab.write(name, content)
    if kind.venv:
        venv.create(lab.path(".venv"), symlinks=True)
    tools.lend(kind, lab.root)
    lab.commit(kind.title)


def _added(kind: Kind) -> tuple[str, ...]:
    """What git says of files that only the red tree has."""
    new = sorted(name for name in kind.red if name not in kind.files)
    return ("\n".join(f"?? {name}" for name in new),) if new else ()


def knows(kind: Kind, ran: Ran) -> None:
    """Fail unless init took the project for what it is, with all of its checks and nothing missing."""
    assert ran.code == 0, ran.err
    said = ran.json
    assert said["profile"] == kind.profile, ran.out
    assert said["paths"] == dict(kind.folders), ran.out
    assert said["missing"] == [], ran.out
    # What only the configuration can say, a server to ask, comes to the checks that init found.
    assert {each["name"] for each in said["checks"]} == set(kind.green_finds) - _configured(kind), ran.out
    assert set(kind.absent) <= {each["role"] for each in said["absent"]}, ran.out


def _configured(kind: Kind) -> set[str]:
    paths: Mapping[str, Any] = kind.config.get("paths", {})
    below = {f"endpoints-{path}" for path, each in paths.items() if isinstance(each, dict) and "endpoints" in each}
    return below | ({"endpoints"} if "endpoints" in kind.config else set())


def looked(lab: Lab, code: int, wanted: Mapping[str, Found]) -> str:
    """One look at the tree as it is: fail unless every check came to what is wanted. In a few words what they did."""
    ran = lab.aigon("feature-validate", "42", "--json", timeout=300)
    assert ran.code == code, ran.out + ran.err
    said: Mapping[str, Any] = ran.json
    rows = {row["name"]: row for row in said["checks"] if row["source"] != "aigon itself"}
    assert set(rows) == set(wanted), ran.out
    for name, found in wanted.items():
        came_to(rows[name], found)
    return "; ".join(f"{name}: {row['summary'] or row['status']}" for name, row in rows.items())


def came_to(row: Mapping[str, Any], found: Found) -> None:
    """Fail unless a check came to what is wanted of it, down to the places of its problems."""
    shown = json.dumps(row, indent=1)
    assert row["status"] == found.status, shown
    assert counted(row) == found.counts, shown
    if found.exit_code is not None:
        assert row["exit_code"] == found.exit_code, shown
    else:
        assert (row["exit_code"] == 0) == (found.status == "pass"), shown
    places = [(each["file"], each["line"] or 0, each["test"] or each["rule"]) for each in row["problems"]]
    assert sorted(places) == sorted(found.problems), f"{sorted(places)}\n{shown}"
    assert found.says in "\n".join([row["summary"], *(each["message"] for each in row["problems"])]), shown


def counted(row: Mapping[str, Any]) -> tuple[int, int, int, int] | None:
    """Passed, failed, skipped, errors."""
    c = row["counts"]
    return (c["passed"], c["failed"], c["skipped"], c["errors"]) if c else None
