"""What an arena costs: two loops side by side against one after the other, and a worktree that is used again.

    python -m benchmarks.arena [--rounds 3] [--seconds 8] [--files 10000]

Two agents do the same feature: a pair that waits (as for a model's answer) and a pair that computes on one processor.
Each way runs in turns within one run, so that a busy machine slows both. Printed: the median of each way and their
ratio against the bound; then how long a worktree of so many files takes to make and to use again, and how many of its
files were written the second time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOUNDS = {"wait": 0.7, "compute": 0.85}
"""Side by side over the sum, on two processors: clearly less, and less clearly where agents need a processor each."""
SPEC = "docs/specs/features/03-in-progress/feature-1-side-by-side.md"
AGENTS = {
    "wait": "sleep {seconds}",
    "compute": 'python3 -c "import time; e = time.process_time() + {seconds}\nwhile time.process_time() < e: pass"',
}


def repository(folder: Path, kind: str, seconds: float, files: int, env: dict[str, str]) -> Path:
    """A project with so many files, a feature, and two agents of this kind."""
    root = folder / "repo"
    root.mkdir(parents=True)
    for number in range(files):
        file = root / f"src/{number % 100:02}/{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * 20)
    spec = root / SPEC
    spec.parent.mkdir(parents=True)
    spec.write_text("# Side by side\n\n## Acceptance Criteria\n\n- [ ] done <!-- verify: test -f done.txt -->\n")
    agent = folder / "agent"
    agent.write_text(f"#!/bin/bash\n{AGENTS[kind].format(seconds=seconds)}\ntouch done.txt\n")
    agent.chmod(0o755)
    one = f'{{"adapter": "command", "command": ["{agent}"]}}'
    (root / ".aigon").mkdir()
    (root / ".aigon/config.json").write_text(f'{{"agents": {{"one": {one}, "two": {one}}}}}\n')
    for arguments in (
        ("-c", "init.defaultBranch=main", "init", "-q"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.invalid"),
        ("add", "-A"),
        ("commit", "-qm", "first"),
    ):
        subprocess.run(["git", *arguments], cwd=root, env=env, check=True)
    return root


def aigon(root: Path, env: dict[str, str], *arguments: str) -> float:
    """Seconds that aigon takes."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "aigon", *arguments]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - begun


def side_by_side(kind: str, rounds: int, seconds: float, scratch: Path, env: dict[str, str]) -> float:
    """The ratio of an arena to its loops one after the other, printed."""
    together: list[float] = []
    apart: list[float] = []
    for number in range(rounds):
        root = repository(scratch / f"{kind}-{number}-a", kind, seconds, 100, env)
        together.append(aigon(root, env, "feature-implement", "1", "--loop", "--agent", "one", "--agent", "two"))
        root = repository(scratch / f"{kind}-{number}-b", kind, seconds, 100, env)
        first = aigon(root, env, "feature-implement", "1", "--loop", "--worktree", "--agent", "one")
        second = aigon(root, env, "feature-implement", "1", "--loop", "--worktree", "--agent", "two")
        apart.append(first + second)
    own, reference = statistics.median(together), statistics.median(apart)
    ratio, bound = own / reference, BOUNDS[kind]
    said = "ok" if ratio <= bound else "OVER"
    print(
        f"two agents that {kind}: one after the other {reference:.1f} s, arena {own:.1f} s, ratio {ratio:.2f}"
        f"  bound {bound}  {said}"
    )
    return ratio


def reuse(files: int, scratch: Path, env: dict[str, str]) -> float:
    """The ratio of using a worktree again to making it, printed."""
    root = repository(scratch / "reuse", "wait", 0, files, env)
    made = aigon(root, env, "feature-setup", "1", "one")
    (there,) = (root.parent / "repo-worktrees").glob("feature-*")
    before = {path: path.stat().st_ino for path in there.rglob("*.txt")}
    again = aigon(root, env, "feature-setup", "1", "one")
    written = sum(before[path] != path.stat().st_ino for path in before)
    ratio = again / made
    said = "OVER" if written else "ok"
    print(
        f"a worktree of {files} files: made in {made:.2f} s, used again in {again:.2f} s, ratio {ratio:.2f}, "
        f"{written} of {len(before)} files written  bound 0  {said}"
    )
    return ratio


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--files", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aigon-bench-") as folder:
        scratch = Path(folder)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "AIGON_STATE_HOME": f"{folder}/state", "LANG": "C.UTF-8"}
        for kind in BOUNDS:
            side_by_side(kind, given.rounds, given.seconds, scratch, env)
        reuse(given.files, scratch, env)


if __name__ == "__main__":
    main()
