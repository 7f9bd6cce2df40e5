"""What a look costs: checks side by side against one after the other, and a tree on which every pass is remembered.

    python -m benchmarks.checks [--rounds 5] [--project PATH] [--cache FOLDER]

Without --project it is structlog, from its source distribution on PyPI, with the tools of which its release was green:
its tests, mypy and ruff. Both are fetched once, into --cache. A project of another PATH is copied, and has to be green
with the programs that are on the path. Each way looks at the same tree in turns within one run, so that a busy machine
slows both; the mechanism is the very one of a run (`take` and `assess`, nothing of the proof). Printed: the median of
each way, their ratio and its spread over the rounds (each with its neighbour) against the bound, and what a look at an
unchanged tree takes.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from aigon.git.person import Checkout
from aigon.job.assessment import Assessment
from aigon.job.job import Seat
from aigon.job.options import Options
from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.loop.assess import assess
from aigon.loop.take import take
from aigon.process import orphans
from aigon.process.stop import Stop
from aigon.run.session import Session, open_session

SIDE_BY_SIDE = 0.8
"""Bound on the time beside the sum of the parts, on a machine with two processors."""
UNCHANGED_MS = 20.0
UNCHANGED_LOOKS = 20
NAME, VERSION = "structlog", "25.5.0"
TOOLS = (
    *("pytest==9.0.1", "pytest-asyncio==1.3.0", "time-machine==3.1.0", "simplejson==3.20.2"),
    *("mypy==1.18.2", "rich==14.2.0", "twisted==25.5.0", "ruff==0.14.2"),
)
"""Those of its release, and the ruff of its pre-commit configuration: later ones find what nobody has mended there."""
CHECKS = {"types": {"command": "mypy src tests/typing"}}
"""Its `tox -e typing-mypy` and its own sources."""
SPEC = "docs/specs/features/03-in-progress/feature-1-cost.md"
CRITERION = "all tests pass <!-- check: tests -->"

R = TypeVar("R")


def structlog(cache: Path) -> tuple[Path, Path]:
    """Its sources, and the folder with the programs that its checks need; fetched where they are not there yet."""
    sources, environment = cache / f"{NAME}-{VERSION}", cache / f"{NAME}-{VERSION}-env"
    if not sources.is_dir():
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", NAME, "-d", str(cache))
        subprocess.run([*pip, f"{NAME}=={VERSION}"], check=True)
        with tarfile.open(cache / f"{NAME}-{VERSION}.tar.gz") as archive:
            archive.extractall(cache, filter="data")
    if not (environment / "done").exists():
        venv.create(environment, clear=True, with_pip=True)
        install = (str(environment / "bin" / "python"), "-m", "pip", "install", "-q", *TOOLS, str(sources))
        subprocess.run(install, check=True)
        (environment / "done").touch()
    return sources, environment / "bin"


def repository(folder: Path, sources: Path, checks: object) -> Path:
    """A copy of the project with one commit and a feature that is not proven by its checks alone."""
    ignored = shutil.ignore_patterns(".git", ".venv", "venv", "__pycache__", ".*_cache", "loop-state-*", "runs")
    root = shutil.copytree(sources, folder / "repo", ignore=ignored, symlinks=True)
    spec = root / SPEC
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(f"# Feature: Cost\n\n## Acceptance Criteria\n\n- [ ] {CRITERION}\n- [ ] never looks good\n")
    (root / ".aigon").mkdir(exist_ok=True)
    config: dict[str, object] = {
        "agents": {"idle": {"adapter": "command", "command": ["true"]}},
        "defaultAgent": "idle",
    }
    config |= {"judge": {"backend": "none"}, "checks": checks} if checks else {"judge": {"backend": "none"}}
    (root / ".aigon" / "config.json").write_text(json.dumps(config))
    with (root / ".gitignore").open("a") as file:
        file.write(
            "\n__pycache__/\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.aigon/runs/\n.aigon/loop-state-*.json\n"
        )
    for arguments in (
        ["-c", "init.defaultBranch=main", "init", "-q"],
        ["config", "user.name", "Bench"],
        ["config", "user.email", "bench@example.invalid"],
        ["add", "-A"],
        ["commit", "-qm", "base"],
    ):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


@contextmanager
def session_of(root: Path) -> Iterator[Session]:
    """A run of the feature that has been opened and goes no further."""
    options = Options("1", loop=True)
    with (
        Checkout.open(root) as checkout,
        open_session(Seat(checkout, checkout.root), options, Stop(), lambda _: True) as session,
    ):
        yield replace(session, state=reduce(State.apply, session.opening, session.state))


def drained(generator: Generator[Event, State, R], state: State) -> R:
    """What it returns; nobody watches its events."""
    try:
        next(generator)
        while True:
            generator.send(state)
    except StopIteration as end:
        result: R = end.value
        return result


def look(session: Session, *, slots: int, remembered: bool) -> tuple[float, float, Assessment]:
    """Seconds for the snapshot, seconds for the checks on it, and what they came to."""
    job = replace(session.job, slots=slots, use_cache=remembered)
    begun = time.perf_counter()
    snapshot = drained(take(job, session.world, session.state), session.state)
    taken = time.perf_counter()
    found = drained(assess(job, session.world, snapshot, session.state), session.state)
    return taken - begun, time.perf_counter() - taken, found


def require_green(found: Assessment) -> None:
    """Exit where a check is red: nothing of it would be remembered, and a failure may end sooner."""
    if red := [f"{each.title}: {each.summary} ({each.log})" for each in found.findings if each.status != "pass"]:
        raise SystemExit("not measured, since this is red: " + "; ".join(red))


def side_by_side(session: Session, rounds: int) -> None:
    """The same checks in two ways, in turns; printed."""
    session.world.durations = {
        each.check: each.duration for each in look(session, slots=2, remembered=False)[2].findings
    }
    both, alone = [], []
    for _ in range(rounds):
        alone.append(sum(look(session, slots=1, remembered=False)[:2]))
        both.append(sum(look(session, slots=2, remembered=False)[:2]))
    ratios = sorted(one / other for one, other in zip(both, alone, strict=True))
    ratio = statistics.median(ratios)
    print(
        f"one after the other {statistics.median(alone):6.2f} s, side by side {statistics.median(both):6.2f} s, "
        f"ratio {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})  bound {SIDE_BY_SIDE}  "
        f"{'ok' if ratio <= SIDE_BY_SIDE else 'OVER'}"
    )


def unchanged(session: Session) -> None:
    """Looks at a tree whose passes are all remembered; printed."""
    require_green(look(session, slots=2, remembered=True)[2])
    taken: list[float] = []
    whole: list[float] = []
    for _ in range(UNCHANGED_LOOKS):
        snapshot, rest, found = look(session, slots=2, remembered=True)
        assert all(finding.cached for finding in found.findings), "something was run again"
        taken.append(1000 * snapshot)
        whole.append(1000 * (snapshot + rest))
    middle = statistics.median(whole)
    print(
        f"nothing changed: {middle:.1f} ms ({min(whole):.1f} to {max(whole):.1f}), the snapshot "
        f"{statistics.median(taken):.1f} ms of it  bound {UNCHANGED_MS:.0f} ms  "
        f"{'ok' if middle <= UNCHANGED_MS else 'OVER'}"
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "aigon-benchmarks")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aigon-bench-") as scratch:
        if given.project:
            root = repository(Path(scratch), given.project, None)
        else:
            given.cache.mkdir(parents=True, exist_ok=True)
            sources, programs = structlog(given.cache)
            root = repository(Path(scratch), sources, CHECKS)
            os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
            os.environ["PYTHONPATH"] = str(root / "src")
        os.environ["AIGON_STATE_HOME"] = f"{scratch}/state"
        orphans.adopt_orphans()
        with session_of(root) as session:
            named = ", ".join(check.name for check in session.job.checks)
            print(f"{given.project or f'{NAME} {VERSION}'}: {named}; {os.cpu_count()} processors")
            require_green(look(session, slots=2, remembered=False)[2])
            side_by_side(session, given.rounds)
            unchanged(session)


if __name__ == "__main__":
    main()
