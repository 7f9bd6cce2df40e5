"""What is on disk when: a line of the journal before what it tells of, as the system saw it."""

import re
import shutil
import subprocess

import pytest

from tests.lab import Lab

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed"),
]
CALLS = "write,fdatasync,fsync,rename,renameat,renameat2,link,linkat,openat,execve"


def traced(lab: Lab, turns: int) -> list[str]:
    """The system calls of a run of so many turns, by aigon and all it started, in their order."""
    log = lab.home / "trace"
    lab.spec("never <!-- verify: false -->")
    lab.agent('echo "$AIGON_ITERATION" > work.txt')
    lab.config(proof="in-place", guards={"repeatedError": 0, "stall": 0})
    line = ["strace", "-f", "-y", "-s", "4000", "-e", f"trace={CALLS}", "-o", str(log)]
    command = [*line, *lab.command("feature-implement", "42", "--loop", "--max-iterations", str(turns))]
    done = subprocess.run(command, cwd=lab.root, env=lab.env, capture_output=True, text=True, timeout=300)
    if "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 3, done.stdout + done.stderr
    return log.read_text(errors="replace").splitlines()


def places(calls: list[str], pattern: str) -> list[int]:
    """Where a call that fits stands, from 0."""
    return [at for at, call in enumerate(calls) if re.search(pattern, call)]


def test_a_line_of_the_journal_is_flushed_before_what_it_tells_of_happens(lab: Lab) -> None:
    calls = traced(lab, 2)
    flushed = places(calls, r"f(data)?sync\(\d+<[^>]*/journal\.jsonl>")
    new = places(calls, r'openat\([^"]*"[^"]*journal\.jsonl"[^)]*O_CREAT')[0]
    folders = [at for at in places(calls, r"fsync\(\d+<[^>]*/features/42>") if at > new]
    assert folders and folders[0] < flushed[0], "the name of a new journal is flushed before a line is relied on"
    begun = places(calls, r"write\(\d+<[^>]*/journal\.jsonl>.*iteration_started")
    agents = places(calls, r'execve\("[^"]*mine-agent"')
    assert len(begun) == 2 and len(agents) >= 2
    for line in begun:
        agent = next(at for at in agents if at > line)
        assert any(line < at < agent for at in flushed), "no turn begins before the journal durably says so"
    intended = places(calls, r"write\(\d+<[^>]*/journal\.jsonl>.*checkpoint_intended")
    heads = places(calls, r'rename\w*\([^)]*refs/heads/feature-42-dark-mode\.lock"')
    assert len(intended) == 2 and len(heads) >= 2
    for line in intended:
        moved = next(at for at in heads if at > line)
        assert any(line < at < moved for at in flushed), "no branch moves before the journal durably says so"
