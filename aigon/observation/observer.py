"""Watch the commands of one clean room, one after the other."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.job.world import CheckEnvironment, CheckStart
from aigon.observation import strace
from aigon.observation.access_times import AccessTimes, show_reads
from aigon.observation.reads import Means, Observation, Reads

MOST = 20_000
"""Tracked files that are kept of what one command read."""


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

    @property
    def observation(self) -> Observation:
        """What was seen so far."""
        return Observation(self.means, dict(self.seen))

    def enter(self, place: CheckEnvironment, tracked: Iterable[str]) -> None:
        """Prepare for the commands of a room, by what works on the very files that were exported to it."""
        root = _locate(place)
        self.files = frozenset(path for path in tracked if (root / path).is_file())
        self.folders = frozenset(str(above) for path in self.files for above in Path(path).parents if str(above) != ".")
        if show_reads(root, sorted(self.files)):
            self.means = "access times"
            # Setting one changes the inode: git would take every file for changed, and read it.
            with (root / ".git" / "config").open("a", encoding="utf-8") as settings:
                settings.write("[core]\n\ttrustctime = false\n")
        else:
            self.means = "strace" if strace.find_strace() else ""

    def observe(self, name: str, place: CheckEnvironment, run: Callable[[CheckEnvironment], None]) -> None:
        """Run a command by `run`, in the environment that it is given, and note what it read."""
        if self.means == "access times":
            times = AccessTimes(_locate(place), (*self.files, *self.folders))
            times.set_back()
            run(place)
            self.seen[name] = self._weigh(times.list_read())
        elif self.means == "strace":
            self.seen[name] = self._trace(place, run)
        else:
            run(place)

    def _trace(self, place: CheckEnvironment, run: Callable[[CheckEnvironment], None]) -> Reads:
        with tempfile.TemporaryDirectory(prefix="aigon-trace-") as folder:
            log = Path(folder) / "log"

            def wrap_command(argv: Sequence[str], cwd: Path, start: CheckStart) -> Sequence[str]:
                return strace.wrap_command(place.wrap_command(argv, cwd, start), log)

            run(replace(place, wrap_command=wrap_command))
            opened = strace.list_opened(log, (place.root, _locate(place)))
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
