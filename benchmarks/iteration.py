"""What an iteration of the loop costs beside `agent; git add -A; git commit`.

    python -m benchmarks.iteration [--files 100 1000 10000 100000] [--rounds 7] [--sandbox auto none] [--growth]
    python -m benchmarks.iteration --parts

Both loops run the same agent (it changes one file and returns at once) on copies of the same packed repository, in
turns within one run, so that a busy machine slows both. The loop runs with --skip-validation and one criterion that is
never met, which costs it a shell per iteration that the bare loop does not have; agents and checks are in the sandbox
that a person gets here by default (`auto`), and in none. Printed per size and sandbox: the median time of an iteration
of each, and the median of the ratios of each round, against its bound. With --growth: the 1,000th iteration of a
feature (over resumes) against its 10th. With --parts: what an iteration consists of, counted, beside its budget.
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

from benchmarks.parts import PartsMeter, divide, print_budget

BOUNDS = {100: 2.2, 1_000: 1.7, 10_000: 1.25, 100_000: 0.95}
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


def bare_loop(root: Path, agent: Path, rounds: int, env: dict[str, str]) -> float:
    """Seconds per iteration of the reference: one shell, `agent; git add -A; git commit` again and again."""
    script = f'for i in $(seq {rounds}); do "{agent}"; git add -A; git commit -qm "iteration $i"; done'
    begun = time.perf_counter()
    subprocess.run(["bash", "-c", script], cwd=root, env=env, check=True)
    return (time.perf_counter() - begun) / rounds


def aigon_loop(root: Path, options: list[str], env: dict[str, str]) -> list[float]:
    """Seconds per iteration of the loop: from one prompt written to the next."""
    command = [sys.executable, "-m", "aigon", "feature-implement", "1", "--skip-validation", *options]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    times = sorted(p.stat().st_mtime_ns for p in root.glob(".aigon/runs/*/*/prompt.md"))[-PER_INVOCATION:]
    return [(later - earlier) / 1e9 for earlier, later in itertools.pairwise(times)]


def compare(files: int, rounds: int, folder: Path, env: dict[str, str]) -> None:
    """Print the ratio of the two loops at this size."""
    ours = repository(folder, files, env)
    theirs = folder / "bare"
    shutil.copytree(ours, theirs, symlinks=True)
    subprocess.run(["git", "status", "-s"], cwd=theirs, env=env, check=True, capture_output=True)
    bare: list[float] = []
    loop: list[float] = []
    for number in range(rounds):
        before = bare_loop(theirs, folder / "agent", 10, env)
        took = aigon_loop(ours, ["--loop" if number == 0 else "--resume", "--max-iterations", "20"], env)
        loop.append(statistics.median(took))
        bare.append((before + bare_loop(theirs, folder / "agent", 10, env)) / 2)
    ratios = sorted(own / reference for own, reference in zip(loop, bare, strict=True))
    ratio, bound = statistics.median(ratios), BOUNDS.get(files)
    verdict = "" if bound is None else f"  bound {bound}  {'ok' if ratio <= bound else 'OVER'}"
    times = f"bare {statistics.median(bare) * 1000:7.1f} ms, aigon {statistics.median(loop) * 1000:7.1f} ms"
    print(f"{files:>7} files: {times}, ratio {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}){verdict}", flush=True)


def growth(folder: Path, env: dict[str, str], rounds: int) -> None:
    """Print the iterations around the 1,000th of a feature against those around the 10th of a fresh one, in turns."""
    (folder / "old").mkdir()
    old = repository(folder / "old", 100, env)
    for number in range(49):
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
        f"around the 1,000th iteration {own * 1000:.1f} ms, around the 10th {reference * 1000:.1f} ms, "
        f"ratio {ratio:.2f}  bound {GROWTH_BOUND}  {verdict}"
    )


def parts(folder: Path, env: dict[str, str]) -> None:
    """Print what the last nine of twelve iterations consist of."""
    root, meter = repository(folder, 100, env), PartsMeter(folder / "meter", env)
    counts = []
    for number, how in ((1, "--loop"), (3, "--resume"), (12, "--resume")):
        aigon_loop(root, [how, "--max-iterations", str(number)], env | meter.env)
        counts.append(meter.take())
    print_budget(divide(*counts[1:], 9))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", type=int, nargs="*", default=list(BOUNDS))
    parser.add_argument("--rounds", type=int, default=7)
    mechanisms = ["auto", "bwrap", "namespaces", "landlock", "none"]
    parser.add_argument("--sandbox", nargs="*", choices=mechanisms, default=["auto", "none"])
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--parts", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aigon-bench-") as scratch:
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "AIGON_STATE_HOME": f"{scratch}/state", "LANG": "C.UTF-8"}
        for sandbox in given.sandbox:
            env["AIGON_SANDBOX"] = sandbox
            print(f"sandbox {sandbox}:")
            for files in (0,) if given.growth or given.parts else given.files:
                folder = Path(scratch) / f"{sandbox}-{files}"
                folder.mkdir()
                if given.parts:
                    parts(folder, env)
                elif given.growth:
                    growth(folder, env, given.rounds)
                else:
                    compare(files, given.rounds, folder, env)


if __name__ == "__main__":
    main()
