"""How much of aigon a person has to read to follow one run: the files in which at least one function is called.

    python -m benchmarks.files_entered [--list]

Two things are counted in all threads and processes of aigon that see PYTHONPATH, imports left out: a trivial run (one
criterion, one check, a command agent, proven after one turn) and `aigon spec-show`. `--list` names the files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BOUNDS = {"run": 150, "spec-show": 15}
PACKAGE = Path(__file__).parents[1] / "aigon"
SPEC = "docs/specs/features/03-in-progress/feature-1-greet.md"
PROFILER = """
import os, sys, threading
_seen, _out, _package = set(), os.environ["AIGON_FILES_ENTERED"], os.environ["AIGON_PACKAGE"]
def _importing(frame):
    while frame:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
def _note(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(_package) and name not in _seen and not _importing(frame):
        if frame.f_code.co_name != "<module>":
            _seen.add(name)
            with open(_out, "a") as file:
                file.write(name + "\\n")
threading.setprofile(_note)
sys.setprofile(_note)
"""


def make_project(folder: Path, env: dict[str, str]) -> Path:
    """Make a repository with one feature, one check and an agent that does the work at once."""
    root = folder / "repo"
    (root / SPEC).parent.mkdir(parents=True)
    (root / SPEC).write_text("# Greet\n\n## Acceptance Criteria\n\n- [ ] done <!-- verify: test -f done.txt -->\n")
    agent = folder / "agent"
    agent.write_text("#!/bin/sh\necho done > done.txt\n")
    agent.chmod(0o755)
    (root / ".aigon").mkdir()
    agents = {"mine": {"adapter": "command", "command": [str(agent)]}}
    (root / ".aigon/config.json").write_text(json.dumps({"agents": agents, "defaultAgent": "mine"}))
    script = root / ".aigon/validation.sh"
    script.write_text("#!/bin/sh\ntest -d docs\n")
    script.chmod(0o755)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=root, env=env, check=True)
    return root


def count_files(root: Path, env: dict[str, str], *arguments: str) -> list[str]:
    """Return the files of aigon that the command enters, as paths below the package."""
    out = root.parent / "entered"
    out.write_text("")
    line = [sys.executable, "-m", "aigon", *arguments]
    done = subprocess.run(
        line, cwd=root, env={**env, "AIGON_FILES_ENTERED": str(out)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted({str(Path(name).relative_to(PACKAGE)) for name in out.read_text().splitlines()})


def main() -> int:
    """Print both counts against their bounds; exit code 1 if one is above."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files_entered")
    parser.add_argument("--list", action="store_true", help="name the files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(PROFILER)
        person = {
            f"GIT_{who}_{what}": "ada@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        env = {
            "PATH": os.environ["PATH"],
            "HOME": name,
            "AIGON_STATE_HOME": f"{name}/state",
            "PYTHONPATH": f"{name}{os.pathsep}{PACKAGE.parent}",
            "AIGON_PACKAGE": f"{PACKAGE}{os.sep}",
            **person,
        }
        root = make_project(folder, env)
        counts = {
            "spec-show": count_files(root, env, "spec-show", "1"),
            "run": count_files(root, env, "feature-implement", "1", "--loop"),
        }
    for what, files in counts.items():
        print(f"{what}: {len(files)} files entered (at most {BOUNDS[what]})")
        if options.list:
            print("\n".join(f"  {file}" for file in files))
    return int(any(len(files) > BOUNDS[what] for what, files in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
