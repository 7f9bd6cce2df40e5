"""A laboratory: a real repository, a scrubbed environment with its own HOME, aigon as a real process."""

import atexit
import functools
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from aigon.git.person import Checkout
from aigon.run.replay import verify_run
from tests import warm

SPEC = "docs/specs/features/03-in-progress/feature-42-dark-mode.md"
BRANCH = "feature-42-dark-mode"
LOG = "docs/specs/features/logs/feature-42-dark-mode-log.md"
STATE = ".aigon/loop-state-42.json"
DONE_WHEN = "test -f done.txt"
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
TEMPORARY = "tmp"
"""The folder beside that of a laboratory in memory, for its temporary files."""


@dataclass(frozen=True)
class Ran:
    """A process that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as NDJSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def scrubbed(home: Path, **more: str) -> dict[str, str]:
    """An environment with nothing of the person who runs the tests but PATH; this interpreter's tools first."""
    path = os.pathsep.join([f"{make_environment()}/bin", os.environ.get("PATH", os.defpath)])
    return {
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "AIGON_STATE_HOME": str(home / "state"),
        "AIGON_SANDBOX": "none",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # a pytest of the laboratory's starts in less than half the time
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},  # another copy's aigon
        **more,
    }


@functools.cache
def make_environment() -> Path:
    """Make an environment of the user's with the packages and programs of this one, which aigon takes out of PATH."""
    own = Path(sys.prefix)
    if sys.prefix == sys.base_prefix:
        return own
    made = Path(tempfile.mkdtemp(prefix="aigon-environment-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    (made / "pyvenv.cfg").write_bytes((own / "pyvenv.cfg").read_bytes())
    (made / "lib").symlink_to(own / "lib")
    (made / "bin").mkdir()
    for program in (own / "bin").iterdir():
        is_python = program.name.startswith("python")
        (made / "bin" / program.name).symlink_to(program.resolve() if is_python else program)
    return made


def has_room(folder: Path) -> bool:
    """Whether the folder is there, in memory, and far from full."""
    return os.access(folder, os.W_OK) and min(shutil.disk_usage(folder).free, psutil.virtual_memory().available) > ROOM


@functools.cache
def speaks_of_sandboxes(file: Path) -> bool:
    """Whether tests in the file may keep a program in, which then has a /dev of its own."""
    return bool(re.search(r"(?i)sandbox|landlock|namespaces|bwrap|bubblewrap|/dev/shm", file.read_text("utf-8")))


class Lab:
    """A repository at `root` with one commit, and a person whose HOME is beside it."""

    configured = True
    in_place = False

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.home = folder / "home"
        temporary = folder.with_name(TEMPORARY)  # of a laboratory in memory
        self.env = scrubbed(self.home, **({"TMPDIR": str(temporary)} if temporary.is_dir() else {}))
        self.root.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)

    def init(self, *options: str) -> "Lab":
        """A repository as `git init`, an identity and a first commit make it: a copy of one that was made so."""
        shutil.copytree(
            Path(_made(options, self.configured, self.in_place).name) / "repo",
            self.root,
            symlinks=True,
            dirs_exist_ok=True,
        )
        self.git("update-index", "-q", "--refresh")
        return self

    def make(self, *options: str) -> None:
        """`git init`, an identity, a first commit with a configuration if it is `configured`: empty or `in_place`."""
        self.git("-c", "init.defaultBranch=main", "init", "-q", *options)
        for sample in self.root.glob(".git/hooks/*.sample"):
            sample.unlink()  # each copy of the repository, and each run in it, would take them along
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.invalid")
        self.write("README.md", "# sample\n")
        if self.configured:
            self.config(**({"proof": "in-place"} if self.in_place else {}))
        self.commit("first")

    def path(self, name: str) -> Path:
        """A file of the repository."""
        return self.root / name

    def write(self, name: str, text: str | bytes, *, executable: bool = False) -> Path:
        """Write a file of the repository."""
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        if executable:
            target.chmod(0o755)
        return target

    def read(self, name: str) -> str:
        """Read a file of the repository."""
        return (self.root / name).read_text()

    def git(self, *arguments: str, code: int = 0) -> str:
        """Run git as the person would; its output. Fails unless it exits with `code`."""
        done = subprocess.run(["git", *arguments], cwd=self.root, env=self.env, capture_output=True, text=True)
        assert done.returncode == code, f"git {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout.rstrip("\n")

    def commit(self, message: str) -> str:
        """Commit everything."""
        self.git("add", "-A")
        quiet = ("-c", "maintenance.auto=false", "-c", "core.abbrev=no")  # no second process; the whole hash is printed
        said = self.git(*quiet, "commit", "--allow-empty", "-m", message)
        return said[: said.index("]")].split()[-1]

    def spec(self, *criteria: str, name: str = SPEC, extra: str = "", frontmatter: str = "") -> Path:
        """Write a spec with these criteria, one line each, as in `done <!-- verify: test -f done.txt -->`."""
        items = "".join(f"- [ ] {criterion}\n" for criterion in criteria)
        return self.write(name, f"{frontmatter}# Feature: Dark mode\n\n## Acceptance Criteria\n\n{items}\n{extra}")

    def agent(self, script: str, *, name: str = "mine", shell: str = "bash") -> None:
        """Configure a command agent that runs this script, and make it the default. It lives outside the work tree."""
        file = self.home / f"{name}-agent"
        file.write_text(f"#!/usr/bin/env {shell}\n" + textwrap.dedent(script))
        file.chmod(0o755)
        self.config(agents={name: {"adapter": "command", "command": [str(file)]}}, defaultAgent=name)

    def config(self, **keys: Any) -> None:
        """Merge keys into .aigon/config.json, one level deep."""
        path = self.path(".aigon/config.json")
        document = json.loads(path.read_text()) if path.exists() else {}
        for key, value in keys.items():
            old = document.get(key)
            document[key] = {**old, **value} if isinstance(value, dict) and isinstance(old, dict) else value
        self.write(".aigon/config.json", json.dumps(document, indent=2) + "\n")

    def command(self, *arguments: str) -> list[str]:
        """The command line that starts aigon."""
        return [sys.executable, "-m", "aigon", *arguments]

    def aigon(
        self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Ran:
        """Run aigon to its end, without a terminal."""
        line, there, whole = self.command(*arguments), cwd or self.root, {**self.env, **(env or {})}
        if ended := warm.run(line, there, whole, timeout, scrubbed(self.home)):
            return Ran(ended[0], ended[1].decode(), ended[2].decode())
        done = subprocess.run(
            line, cwd=there, env=whole, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def aigon_without_override(self, *arguments: str) -> Ran:
        """Run aigon as somebody whom file permissions bind, also if the tests run as root."""
        line = self.command(*arguments)
        if os.geteuid() == 0:
            line = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *line]
        done = subprocess.run(
            line, cwd=self.root, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start aigon and leave it running, in a session of its own (signals reach it alone)."""
        line, whole = self.command(*arguments), {**self.env, **(env or {})}
        if process := warm.started(line, self.root, whole, scrubbed(self.home)):
            return process
        return subprocess.Popen(
            line,
            cwd=self.root,
            env=whole,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def state(self, name: str = STATE) -> dict[str, Any]:
        """The state file."""
        document: dict[str, Any] = json.loads(self.read(name))
        return document

    def boxes(self, name: str = SPEC) -> str:
        """The boxes of the committed spec, such as `x `: one character per criterion."""
        lines = self.git("show", f"HEAD:{name}").splitlines()
        return "".join(line[3] for line in lines if line.startswith("- ["))

    def subjects(self) -> list[str]:
        """The subjects of all commits, oldest first."""
        return self.git("log", "--reverse", "--format=%s").splitlines()

    def fingerprint(self) -> str:
        """Everything that a refused command must leave as it was: refs, HEAD, index content, files, status."""
        parts = (
            self.git("for-each-ref"),
            self.path(".git/HEAD").read_text(),
            self.git("ls-files", "--stage"),
            self.git("status", "--porcelain", "--untracked-files=all"),
        )
        return "\n".join(parts)

    def sound(self, *, agrees: bool = False) -> None:
        """Fail unless the repository is healthy and nothing lies about, and with `agrees` unless its records agree."""
        self.git("fsck", "--full", "--strict")
        assert self.git("status", "--porcelain", "--untracked-files=all") == ""
        assert not self.path(".git/index.lock").exists()
        if agrees:
            self.agrees()

    def agrees(self) -> None:
        """Fail unless the records of each run, its commits and its boxes say what its journal does."""
        with Checkout.open(self.root) as checkout:
            for journal in self.home.glob("state/repos/*/features/*/journal*.jsonl"):
                found = list(verify_run(checkout, journal))
                assert not found, found


@functools.cache
def _made(options: tuple[str, ...], configured: bool, in_place: bool) -> "tempfile.TemporaryDirectory[str]":
    """A folder, there until this process ends, in which a laboratory was set up with these options of `git init`."""
    folder = tempfile.TemporaryDirectory(prefix="aigon-lab-")
    lab = Lab(Path(folder.name))
    lab.configured, lab.in_place = configured, in_place
    lab.make(*options)
    return folder


def reuse(make: Callable[[Lab], object]) -> Lab:
    """Return a laboratory as `make` left it: made once, and put back in its place for each test that asks.

    The place has to be the same: records and worktrees hold absolute paths.
    """
    folder, checkouts = _made_by(make)
    there = Path(folder.name) / "lab"
    shutil.rmtree(there)
    shutil.copytree(there.with_name("kept"), there, symlinks=True)
    lab = Lab(there)
    for checkout in checkouts:
        lab.git("-C", checkout, "update-index", "-q", "--refresh")
    return lab


@functools.cache
def _made_by(make: Callable[[Lab], object]) -> tuple["tempfile.TemporaryDirectory[str]", tuple[str, ...]]:
    """A folder with a laboratory and a copy of it, there until this process ends; and its checkouts."""
    in_memory = has_room(MEMORY) and not speaks_of_sandboxes(Path(inspect.getfile(make)))
    folder = tempfile.TemporaryDirectory(prefix="aigon-lab-", dir=MEMORY if in_memory else None)
    if in_memory:
        Path(folder.name, TEMPORARY).mkdir()
    lab = Lab(Path(folder.name) / "lab").init()
    make(lab)
    bells = shutil.ignore_patterns("*.bell")  # what waits for a check slot is woken by a pipe
    shutil.copytree(Path(folder.name) / "lab", Path(folder.name) / "kept", symlinks=True, ignore=bells)
    listed = lab.git("worktree", "list", "--porcelain").splitlines()
    return folder, tuple(line.removeprefix("worktree ") for line in listed if line.startswith("worktree "))


def finish(process: "subprocess.Popen[str]", timeout: float = 30) -> Ran:
    """Wait for a started process to end."""
    out, err = process.communicate(timeout=timeout)
    return Ran(process.returncode, out, err)


def until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until `condition()` is true; fail when it is not in time."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


def alive(marker: str) -> Sequence[int]:
    """Processes whose command line contains `marker`, but this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                zombie = b") Z " in (entry / "stat").read_bytes()
            except OSError:
                continue
            if marker in line and not zombie:
                found.append(int(entry.name))
    return found


def interrupt(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGINT) -> None:
    """Signal aigon itself, not its group."""
    process.send_signal(number)
