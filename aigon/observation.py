"""Files that commands of one clean room read, one command after the other: by access times, else by strace.

The kernel moves the access time of a file that is read if it is older than the modification (relatime), for an mmap,
an interpreter's start and a listed folder, too. It does not for `stat`, with O_NOATIME, or on a file system that is
mounted with noatime, which a trial shows.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from aigon.files.folders import TemporaryFolder
from aigon.job.world import CheckEnvironment, CheckStart
from aigon.text.patterns import compile_re

Means = Literal["access times", "strace", ""]
"""How it is told what a command reads; empty where nothing here tells it."""

SHOWN = 8
"""Files that a line names; the rest is counted."""
MOST = 20_000
"""Tracked files that are kept of what one command read."""
LARGEST = 500 * 1024 * 1024
"""Bytes of a log of strace that are read."""
_BEFORE = 1
"""Seconds that an access time is set back before the modification."""
_CALLS = "trace=open,openat,openat2,getdents,getdents64"
_OPTIONS = ("-f", "--seccomp-bpf", "-qqq", "-y", "-s", "0", "-e", "signal=none", "-e", _CALLS, "-o")
"""What makes strace write to a log what a command and all that it starts open."""
_OPENED = compile_re(rb"\) += \d+<(/[^>]*)>")
_LISTED = compile_re(rb"getdents(?:64)?\(\d+<(/[^>]*)>")
_ESCAPE = compile_re(rb"\\([0-7]{1,3})")


class Reads(Struct, frozen=True):
    """The tracked files that a command read, and the folders that it listed, relative to the project.

    `walks`: it reads the project as its subject, as a linter does, so that nothing of it decides. `unknown` says why
    nothing is known of it; empty if something is.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    walks: bool = False
    unknown: str = ""


class Observation(Struct, frozen=True):
    """The files that each deciding command read on the base, by its name in the record, and how they were observed.

    They are `apart` if each came to the same in a room without a network, where nothing is shared with other rooms.
    """

    means: Means = ""
    commands: Mapping[str, Reads] = field(default_factory=dict)
    apart: bool = False

    def list_readers(self) -> dict[str, tuple[str, ...]]:
        """Return by file the commands that read it."""
        readers: dict[str, list[str]] = {}
        for name, each in self.commands.items():
            for path in each.files:
                readers.setdefault(path, []).append(name)
        return {path: tuple(names) for path, names in readers.items()}

    def describe(self, name: str) -> str:
        """Return what a command read, on one line; empty if it was not observed."""
        if (reads := self.commands.get(name)) is None:
            return ""
        if reads.walks or reads.unknown:
            return reads.unknown or "the whole project, as its subject"
        more = f" and {len(reads.files) - SHOWN} more" if len(reads.files) > SHOWN else ""
        return f"{', '.join(reads.files[:SHOWN])}{more}" if reads.files else "nothing that is tracked"

    def as_document(self) -> dict[str, Any]:
        """Return it as data."""
        document: dict[str, Any] = to_builtins(self)
        return document


def read_observation(document: Mapping[str, Any]) -> Observation:
    """Return what a document says that `as_document` made. Raises ValueError."""
    return convert(document, Observation)


