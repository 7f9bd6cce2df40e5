"""The room that a run needs on disk and in memory, and what its iterations took of it so far."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Resource = Literal["disk", "files", "memory"]

PEAK_MARGIN = 1.25
"""What is kept ready, of what the greediest iteration took. The next may well take more than any before it: of n that
are alike it does with the chance 1/(n+1). But its turn is about the same work on a tree that has grown by a little, so
a quarter more covers that, without refusing a turn that would have found room."""
FULL_DISK_BYTES = 4 * 1024 * 1024
"""Bytes: with fewer a file system is full. One log takes as much (`aigon.process.capture.HALF`, head and tail)."""
MIN_FREE_FILES = 100
"""A checkpoint of one changed file makes about 20 files; a file system with fewer than this left is full as well."""
REQUIRED_FILE_BYTES = 16 * 1024 * 1024
"""Bytes that one file must be allowed to have: a log takes 4 MiB (`aigon.process.capture.HALF`, head and tail), and the
journal of a thousand iterations about as much."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A file system that a run writes to.

    `place` is the folder by which the run knows it, `holds` says what of the run is there, `mounted` is where people
    find it. `free` bytes and `files` may still be written there, None is unknown; `problem` says why nothing can be.
    On one that is `scratch` there is only the temporary folder.
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
        """Whether as good as nothing can be written there."""
        few = self.files is not None and self.files < MIN_FREE_FILES
        return bool(self.problem) or few or (self.free is not None and self.free < FULL_DISK_BYTES)


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """What something took at its peak: bytes of disk, or new files, on the file system of `place`; bytes of memory."""

    what: Resource
    amount: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class PeakUse:
    """The most that an iteration took so far, and which one that was."""

    amount: int
    number: int

    @property
    def wanted(self) -> int:
        """What the next one needs, by that."""
        return int(self.amount * PEAK_MARGIN)

    @property
    def who(self) -> str:
        """Which iteration, for people."""
        return f"iteration {self.number}" if self.number else "the look at the base"


PeakUses = Mapping[tuple[Resource, str], PeakUse]
"""By what was taken, and where."""


def update_peak_uses(known: PeakUses, taken: Iterable[ResourceUse], number: int) -> PeakUses:
    """What is known once iteration `number` took this; `known` itself where that is not more."""
    new = {(one.what, one.place): PeakUse(one.amount, number) for one in taken}
    more = {key: one for key, one in new.items() if key not in known or one.amount > known[key].amount}
    return {**known, **more} if more else known


def measure_disk_use(before: Sequence[Volume], lowest: Sequence[Volume]) -> tuple[ResourceUse, ...]:
    """What went on each file system, from what was free before to the least that was free since."""
    least = {volume.place: volume for volume in lowest}
    return tuple(
        ResourceUse(what, most - low, volume.place)
        for volume in before
        if (now := least.get(volume.place))
        for what, most, low in _pair_amounts(volume, now)
        if most is not None and low is not None and most > low
    )


def _pair_amounts(before: Volume, now: Volume) -> tuple[tuple[Resource, int | None, int | None], ...]:
    return ("disk", before.free, now.free), ("files", before.files, now.files)


def keep_lowest(one: Volume, other: Volume) -> Volume:
    """The least of two looks at one file system; a problem that either had stays."""
    return Volume(
        one.place,
        one.holds,
        one.mounted,
        _least(one.free, other.free),
        _least(one.files, other.files),
        other.problem or one.problem,
        one.scratch,
    )


def _least(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None


def describe_disk_shortage(volumes: Sequence[Volume], least: int, greed: PeakUses) -> str:
    """Why there is too little room on disk for another turn; empty where there is enough or nobody knows.

    `least` bytes have to be free in any case, but for a file system that only has the temporary folder. One that is
    full is never enough, whatever `least` is.
    """
    return next(filter(None, (_describe_volume_shortage(volume, least, greed) for volume in volumes)), "")


def _describe_volume_shortage(volume: Volume, least: int, greed: PeakUses) -> str:
    there = f"on {volume.mounted} ({volume.holds})"
    if volume.problem:
        return f"nothing can be written {there}: {volume.problem}"
    floor = FULL_DISK_BYTES if volume.scratch else max(least, FULL_DISK_BYTES)
    if volume.free is not None and volume.free < floor:
        wants = f"guards.diskFree wants {format_bytes(least)}" if floor == least else "so it is full"
        return f"{format_bytes(volume.free)} of disk are free {there}, {wants}"
    if volume.files is not None and volume.files < MIN_FREE_FILES:
        return f"only {volume.files} more files fit {there}: its inodes are used up"
    if said := describe_shortage(volume.free, greed.get(("disk", volume.place))):
        return f"{format_bytes(volume.free or 0)} of disk are free {there}, {said} there"
    most = greed.get(("files", volume.place))
    if most and volume.files is not None and volume.files < most.wanted:
        return f"{volume.files} more files fit {there}, and {most.who} made {most.amount} there (inodes)"
    return ""


def describe_shortage(free: int | None, most: PeakUse | None) -> str:
    """What is needed and why, where `free` bytes are too few for what the greediest iteration took."""
    if free is None or most is None or free >= most.wanted:
        return ""
    return f"and {format_bytes(most.wanted)} are needed: {most.who} took {format_bytes(most.amount)}"


def describe_memory_shortage(free: int | None, limit: str, least: int, greed: PeakUses) -> str:
    """Why there is too little memory for another turn; empty where there is enough. `limit` names what limits it."""
    there = f" within {limit}" if limit else ""
    if free is not None and free < least:
        return f"{format_bytes(free)} of memory are free{there}, guards.memoryFree wants {format_bytes(least)}"
    said = describe_shortage(free, greed.get(("memory", "")))
    return f"{format_bytes(free or 0)} of memory are free{there}, {said}" if said else ""


def describe_file_size_shortage(longest: int | None) -> str:
    """Why files may not be as long as a run needs; empty where they may."""
    if longest is None or longest >= REQUIRED_FILE_BYTES:
        return ""
    wanted = f"a run needs {format_bytes(REQUIRED_FILE_BYTES)}"
    return f"a file may have at most {format_bytes(longest)} here, {wanted}: raise that limit (ulimit -f unlimited)"


def find_full_volume(lowest: Sequence[Volume]) -> Volume | None:
    """The file system that was full, or not writable, while something ran: what failed then may have failed by that."""
    return next((volume for volume in lowest if volume.full), None)


def format_bytes(count: int) -> str:
    """Bytes for people: `1.2 GB`, `500 MB`, `12 kB`."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if count >= unit:
            text = f"{count / unit:.1f}" if count < 10 * unit else f"{count / unit:.0f}"
            return f"{text.removesuffix('.0')} {name}"
    return f"{count} bytes"


@dataclass(frozen=True, slots=True)
class Probe:
    """What the world looks like when `decide` asks. Seconds are monotonic; bytes are free bytes; None is unknown.

    `volumes` are the file systems that the run writes to; `memory_limit` names what bounds the memory, where that is
    less than the machine's own; `longest_file` is how many bytes a file may have (None is any number).
    `detail` is what a hook said that stopped the run; `given_up`: no agent will be able to work in time. US dollars, in
    an arena: `elsewhere` is what its other agents spent or have set aside for turns under way, the latter `set_aside`;
    `reckoned` is what the next turn is taken to cost (None where nothing says).
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
