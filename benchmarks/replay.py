"""How often an honest change ends with a question: commits of a public repository replayed as features.

    python -m benchmarks.replay REPOSITORY [--commits 20] [--list] [--sandbox MODE] [--environment DIR] [--table FILE]

REPOSITORY is a clone, bare or not, whose tests `python3 -m pytest` runs with what is on the PATH, or in an environment
that may be of an older Python than aigon's. The newest commits that change both product code and tests, and whose tests
pass by hand, are listed before the first run. Each becomes a feature on its parent: the spec is the commit's message
with `All tests pass` and the commit's own test files as criteria, the agent applies the commit. Printed: the outcome of
each, and the share that ended with a question or was refused.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from tests.lab import make_environment

MOST_FILES = 20
MOST_LINES = 400
"""A commit with more is a release or a new layout, hardly one feature."""
SPEC = "docs/specs/features/03-in-progress/feature-1-replay.md"
PROFILE = "description: Tests alone\npriority: 99\ndetect: {always: true}\necosystems:\n  '*': [tests]\n"
"""What a repository's own linters say of its old commits is not what is measured."""


class Commit(Struct, frozen=True):
    """A commit that changes code and tests; `tests` are those of its test files that still exist."""

    name: str
    subject: str
    tests: tuple[str, ...]


class Replayed(Struct, frozen=True):
    """How a commit ended: aigon's exit code, and its reason."""

    commit: Commit
    code: int
    reason: str


def read_git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def is_test(path: str) -> bool:
    name = PurePosixPath(path)
    return name.suffix == ".py" and (name.name.startswith("test") or name.stem.endswith("_test"))


def find_commits(repository: Path) -> Iterator[Commit]:
    """Yield the commits that can be replayed, newest first."""
    for name in read_git(repository, "rev-list", "--no-merges", "HEAD").split():
        rows = [line.split("\t") for line in read_git(repository, "show", "--numstat", "--format=", name).splitlines()]
        changed = {path: (added, removed) for added, removed, path in rows}
        if len(changed) > MOST_FILES or any("=>" in path or "-" in counts for path, counts in changed.items()):
            continue
        tests = [path for path in changed if is_test(path)]
        product = [path for path in changed if path.endswith(".py") and "test" not in path]
        lines = sum(int(added) + int(removed) for added, removed in changed.values())
        there = set(read_git(repository, "ls-tree", "-r", "--name-only", name).splitlines())
        if tests and product and lines <= MOST_LINES and there.issuperset(tests):
            yield Commit(name, read_git(repository, "show", "-s", "--format=%s", name).strip(), tuple(tests))


def has_passing_tests(repository: Path, commit: Commit, environment: Path) -> bool:
    """Return whether all tests pass on the commit and before it: an old one may need an old Python."""
    argv = [str(environment / "bin/python3"), "-m", "pytest", "-q"]
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        root = make_project(repository, commit.name, Path(folder))
        for start in (commit.name, f"{commit.name}^"):
            read_git(root, "checkout", "-q", start)
            if subprocess.run(argv, cwd=root, capture_output=True).returncode:
                return False
    return True


def replay(repository: Path, commit: Commit, folder: Path, sandbox: str, environment: Path) -> Replayed:
    """Let an agent make the commit as a feature on its parent."""
    patch = read_git(repository, "diff", "--binary", f"{commit.name}^", commit.name)
    message = read_git(repository, "show", "-s", "--format=%B", commit.name)
    body = "\n".join(f"> {line}" for line in message.splitlines())
    spec = (
        f"# {commit.subject}\n\n{body}\n\n"
        "## Acceptance Criteria\n\n- [ ] All tests pass\n"
        f"- [ ] The tests of this change pass <!-- verify: python3 -m pytest -q {' '.join(commit.tests)} -->\n"
    )
    root = make_project(repository, f"{commit.name}^", folder)
    add_feature(root, folder, spec, f"git apply <<'END_OF_PATCH'\n{patch}END_OF_PATCH\n")
    done = implement_feature(root, folder, ("-m", "aigon"), sandbox, environment)
    return Replayed(commit, done.returncode, explain_end(done.stdout, done.stderr))


