"""What the clean-room proof costs, part by part, beside the project's own suite of tests.

    python -m benchmarks.proof_parts [--project tour suite inputs] [--seconds 30] [--files 60] [--sandbox auto]

Three projects are proven: that of the README's tour, one whose suite computes for `--seconds` in `--files` files, to
which a feature adds a function with its test, and the same with a golden file that a test compares. Printed for each
run in a clean room, and for the whole proof: the programs that aigon starts, the runs that reported tests, processor
and wall seconds, and these as shares of what the suite alone takes: of its processor seconds by hand, and of its wall
seconds in the workspace in the same run. What runs side by side counts the programs and the processor seconds of both.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

WHOLE, DRY_RUN = "the whole proof", "dry run"
BOUNDS = {"tour": (1.5, "s"), "suite": (2.6, "x the suite"), "inputs": (2.6, "x the suite")}
SPEC = "docs/specs/features/03-in-progress/feature-1-parts.md"
CRITERIA = """\
- [ ] goodbye <!-- verify: python3 -c 'import greeter; assert greeter.goodbye("Ada") == "Goodbye, Ada!"' -->
- [ ] There are at least two tests <!-- metric: grep -c "^def test_" test_greeter.py >= 2 -->
- [ ] All tests pass
- [ ] So they do by hand <!-- verify: python3 -m pytest -q -->
"""
FILES = {
    "greeter.py": 'def hello(name):\n    return f"Hello, {name}!"\n',
    "test_greeter.py": 'import greeter\n\n\ndef test_hello():\n    assert greeter.hello("Ada") == "Hello, Ada!"\n',
    ".gitignore": "__pycache__/\n",
    SPEC: f"# Say goodbye\n\n## Acceptance Criteria\n\n{CRITERIA}",
}
INPUTS = {
    "golden/hello.txt": "Hello, Ada!",
    "test_golden.py": """\
from pathlib import Path

import greeter


def test_hello():
    assert greeter.hello("Ada") == Path("golden/hello.txt").read_text()
""",
}
AGENT = r"""#!/bin/sh
printf '\n\ndef goodbye(name):\n    return f"Goodbye, {name}!"\n' >> greeter.py
printf '\n\ndef test_goodbye():\n    assert greeter.goodbye("Ada")\n' >> test_greeter.py
"""
SLOW_TESTS = """\
import time

import greeter


def compute():
    end = time.process_time() + {seconds}
    while time.process_time() < end:
        pass
    return greeter.hello("Ada")


def test_one():
    assert compute() == "Hello, Ada!"


def test_other():
    assert len(compute()) == 11
