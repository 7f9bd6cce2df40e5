"""Take every mechanism out in turn, in a copy of the tree, and see its test go red.

`python -m tests.faults.mechanisms`; with words, only the mechanisms in whose row, name or test one of them stands.
Exit 1 when a test stays green without its mechanism, is red with it, or a text to take out is not there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.faults.mechanism_list import MECHANISMS, Mechanism

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".git", ".venv", "node_modules", "__pycache__", ".*_cache", "dist", "build")
GREEN, RED = 0, 1
"""What pytest exits with when all passed, and when a test failed; anything else is neither."""


def chosen(words: Sequence[str]) -> tuple[Mechanism, ...]:
    """Those that are meant by the words; all without one."""
    return tuple(m for m in MECHANISMS if not words or any(word in f"{m.row} {m.name} {m.test}" for word in words))


def without(text: str, mechanism: Mechanism) -> str:
    """The file's text without the mechanism. Raises LookupError where it is not there exactly once."""
    if text.count(mechanism.text) != 1:
        raise LookupError(f"{mechanism.file} holds {text.count(mechanism.text)} times: {mechanism.text.strip()}")
    return text.replace(mechanism.text, mechanism.instead)


def result(tree: Path, test: str) -> int:
    """What pytest exits with for one test, in a copy of the tree."""
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "slow or not slow", test]
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(line, cwd=tree, env=env, stdin=subprocess.DEVNULL, capture_output=True).returncode


def tried(tree: Path, mechanism: Mechanism) -> str:
    """What is wrong with the mechanism or its test; nothing where the test is red without it and green with it."""
    file = tree / mechanism.file
    whole = file.read_text()
    try:
        file.write_text(without(whole, mechanism))
        seen = result(tree, mechanism.test)
    except LookupError as error:
        return str(error)
    finally:
        file.write_text(whole)
    if seen != RED:
        return "green without the mechanism" if seen == GREEN else f"pytest exited with {seen} without the mechanism"
    return "" if result(tree, mechanism.test) == GREEN else "red with the mechanism in place"


def outcomes(words: Sequence[str]) -> Iterator[tuple[Mechanism, str]]:
    """Each mechanism with what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="aigon-mechanisms-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for mechanism in chosen(words):
            yield mechanism, tried(tree, mechanism)


def main(words: Sequence[str]) -> int:
    """Print a line for each; the exit code."""
    wrong = 0
    for mechanism, problem in outcomes(words):
        wrong += bool(problem)
        print(f"{'WRONG' if problem else 'ok   '}  {mechanism.row}: {mechanism.name}", flush=True)
        if problem:
            print(f"       {problem}\n       {mechanism.test}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
