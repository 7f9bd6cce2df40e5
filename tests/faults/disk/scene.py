"""A small feature on a small disk, and what has to hold of it when a run was refused."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aigon.files.checksums import read_documents
from tests.faults.disk.small import SmallDisk
from tests.lab import BRANCH, LOG, SPEC, STATE, Lab, Ran, finish, until

WHEN = "grep -q agent done.txt"
"""An agent without room leaves an empty file."""
PLACES = ("workspace", "records", "temporary", "logs")
AGENT = 'printf "made by an agent\\n" > done.txt\n'


class Scene:
    """A laboratory of which one place is on a small disk."""

    def __init__(self, folder: Path, place: str, agent: str = AGENT, verify: str = WHEN) -> None:
        at = {
            "workspace": folder / "repo",
            "records": folder / "home" / "state",
            "temporary": folder / "tmp",
            "logs": folder / "repo" / ".aigon",
        }[place]
        self.place, self.made = place, folder
        (folder / "tmp").mkdir()
        if place == "workspace":
            self.disk = SmallDisk(at)
            at.joinpath(".keep").touch()
        self.lab = _lab(folder)
        if place != "workspace":
            self.disk = SmallDisk(at)
        if place in ("workspace", "logs"):  # where git does not look
            self.disk.filler = folder / "repo" / (".git/filler" if place == "workspace" else ".aigon/runs/filler")
            self.disk.filler.parent.mkdir(parents=True, exist_ok=True)
        self.lab.spec(f"it is done <!-- verify: {verify} -->")
        self.lab.config(guards={"diskFree": 0, "memoryFree": 0, "stall": 0, "repeatedError": 0})
        self.lab.agent(agent.replace("FILLER", str(self.disk.filler)))

    @property
    def journal(self) -> Path:
        """The journal of the run."""
        (found,) = self.lab.home.glob("state/repos/*/features/42/journal.jsonl")
        return found

    def events(self) -> list[dict[str, Any]]:
        """What the journal holds; it has to be readable at any time."""
        return (
            read_documents(self.journal) if list(self.lab.home.glob("state/repos/*/features/42/journal.jsonl")) else []
        )

    def run(self, *options: str) -> Ran:
        """A run to its end."""
        return self.lab.aigon("feature-implement", "42", *(options or ("--loop",)))

    def held(self, point: str, act: Callable[[], None]) -> Ran:
        """A run that is stopped at a fail point while `act` happens."""
        process = self.lab.start("feature-implement", "42", "--loop", env={"AIGON_FAILPOINT": f"{point}:stop"})
        until(lambda: process.poll() is not None or _is_stopped(process), seconds=90)
        if process.poll() is None:
            act()
            process.send_signal(signal.SIGCONT)
        return finish(process, 90)

    def refused(self, ran: Ran, *words: str) -> None:
        """The run ended with exit 7 and plain words; nothing that was there before is damaged or lost."""
        assert ran.code == 7, f"{ran.code}\n{ran.out}\n{ran.err}"
        whole = ran.out + ran.err
        assert "Traceback" not in whole and "[Errno" not in whole, whole
        assert any(word in whole for word in words), whole
        assert str(self.disk.at) in whole, whole
        self.intact()

    def intact(self) -> None:
        """What is on disk can be read, and the branch is at a checkpoint."""
        events = self.events()
        state = self.lab.path(STATE)
        if state.exists():
            assert json.loads(state.read_bytes())["feature_id"] == "42"
        if self.lab.git("branch", "--list", BRANCH):
            tip = self.lab.git("rev-parse", BRANCH)
            known = {event.get("commit") for event in events} | {event.get("head") for event in events}
            assert tip in known or not events, f"{tip} is no checkpoint: {known}"
        left = [path for path in self.lab.path(".git").rglob("*.lock") if path.parent.name != "aigon"]
        assert not left, f"locks were left: {left}"
        self.lab.git("fsck", "--full", "--strict")

    def goes_on(self) -> None:
        """With room again the run reaches its end, on the tree of a run that nothing happened to."""
        begun = bool(self.events())
        ran = self.run("--resume" if begun else "--loop")
        assert ran.code == 0, ran.out + ran.err
        self.lab.sound()
        listed = self.lab.git("ls-tree", "-r", "HEAD").splitlines()
        tree = sorted(line.partition("\t")[2] for line in listed)
        assert tree == [".aigon/config.json", "README.md", SPEC, LOG, "done.txt"], tree
        assert self.lab.git("show", "HEAD:done.txt") == "made by an agent"
        assert self.lab.boxes() == "x"
        assert sum("iteration 1" in subject for subject in self.lab.subjects()) == 1, self.lab.subjects()


def _lab(folder: Path) -> Lab:
    lab = Lab.__new__(Lab)
    (folder / "repo" / ".keep").unlink(missing_ok=True)
    lab.root, lab.home = folder / "repo", folder / "home"
    from tests.lab import scrubbed

    lab.env = {**scrubbed(lab.home), "TMPDIR": str(folder / "tmp")}
    lab.root.mkdir(exist_ok=True)
    lab.home.mkdir(exist_ok=True)
    return lab.init()


def _is_stopped(process: "subprocess.Popen[str]") -> bool:
    try:
        status = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "T"