"""


class Part(Struct):
    """What one run in a clean room cost, or the whole proof."""

    name: str
    checks: int = 0
    programs: int = 0
    reports: int = 0
    cpu: float = 0.0
    wall: float = 0.0


class Recorder(Struct):
    """Counts what aigon does in this process while a proof runs; `suite` are the seconds of the tests before it."""

    parts: list[Part] = field(default_factory=list)
    suite: float = 0.0
    suite_cpu: float = 0.0
    programs: int = 0

    def record(self, arguments: Sequence[str]) -> int:
        """Run aigon, and return its exit code."""
        from aigon.commands.root import run
        from aigon.proof import bench, prove

        run_once, attempt = bench.ProofBench._run_once, prove._attempt_proof

        def record_run(itself: Any, tree: str, checks: Any, name: str, overlay: Any) -> Any:
            with self._measure(DRY_RUN if itself.of_people else name) as part:
                results = run_once(itself, tree, checks, name, overlay)
                part.checks = len(checks)
                # What only repeats the command of another check has its log.
                part.reports = len({result.finding.log for result in results.values() if result.reported})
            return results

        def record_proof(job: Any, world: Any, snapshot: Any, look: Any, *others: Any) -> Any:
            self.suite = sum(finding.duration for finding in look.findings if finding.role == "tests")
            with self._measure(WHOLE) as part:
                result = attempt(job, world, snapshot, look, *others)
                part.reports = sum(each.reports for each in self.parts if each is not part and each.name != DRY_RUN)
            return result

        vars(prove)["_attempt_proof"] = record_proof
        bench.ProofBench._run_once = record_run  # type: ignore[method-assign]
        sys.addaudithook(self._count)
        return run([*arguments])

    def _count(self, event: str, _arguments: object) -> None:
        self.programs += event == "subprocess.Popen"

    @contextmanager
    def _measure(self, name: str) -> Iterator[Part]:
        part = Part(name)
        self.parts.append(part)
        programs, cpu, wall = self.programs, sum(os.times()[:4]), time.monotonic()
        yield part
        part.programs = self.programs - programs
        part.cpu, part.wall = sum(os.times()[:4]) - cpu, time.monotonic() - wall


def make_project(folder: Path, env: dict[str, str], seconds: float, files: int, more: Mapping[str, str]) -> Path:
    """Make a repository with a feature to build, and an agent that builds it; its suite takes so many seconds."""
    root = folder / "repo"
    slow = {f"test_slow_{n}.py": SLOW_TESTS.replace("{seconds}", str(seconds / files / 2)) for n in range(files)}
    for name, text in {**FILES, **slow, **more}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (folder / "agent").write_text(AGENT)
    (folder / "agent").chmod(0o755)
    agents = {"mine": {"adapter": "command", "command": [str(folder / "agent")]}}
    (root / ".aigon").mkdir()
    (root / ".aigon/config.json").write_text(json.dumps({"agents": agents, "defaultAgent": "mine"}))
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=root, env=env, check=True)
    return root


def measure(seconds: float, files: int, more: Mapping[str, str], sandbox: str) -> Recorder:
    """Prove the feature of such a project in a process of its own, and return what was recorded there."""
    with tempfile.TemporaryDirectory(prefix="aigon-parts-") as name:
        folder, home = Path(name), Path(name) / "home"
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        env = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "AIGON_STATE_HOME": f"{home}/state"}
        env |= {"AIGON_SANDBOX": sandbox, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        env["PYTHONPATH"] = str(Path(__file__).parents[1])
        root = make_project(folder, env, seconds, files, more)
        before = sum(os.times()[2:4])
        subprocess.run(["python3", "-m", "pytest", "-q"], cwd=root, env=env, check=True, capture_output=True)
        suite_cpu = sum(os.times()[2:4]) - before
        line = [sys.executable, "-m", "benchmarks.proof_parts", "--record", f"{name}/parts"]
        done = subprocess.run(line, cwd=root, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        recorded = json.loads((folder / "parts").read_text())
        parts = [made for part in recorded["parts"] if (made := Part(**part)).checks or made.name == WHOLE]
        return Recorder(parts, recorded["suite"], suite_cpu)


def render_table(recorder: Recorder) -> str:
    lines = ["| part | programs | reports | CPU s | x suite | wall s | x suite |", "|---|---|---|---|---|---|---|"]
    for part in sorted(recorder.parts, key=lambda part: part.name == WHOLE):
        cpu, wall = part.cpu / recorder.suite_cpu, part.wall / recorder.suite
        figures = f"{part.cpu:.2f} | {cpu:.2f} | {part.wall:.2f} | {wall:.2f}"
        lines.append(f"| {part.name} | {part.programs} | {part.reports} | {figures} |")
    return "\n".join(lines)


def main() -> int:
    """Print the tables; exit code 1 if a proof took longer than its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof_parts")
    parser.add_argument("--project", choices=[*BOUNDS], nargs="*", default=[*BOUNDS])
    parser.add_argument("--seconds", type=float, default=30.0, help="processor time of the suite")
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.record:
        recorder = Recorder()
        code = recorder.record(["feature-implement", "1", "--loop"])
        asked.record.write_text(json.dumps(to_builtins(recorder)))
        return code
    is_over = False
    for project in asked.project:
        files, more = 0 if project == "tour" else asked.files, INPUTS if project == "inputs" else {}
        recorder = measure(asked.seconds, files, more, asked.sandbox)
        whole = next(part for part in recorder.parts if part.name == WHOLE)
        bound, unit = BOUNDS[project]
        figure = whole.wall if unit == "s" else whole.wall / recorder.suite
        is_over = is_over or figure > bound
        verdict = "ok" if figure <= bound else "OVER"
        alone = f"{recorder.suite:.2f} s, {recorder.suite_cpu:.2f} s of a processor"
        print(f"{project}: the suite alone {alone}\n\n{render_table(recorder)}\n")
        print(f"in all {figure:.2f} {unit}  bound {bound}  {verdict}\n")
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
