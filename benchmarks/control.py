"""How much of public test suites the negative control alters, and how often it doubts an honest one.

    python -m benchmarks.control REPOSITORY... [--check COMMAND] [--set-up COMMAND] [--sandbox MODE] [--logs FOLDER]

REPOSITORY is a clone, bare or not; `--check` runs its tests instead of what aigon finds (`npx vitest run`), `--set-up`
prepares the clone (`npm install`). The change to prove adds a file that nothing uses, so each test that passes with
another expected value, and goes on doing so in the confirming runs, is a false alarm. Printed for each suite: tests
that passed, the share of them altered, those excused as the altered line does not run or does not look, false alarms.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.replay import add_feature, explain_end, implement_feature, make_project
from tests.lab import make_environment

SHARE = 0.7
"""How many of the tests should be altered at least."""
PROGRAM = "import aigon.proof.control_plan as plan; plan.LITTLE = 1e9; from aigon.cli import main; main()"
"""aigon, with whole suites altered, whatever their time."""
WORK = "echo 'UNUSED = 1' > {file}\n"
SPEC = "# Add a file\n\n## Acceptance Criteria\n\n- [ ] All tests pass\n"


def measure(repository: Path, folder: Path, check: str, set_up: str, sandbox: str) -> tuple[dict[str, Any], str]:
    """Return the record of the control, empty if there is none, and how the run ended."""
    root = make_project(repository, "HEAD", folder)
    if set_up:
        subprocess.run(set_up, shell=True, cwd=root, check=True, stdout=subprocess.DEVNULL)
    checks: dict[str, object] = {"tests": {"command": check, "role": "tests"}} if check else {}
    suffix = "js" if (root / "package.json").exists() else "py"
    add_feature(root, folder, SPEC, WORK.format(file=f"unused_file.{suffix}"), **checks)
    done = implement_feature(root, folder, ("-c", PROGRAM), sandbox, make_environment())
    records = [json.loads(file.read_bytes()) for file in root.glob(".aigon/runs/*/*/proof/control.json")]
    return (records[-1] if records else {}), f"exit {done.returncode}: {explain_end(done.stdout, done.stderr)}"


def render_row(name: str, record: dict[str, Any]) -> str:
    altered, survived = int(record["altered"]), dict(record["survived"])
    tests = altered + int(record["plain"])
    cells = (name, tests, altered, f"{altered / tests:.0%}", len(record["excused"]), len(survived))
    return f"| {' | '.join(map(str, cells))} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("repositories", metavar="REPOSITORY", type=Path, nargs="+")
    parser.add_argument("--check", default="")
    parser.add_argument("--set-up", default="")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--logs", type=Path, help="keep the record of each control in this folder")
    asked = parser.parse_args(arguments)
    rows, altered, tests, doubted = [], 0, 0, 0
    for repository in asked.repositories:
        name = next(part for part in reversed(repository.resolve().parts) if part not in ("repo", ".git"))
        with tempfile.TemporaryDirectory(prefix="control-") as folder:
            record, end = measure(repository.resolve(), Path(folder), asked.check, asked.set_up, asked.sandbox)
        print(f"{name}: {end}", flush=True)
        if not record:
            continue
        for test, doubt in record["survived"].items():
            print(f"  {doubt}: {test}")
        if record["left_out"] or record["lacking"]:
            print(f"  partial: {record['lacking']} {record['left_out']}")
        if asked.logs:
            (asked.logs / f"{name}.json").write_text(json.dumps(record, indent=1))
        rows.append(render_row(name, record))
        altered += int(record["altered"])
        tests += int(record["altered"]) + int(record["plain"])
        doubted += len(record["survived"])
    if tests:
        print(
            "\n".join(
                ["| suite | tests | altered | share | excused | false alarms |", "|---|---|---|---|---|---|", *rows]
            )
        )
        print(f"{altered / tests:.1%} altered (wanted {SHARE:.0%}), {doubted} false alarms in {altered}")


if __name__ == "__main__":
    main()
