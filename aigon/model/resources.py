"""Disk and memory that a run needs, and how much its iterations took so far."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.model import Recorded

Resource = Literal["disk", "files", "memory"]

PEAK_MARGIN = 1.25
"""A quarter more than the greediest iteration took is kept free. Of n alike the next takes more with chance 1/(n+1),
but its turn is about the same work on a tree that has grown by a little."""
FULL_DISK_BYTES = 4 * 1024 * 1024
"""With less a file system is full: one log takes as much (`aigon.process.capture.HALF`, head and tail)."""
MIN_FREE_FILES = 100
"""With fewer a file system is full: an iteration commit of one changed file makes about 20 files."""
REQUIRED_FILE_BYTES = 16 * 1024 * 1024
"""The size that one file must be allowed to have: the journal of a thousand iterations takes about as much."""


class Volume(Struct, frozen=True):
    """A file system that a run writes to.

    `place` is the folder by which the run knows it, `holds` says what of the run is there, `mounted` is where people
    find it. `free` bytes and `files` may still be written, None if unknown; `problem` says why nothing can be written.
    `scratch`: only the temporary folder is there.
    """

    place: str
    holds: str
    mounted: str
    free: int | None = None
    files: int | None = None
    problem: str = ""
    scratch: bool = False

    @property
    def full(self) -> bool:
        """True if as good as nothing can be written there."""
        few_files = self.files is not None and self.files < MIN_FREE_FILES
        return bool(self.problem) or few_files or (self.free is not None and self.free < FULL_DISK_BYTES)


class ResourceUse(Recorded, frozen=True):
    """The peak of what something took: bytes of disk or new files on the file system of `place`, bytes of memory."""

    what: Resource
    amount: int
    place: str = ""


class PeakUse(Struct, frozen=True):
    """The most that an iteration took so far, and its number."""

    amount: int
    number: int

    @property
    def wanted(self) -> int:
        """The bytes that have to be free for the next iteration."""
        return int(self.amount * PEAK_MARGIN)

    @property
    def who(self) -> str:
        """The iteration, for people."""
        return f"iteration {self.number}" if self.number else "the look at the base"


PeakUses = Mapping[tuple[Resource, str], PeakUse]
"""By resource and place."""


def update_peak_uses(known: PeakUses, uses: Iterable[ResourceUse], number: int) -> PeakUses:
    """Return the peaks after iteration `number`; `known` itself if it took no more."""
    new = {(use.what, use.place): PeakUse(use.amount, number) for use in uses}
    more = {key: peak for key, peak in new.items() if key not in known or peak.amount > known[key].amount}
    return {**known, **more} if more else known


def measure_disk_use(before: Sequence[Volume], lowest: Sequence[Volume]) -> tuple[ResourceUse, ...]:
    """Return what was taken on each file system, from what was free before to the least that was free since."""
    after = {volume.place: volume for volume in lowest}
    uses = []
    for volume in before:
        if low := after.get(volume.place):
            for what, most, least in (("disk", volume.free, low.free), ("files", volume.files, low.files)):
                if most is not None and least is not None and most > least:
                    uses.append(ResourceUse("disk" if what == "disk" else "files", most - least, volume.place))
    return tuple(uses)


def keep_lowest(one: Volume, other: Volume) -> Volume:
    """Return the lower amounts of two measurements of a file system. A problem of either one stays."""
    free, files = _find_least(one.free, other.free), _find_least(one.files, other.files)
    return replace(one, free=free, files=files, problem=other.problem or one.problem)


def _find_least(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


def describe_disk_shortage(volumes: Sequence[Volume], least: int, peaks: PeakUses) -> str:
    """Return why the disk has too little space for another turn; "" if it has enough or its space is unknown.

    `least` bytes have to be free anyway, except where only the temporary folder is. A full file system never suffices.
    """
    return next(filter(None, (_describe_volume_shortage(volume, least, peaks) for volume in volumes)), "")


def _describe_volume_shortage(volume: Volume, least: int, peaks: PeakUses) -> str:
    where = f"on {volume.mounted} ({volume.holds})"
    if volume.problem:
        return f"nothing can be written {where}: {volume.problem}"
    floor = FULL_DISK_BYTES if volume.scratch else max(least, FULL_DISK_BYTES)
    if volume.free is not None and volume.free < floor:
        wanted = f"guards.diskFree wants {format_bytes(least)}" if floor == least else "so it is full"
        return f"{format_bytes(volume.free)} of disk are free {where}, {wanted}"
    if volume.files is not None and volume.files < MIN_FREE_FILES:
        return f"only {volume.files} more files fit {where}: its inodes are used up"
    if shortage := _describe_shortage(volume.free, peaks.get(("disk", volume.place))):
        return f"{format_bytes(volume.free or 0)} of disk are free {where}, {shortage} there"
    most = peaks.get(("files", volume.place))
    if most and volume.files is not None and volume.files < most.wanted:
        return f"{volume.files} more files fit {where}, and {most.who} made {most.amount} there (inodes)"
    return ""


def _describe_shortage(free: int | None, peak: PeakUse | None) -> str:
    if free is None or peak is None or free >= peak.wanted:
        return ""
    return f"guards.byHistory wants {format_bytes(peak.wanted)}: {peak.who} took {format_bytes(peak.amount)}"


def describe_memory_shortage(free: int | None, limit: str, least: int, peaks: PeakUses) -> str:
    """Return why memory is too short for another turn, or "". `limit` names what bounds the memory."""
    where = f" within {limit}" if limit else ""
    if free is not None and free < least:
        return f"{format_bytes(free)} of memory are free{where}, guards.memoryFree wants {format_bytes(least)}"
    shortage = _describe_shortage(free, peaks.get(("memory", "")))
    return f"{format_bytes(free or 0)} of memory are free{where}, {shortage}" if shortage else ""


def describe_file_size_shortage(longest: int | None) -> str:
    """Return why files may not be as long as a run needs, or ""."""
    if longest is None or longest >= REQUIRED_FILE_BYTES:
        return ""
    needed = f"a run needs {format_bytes(REQUIRED_FILE_BYTES)}"
    limit = format_bytes(longest)
    return f"a file may have at most {limit} here, {needed}: raise that limit (ulimit -f unlimited)"


def find_full_volume(lowest: Sequence[Volume]) -> Volume | None:
    """Return the file system that was full while something ran: what failed then may have failed because of it."""
    return next((volume for volume in lowest if volume.full), None)


def format_bytes(count: int) -> str:
    """Return bytes for people: `1.2 GB`, `500 MB`, `12 kB`."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if count >= unit:
            text = f"{count / unit:.1f}" if count < 10 * unit else f"{count / unit:.0f}"
            return f"{text.removesuffix('.0')} {name}"
    return f"{count} bytes"


class Probe(Struct, frozen=True):
    """The figures that guards decide on. Seconds are monotonic, money is in US dollars, None is unknown.

    `volumes` are the file systems that the run writes to; `memory_limit` names what bounds the memory, if less than the
    machine's own; `longest_file` is how many bytes a file may have (None: any number). `detail` is what a hook said
    that stopped the run; `given_up`: no agent will be able to work in time. In an arena, `elsewhere` is what the other
    agents spent or set aside for running turns, the latter `set_aside`; `reckoned` is the expected cost of a turn.
    """

    elapsed: float = 0.0
    volumes: tuple[Volume, ...] = ()
    memory_free: int | None = None
    memory_limit: str = ""
    longest_file: int | None = None
    interrupt: Literal["", "SIGINT", "SIGTERM", "SIGHUP", "stop-file", "hook"] = ""
    detail: str = ""
    given_up: bool = False
    elsewhere: float = 0.0
    set_aside: float = 0.0
    reckoned: float | None = None
