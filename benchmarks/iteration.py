"""What an iteration of the loop costs beside `agent; git add -A; git commit`.

    python -m benchmarks.iteration [--files 100 1000 10000 100000] [--rounds 3] [--sandbox auto] [--growth]

Both loops run the same agent (it changes one file and returns at once) on copies of the same repository, in turns
within one run, so that a busy machine slows both. The loop runs with --skip-validation and one criterion that is
never met, which costs it a shell per iteration that the bare loop does not have. Without --sandbox the agent runs in
none, as it does in the bare loop; the bounds are for that. Printed per size: the median time of
an iteration of each, and their ratio against its bound. With --growth: the 200th iteration of a feature (over
resumes) against its 10th.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOUNDS = {100: 2.5, 1_000: 2.2, 10_000: 1.6, 100_000: 1.2}
GROWTH_BOUND = 1.2
PER_INVOCATION = 20
AGENT = "#!/bin/sh\necho $$ >> d0/f0\n"
SPEC = "docs/specs/features/03-in-progress/feature-1-cost.md"


def repository(folder: Path, files: int, env: dict[str, str]) -> Path:
    """A repository with `files` small files in folders of 100."""
    root = folder / f"repo-{files}"
    root.mkdir()
    for number in range(files):
        place = root / f"d{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"f{number}").write_text(f"{number}\n" * 20)
    spec = root / SPEC
    spec.parent.mkdir(parents=True)
    spec.write_text("# Feature: Cost\n\n## Acceptance Criteria\n\n- [ ] never <!-- verify: false -->\n")
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    config = {
        "agents": {"touch": {"adapter": "command", "command": [str(agent)]}},
        "guards": {"stall": 0, "repeatedError": 0},
    }
    (root / ".aigon").mkdir()
    (root / ".aigon" / "config.json").write_text(json.dumps(config))
    (root / ".gitignore").write_text(".aigon/runs/\n.aigon/loop-state-*.json\n")
    for arguments in (
        ["-c", "init.defaultBranch=main", "init", "-q"],
        ["config", "user.name", "Bench"],
        ["config", "user.email", "bench@example.invalid"],
        ["config", "gc.auto", "0"],
        ["add", "-A"],
        ["commit", "-qm", "base"],
        ["gc", "-q"],
    ):
        subprocess.run(["git", *arguments], cwd=root, env=env, check=True)
    return root


def bare_loop(root: Path, agent: Path, rounds: int, env: dict[str, str]) -> list[float]:
    """Seconds per iteration of the reference: one shell, `agent; git add -A; git commit` again and again."""
    script = f'for i in $(seq {rounds}); do "{agent}"; git add -A; git commit -qm "iteration $i"; done'
    begun = time.perf_counter()
    subprocess.run(["bash", "-c", script], cwd=root, env=env, check=True)
    return [(time.perf_counter() - begun) / rounds]


def aigon_loop(root: Path, options: list[str], env: dict[str, str]) -> list[float]:
    """Seconds per iteration of the loop: from one prompt written to the next."""
    command = [sys.executable, "-m", "aigon", "feature-implement", "1", "--skip-validation", *options]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    times = sorted(p.stat().st_mtime_ns for p in root.glob(".aigon/runs/*/*/prompt.md"))[-PER_INVOCATION:]
    return [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(times)]


def compare(files: int, rounds: int, folder: Path, env: dict[str, str]) -> float:
    """The ratio of the two loops at this size, printed."""
    ours = repository(folder, files, env)
    theirs = folder / "bare"
    shutil.copytree(ours, theirs, symlinks=True)
    subprocess.run(["git", "status", "-s"], cwd=theirs, env=env, check=True, capture_output=True)
    bare: list[float] = []
    loop: list[float] = []
    for number in range(rounds):
        bare += bare_loop(theirs, folder / "agent", 10, env)
        loop += aigon_loop(ours, ["--loop" if number == 0 else "--resume", "--max-iterations", "20"], env)
        bare += bare_loop(theirs, folder / "agent", 10, env)
    reference, own = statistics.median(bare), statistics.median(loop)
    ratio, bound = own / reference, BOUNDS.get(files)
    verdict = "" if bound is None else f"  bound {bound}  {'ok' if ratio <= bound else 'OVER'}"
    print(f"{files:>7} files: bare {reference * 1000:7.1f} ms, aigon {own * 1000:7.1f} ms, ratio {ratio:.2f}{verdict}")
    return ratio


def growth(folder: Path, env: dict[str, str], rounds: int) -> float:
    """The iterations around the 200th of a feature against those around the 10th of a fresh one, in turns; printed."""
    (folder / "old").mkdir()
    old = repository(folder / "old", 100, env)
    for number in range(9):
        aigon_loop(old, ["--loop" if number == 0 else "--resume", "--max-iterations", "20"], env)
    early: list[float] = []
    late: list[float] = []
    for number in range(rounds):
        (folder / f"fresh-{number}").mkdir()
        early += aigon_loop(repository(folder / f"fresh-{number}", 100, env), ["--loop", "--max-iterations", "20"], env)
        late += aigon_loop(old, ["--resume", "--max-iterations", "20"], env)
    own, reference = statistics.median(late), statistics.median(early)
    ratio = own / reference
    verdict = "ok" if ratio <= GROWTH_BOUND else "OVER"
    print(
        f"around the 200th iteration {own * 1000:.1f} ms, around the 10th {reference * 1000:.1f} ms, "
        f"ratio {ratio:.2f}  bound {GROWTH_BOUND}  {verdict}"
    )
    return ratio


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", type=int, nargs="*", default=list(BOUNDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sandbox", choices=["auto", "bwrap", "namespaces", "landlock", "none"], default="none")
    parser.add_argument("--growth", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aigon-bench-") as scratch:
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "AIGON_STATE_HOME": f"{scratch}/state", "LANG": "C.UTF-8"}
        env["AIGON_SANDBOX"] = given.sandbox
        if given.growth:
            growth(Path(scratch), env, given.rounds)
            return
        for files in given.files:
            folder = Path(scratch) / str(files)
            folder.mkdir()
            compare(files, given.rounds, folder, env)


if __name__ == "__main__":
    main()