class Observer(Struct):
    """Tells what commands read of the tracked files and their folders.

    `control` is a tracked file that no test has a reason to read: what reads it, and most of the others, walks through
    the project.
    """

    control: str
    means: Means = ""
    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    seen: dict[str, Reads] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)
    """What the access times are set back to."""
    _stale: Sequence[str] = ()
    """The paths whose access times have to be set back before the next command."""

    @property
    def observation(self) -> Observation:
        """The observations so far."""
        return Observation(self.means, dict(self.seen))

    def enter(self, place: CheckEnvironment, tracked: Iterable[str]) -> None:
        """Prepare for the commands of a room, by what works on the very files that were exported to it."""
        root = _locate(place)
        self.files = frozenset(path for path in tracked if os.path.isfile(f"{root}/{path}"))  # noqa: PTH113 - thousands
        around = {path.rpartition("/")[0] for path in self.files}
        self.folders = frozenset(str(above) for path in around for above in (Path(path), *Path(path).parents)) - {"."}
        self._times, self._stale = {}, (*self.files, *self.folders)
        if show_reads(root, sorted(self.files)):
            self.means = "access times"
            # Setting one changes the inode: git would take every file for changed, and read it.
            with (root / ".git" / "config").open("a", encoding="utf-8") as settings:
                settings.write("[core]\n\ttrustctime = false\n")
        else:
            self.means = "strace" if find_strace() else ""

    def observe(self, names: Sequence[str], place: CheckEnvironment, run: Callable[[CheckEnvironment], None]) -> None:
        """Run a command by `run`, in the environment that it is given, and note under its `names` what it read."""
        if self.means == "access times":
            root = _locate(place)
            self._times |= set_back(root, self._stale)
            run(place)
            read, changed = list_read(root, self._times)
            self.seen |= dict.fromkeys(names, self._weigh(read))
            self._stale = (*read, *changed, *self.folders)  # aigon itself lists folders between two commands
        elif self.means == "strace":
            self.seen |= dict.fromkeys(names, self._trace(place, run))
        else:
            run(place)

    def _trace(self, place: CheckEnvironment, run: Callable[[CheckEnvironment], None]) -> Reads:
        with TemporaryFolder("trace") as folder:
            log = folder / "log"

            def wrap_command(argv: Sequence[str], cwd: Path, start: CheckStart) -> Sequence[str]:
                return [find_strace(), *_OPTIONS, str(log), "--", *place.wrap_command(argv, cwd, start)]

            run(replace(place, wrap_command=wrap_command))
            opened = list_opened(log, (place.root, _locate(place)))
        return Reads(unknown="strace left nothing that can be read") if opened is None else self._weigh(opened)

    def _weigh(self, paths: Iterable[str]) -> Reads:
        read = frozenset(paths)
        files = read & self.files
        if self.control in files and 2 * len(files) > len(self.files):
            return Reads(walks=True)
        if len(files) > MOST:
            return Reads(unknown=f"it reads more than {MOST:,} tracked files")
        return Reads(tuple(sorted(files)), tuple(sorted(read & self.folders)))


def _locate(place: CheckEnvironment) -> Path:
    return place.host_path or place.root


def set_back(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Make every read of these paths that follows visible; yield each with the nanoseconds that it was set back to."""
    place, look, second = f"{root}/", os.lstat, 1_000_000_000
    for path in paths:
        try:
            modified = look(place + path).st_mtime_ns
            # Whole seconds: not every file system keeps more.
            before = (modified // second - _BEFORE) * second
            os.utime(place + path, ns=(before, modified), follow_symlinks=False)
        except OSError:  # a command may have removed the file
            before = 0
        yield path, before


def list_read(root: Path, set_to: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Return the paths that were read since they were set back, and those that are gone or have changed."""
    read, changed = [], []
    place, look, second = f"{root}/", os.lstat, 1_000_000_000
    for path, before in set_to.items():
        try:
            state = look(place + path)
        except OSError:
            changed.append(path)
            continue
        if before and state.st_atime_ns >= before + second:
            read.append(path)
        elif (state.st_mtime_ns // second - _BEFORE) * second != before:
            changed.append(path)
    return read, changed


def show_reads(root: Path, paths: Iterable[str]) -> bool:
    """Return whether a read of a file in this very folder moves its access time."""
    file = next((path for path in paths if (root / path).is_file() and not (root / path).is_symlink()), None)
    times = dict(set_back(root, (file,))) if file else {}
    if file is None or list_read(root, times)[0]:
        return False
    try:
        (root / file).open("rb").read(1)
    except OSError:
        return False
    return bool(list_read(root, times)[0])


def find_strace() -> str:
    """Return the program; empty if it is not installed."""
    return shutil.which("strace", path="/usr/bin:/bin:/usr/local/bin") or ""


def list_opened(log: Path, roots: Sequence[Path]) -> set[str] | None:
    """Return the paths below one of `roots`, relative to it; None for a log that is missing or too long."""
    prefixes = [f"{root}/".encode() for root in roots]
    try:
        if log.stat().st_size > LARGEST:
            return None
        with log.open("rb") as lines:
            read = (line for line in lines if b"O_WRONLY" not in line)
            paths = (path for line in read for pattern in (_OPENED, _LISTED) for path in pattern.findall(line))
            found = {_ESCAPE.sub(lambda escape: bytes((int(escape[1], 8),)), path) for path in paths}
    except OSError:
        return None
    below = (path[len(prefix) :] for path in found for prefix in prefixes if path.startswith(prefix))
    return {path.decode("utf-8", "surrogateescape") for path in below}
