"""Changes of pages while they are open: fragments of HTML with versions, made from journals that are only read."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from aigon.api import AigonError, Project
from aigon.files.home import find_home
from aigon.job.spec_locations import SpecLocation, locate_spec
from aigon.spec.features import FOLDERS, ROOT
from aigon.ui.lane import Lane, list_lanes

if TYPE_CHECKING:
    from aigon.run.approvals import ApprovalCase
    from aigon.views.board_cards import Column

TICK = 0.2
"""Seconds between two readings of the journals that a page watches."""
SURVEY = 2.0
"""Seconds between two looks for specs, branches and runs that are new."""
AGAIN = 15.0
"""Seconds after which the board is gathered anew, whatever seems to have changed."""
FORGET = 60.0
"""Seconds for which a page without watchers is kept."""
WATCHERS = 400
"""Streams at a time."""


class Fragment(Struct, frozen=True):
    """An element of a page, by its id. It is sent again if its `html` changed or, if it has one, its `key`."""

    name: str
    html: str
    key: object = None


Render = Callable[["Feed"], Iterable[Fragment]]


class Topic(Struct):
    """A page that changes: what makes its fragments, each with the version at which it changed last, and who waits."""

    render: Render
    fragments: dict[str, tuple[int, Fragment]] = field(default_factory=dict)
    watchers: set[asyncio.Event] = field(default_factory=set)
    used: float = 0.0

    @property
    def version(self) -> int:
        """The newest version of any fragment."""
        return max((version for version, _ in list(self.fragments.values())), default=0)

    def refresh(self, feed: "Feed") -> bool:
        """Make all fragments anew; whether one of them changed."""
        changed, names = False, set()
        for new in self.render(feed):
            names.add(new.name)
            version, old = self.fragments.get(new.name, (0, None))
            if old is None or (old.html != new.html if new.key is None else old.key != new.key):
                version, changed = feed.next_version(), True
            self.fragments[new.name] = (version, new)
        for name in set(self.fragments) - names:
            del self.fragments[name]
        return changed


class Feed:
    """The source of all pages. Methods that are not async may be called from any thread."""

    def __init__(self, project: Project, find_render: Callable[[str], Render | None]) -> None:
        self.project = project
        self.opens = False
        """Whether a whole page is wanted: else what did not change need not be made anew."""
        self._find_render = find_render
        self._lock = threading.RLock()
        self._topics: dict[str, Topic] = {}
        self._lanes: dict[tuple[str, str], Lane] = {}
        self.columns: tuple[Column, ...] = ()
        self._specs: dict[str, SpecLocation] = {}
        self._cases: tuple[ApprovalCase, ...] | None = None
        self._home: Path | None = None
        self._survey: object = None
        self._surveyed = self._gathered = 0.0
        self._version = int(time.time() * 1000)

    def next_version(self) -> int:
        self._version += 1
        return self._version

    def open(self, key: str) -> Topic | None:
        """Return the topic called `key` as it is now; None if there is no such page."""
        with self._lock:
            topic = self._topics.get(key)
            if topic is None:
                render = self._find_render(key)
                if render is None:
                    return None
                topic = self._topics[key] = Topic(render)
            topic.used = time.monotonic()
            self._look_around(soon=True)
            self.opens = True
            try:
                topic.refresh(self)
            finally:
                self.opens = False
            return topic

    def list_cases(self) -> "tuple[ApprovalCase, ...]":
        """Return what waits for a person."""
        if self._cases is None:
            self._cases = self.project.approvals()
        return self._cases

    def find_spec(self, feature: str) -> SpecLocation:
        """Return where the spec of a feature is. Raises AigonError (exit 2) if there is no such feature."""
        if feature not in self._specs:
            self._specs[feature] = locate_spec(self.project.root, self.project.common_dir, feature)
        return self._specs[feature]

    def list_lanes(self, feature: str) -> list[Lane]:
        """Return the newest run of every agent on a feature, as it is now."""
        lanes = [lane for (name, _), lane in list(self._lanes.items()) if name == feature]
        for lane in lanes:
            self._update(lane)
        return [lane for lane in lanes if lane.started or lane.problem or lane.cell]

    def find_lane(self, feature: str, label: str) -> Lane | None:
        """Return the newest run under a label, as it is now."""
        lane = self._lanes.get((feature, label))
        if lane:
            self._update(lane)
        return lane

    def _update(self, lane: Lane) -> None:
        if self._home:
            was = lane.running
            lane.update(self.project.root, self._home)
            if was != lane.running:
                self._gathered = 0.0  # a run began or ended: the board says so

    def _look_around(self, *, soon: bool = False) -> None:
        """Look for new specs, branches and runs, and gather the board if there are any."""
        now = time.monotonic()
        if not soon and now - self._surveyed < SURVEY and self._gathered:
            return
        self._surveyed = now
        self._home = find_home(self.project.common_dir)
        survey = tuple(self._list_marks())
        if survey == self._survey and now - self._gathered < AGAIN:
            return
        self._survey, self._gathered = survey, now
        self._specs.clear()
        self._cases = None
        known = {(lane.feature, lane.label): lane for lane in list_lanes(self._home)}
        self._lanes = {key: self._lanes.get(key, lane) for key, lane in known.items()}
        self.columns = self.project.board(everything=True)

    def _list_marks(self) -> Iterator[object]:
        """Yield what differs once a spec, a branch or a run came or went."""
        root, common = self.project.root, self.project.common_dir
        folders = [root / ROOT / folder for folder in FOLDERS.values()]
        for path in (*folders, common / "HEAD", common / "packed-refs", common / "refs/heads"):
            yield _read_mtime(path)
        for folder in sorted(self._home.glob("features/*/")) if self._home else ():
            yield folder.name, _read_mtime(folder), _read_mtime(folder / "decisions.jsonl")
        for lane in self._lanes.values():
            yield lane.running or _read_mtime(lane.records.journal)

    def tick(self) -> list[Topic]:
        """Read what journals got and make what changed anew; return the topics whose watchers have to know."""
        with self._lock:
            now = time.monotonic()
            for key, topic in list(self._topics.items()):
                if topic.watchers:
                    topic.used = now
                elif now - topic.used > FORGET:
                    del self._topics[key]
            self._look_around()
            changed = []
            for topic in [each for each in self._topics.values() if each.watchers]:
                with suppress(AigonError, OSError):  # what is there stays until it can be read again
                    if topic.refresh(self):
                        changed.append(topic)
            return changed

    async def run(self) -> None:
        """Keep every watched page up to date, until this is cancelled."""
        while True:
            await asyncio.sleep(TICK)
            if any(topic.watchers for topic in list(self._topics.values())):
                for topic in await asyncio.to_thread(self.tick):
                    for wake in list(topic.watchers):
                        wake.set()

    def is_full(self) -> bool:
        """Return whether no further stream can be served."""
        return sum(len(topic.watchers) for topic in list(self._topics.values())) >= WATCHERS

    async def stream(self, topic: Topic, since: int) -> AsyncIterator[tuple[int, Fragment]]:
        """Yield what changed on a page since a version, and then what changes.

        A fragment that changes more often than its reader takes it is sent as it is last: nothing piles up.
        """
        wake = asyncio.Event()
        topic.watchers.add(wake)
        try:
            while True:
                wake.clear()
                since = since if since <= topic.version else 0  # of another server: everything is new
                changed = (each for each in list(topic.fragments.values()) if each[0] > since)
                for version, fragment in sorted(changed, key=lambda each: each[0]):
                    yield version, fragment
                    since = version
                await wake.wait()
        finally:
            topic.watchers.discard(wake)


def _read_mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read_version(text: Sequence[str | None]) -> int:
    """Return the first of these that is a version; 0 if none is."""
    return next((int(each) for each in text if each and each.isascii() and each.isdecimal() and len(each) < 20), 0)