def make_project(repository: Path, start: str, folder: Path) -> Path:
    """Return a clone in which `start` is checked out as the branch main."""
    root = folder / "repo"
    (folder / "home").mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--no-checkout", str(repository), str(root)], check=True)
    read_git(root, "checkout", "-q", "-B", "main", start)
    return root


def add_feature(root: Path, folder: Path, spec: str, work: str, **checks: object) -> None:
    """Commit a spec, and the settings with an agent that runs the shell commands `work`."""
    agent = folder / "home/agent"
    agent.write_text(f"#!/bin/sh\n{work}")
    agent.chmod(0o755)
    agents = {"mine": {"adapter": "command", "command": [str(agent)]}}
    document = {"agents": agents, "defaultAgent": "mine", "checks": checks}
    (root / ".aigon/profiles").mkdir(parents=True)
    (root / ".aigon/profiles/tests-alone.yaml").write_text(PROFILE)
    (root / ".aigon/config.json").write_text(json.dumps(document))
    (root / SPEC).parent.mkdir(parents=True)
    (root / SPEC).write_text(spec)
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.invalid")):
        read_git(root, "config", key, value)
    read_git(root, "add", "-A")
    read_git(root, "commit", "-q", "-m", "docs: the feature to build")


def implement_feature(
    root: Path, folder: Path, program: Sequence[str], sandbox: str, environment: Path
) -> subprocess.CompletedProcess[str]:
    """Run one iteration by aigon, which `program` makes of this Python, in an environment with the project's Python."""
    home = folder / "home"
    path = os.pathsep.join([f"{environment}/bin", os.environ.get("PATH", os.defpath)])
    env = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "AIGON_STATE_HOME": str(home / "state")}
    options = ("--loop", "--max-iterations", "1", "--accept-passing", "--sandbox", sandbox, "--judge", "none", "--json")
    argv = [sys.executable, *program, "feature-implement", "1", *options]
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True)


def explain_end(out: str, err: str) -> str:
    """Return the reason of the outcome, or the last that was said."""
    for line in reversed(out.splitlines()):
        event = json.loads(line)
        if event.get("event") == "run_finished":
            said = (str(event.get("summary", "")).partition("\n")[0], *event.get("remaining_issues", ()))
            return " | ".join(str(each) for each in (*said, event.get("error")) if each)
    return (err.strip().splitlines() or [""])[-1]


def render_table(rows: Sequence[Replayed]) -> str:
    lines = [
        f"| {row.commit.name[:10]} | {row.commit.subject[:60]} | {row.code} | {row.reason[:400]} |" for row in rows
    ]
    return "\n".join(["| commit | subject | exit | reason |", "|---|---|---|---|", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="only list what would be replayed")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--environment", type=Path, help="an environment for Python in which the tests run")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    asked = parser.parse_args()
    repository = asked.repository.resolve()
    environment = asked.environment.resolve() if asked.environment else make_environment()
    chosen: list[Commit] = []
    for commit in find_commits(repository):
        if len(chosen) == asked.commits:
            break
        if asked.list or has_passing_tests(repository, commit, environment):
            chosen.append(commit)
            print(f"{commit.name[:10]} {commit.subject}", flush=True)
    rows = []
    for commit in () if asked.list else chosen:
        with tempfile.TemporaryDirectory(prefix="replay-") as folder:
            rows.append(replay(repository, commit, Path(folder), asked.sandbox, environment))
        print(f"{commit.name[:10]} exit {rows[-1].code}: {rows[-1].reason}", flush=True)
    if rows:
        print(f"\n{render_table(rows)}\n")
        codes = Counter(row.code for row in rows)
        print(f"{codes[0]} of {len(rows)} proven; exit codes: {dict(codes)}")
        if asked.table:
            asked.table.write_text(f"{render_table(rows)}\n")


if __name__ == "__main__":
    main()
