"""A limit on the size of files (ulimit -f): refused by name before a turn, and no git is killed by it."""

import subprocess

import pytest

from aigon.files.checksums import read_documents
from tests.lab import BRANCH, DONE_WHEN, Lab, Ran


def limited(lab: Lab, size: int, *arguments: str) -> Ran:
    """Run aigon where no file may be larger than `size` bytes."""
    line = ["bash", "-c", f'ulimit -f {size // 1024}; exec "$@"', "bash", *lab.command(*arguments)]
    done = subprocess.run(line, cwd=lab.root, env=lab.env, capture_output=True, text=True, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_limit_that_is_too_small_is_seen_before_a_turn_is_paid_for(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent("touch done.txt")
    ran = limited(lab, 1 << 20, "feature-implement", "42", "--loop")
    assert ran.code == 7, ran.out + ran.err
    assert "a file may have at most 1 MB here" in ran.out and "ulimit -f" in ran.out
    assert not lab.path("done.txt").exists()
    assert lab.aigon("feature-implement", "42", "--resume").code == 0


@pytest.mark.parametrize(
    "size", [pytest.param(4096, id="the journal"), pytest.param(32768, id="the interpreter's own")]
)
@pytest.mark.slow
def test_a_record_that_may_not_grow_ends_the_run_with_words_and_not_with_a_signal(lab: Lab, size: int) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    ran = limited(lab, size, "feature-implement", "42", "--loop")
    assert ran.code == 7, f"{ran.code}\n{ran.out}\n{ran.err}"
    assert "Traceback" not in ran.out + ran.err
    for journal in lab.home.glob("state/repos/*/features/42/journal.jsonl"):
        read_documents(journal)
    lab.git("fsck", "--full", "--strict")
    left = [path for path in lab.path(".git").rglob("*.lock") if path.parent.name != "aigon"]
    assert not left


@pytest.mark.slow
def test_a_file_that_git_may_not_write_is_said_in_plain_words_and_leaves_no_lock(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("head -c 40000000 /dev/urandom > done.txt")
    begun = lab.aigon("feature-implement", "42", "--max-iterations", "1", env={"AIGON_FAILPOINT": "turn_ended:kill"})
    assert begun.code == -9
    ran = limited(lab, 20 << 20, "feature-implement", "42", "--resume")
    assert ran.code == 7, f"{ran.code}\n{ran.out}\n{ran.err}"
    assert "ulimit -f" in ran.out + ran.err and "Traceback" not in ran.out + ran.err
    assert not lab.path(".git/index.lock").exists()
    assert lab.path("done.txt").stat().st_size == 40_000_000
    again = lab.aigon("feature-implement", "42", "--resume")
    assert again.code == 0, again.out + again.err
    assert lab.git("rev-parse", "--abbrev-ref", "HEAD") == BRANCH
