"""Scripts that cannot fail prove nothing; one that might is never called such."""

import subprocess
from pathlib import Path

import pytest

from aigon.proof.vacuity import can_fail

CANNOT = (
    "true", ":", "exit 0", "echo x", "printf done", "# nothing to run", "", "make test || true", "make test ; true",
    "make test; exit 0", "pytest -q | cat", "pytest 2>&1 | tee -a", "grep -c x f | wc -l", "npm test || echo failed",
    "! false", "bash -c 'make || true'", "make &", "make test || :", "false || true", "true && echo ok",
    "make && exit 0 || exit 0", "cat f | head -n 5",
)  # fmt: skip
CAN = (
    "false", "test -f x", "! true", "exit 1", "exit 1; true", "! false | cat",
    "make test", "make || false", "true && make", "echo x | grep y", "pytest",
    "make || exit 1", "cat file", "pytest | tee log/x", "set -e; make; true", "set -o pipefail; pytest | cat",
    "! grep -q x f", "if make; then true; fi", "(make)", "x=$(make)", "echo 'open", "bash -c 'make'", "bash check.sh",
    "make; test -f x", "make && exit 0", "true || make; make", "$CHECK", "python -c 'print(1)'",
    "cat <<E\nx\nE", "for i in 1; do make; done",
)  # fmt: skip


@pytest.mark.parametrize("script", CANNOT)
def test_a_script_that_cannot_fail_is_recognised(script: str, tmp_path: Path) -> None:
    assert not can_fail(script)
    failing = "make() { return 1; }; pytest() { return 1; }; npm() { return 1; }; grep() { return 1; }\n"
    line = ["bash", "-c", failing + script]
    assert subprocess.run(line, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("script", CAN)
def test_a_script_that_may_fail_is_left_alone(script: str) -> None:
    assert can_fail(script)
