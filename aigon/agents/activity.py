"""Follow what an agent does while its turn goes on: from its program's output to the run's folder and to views."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, takewhile
from pathlib import Path
from types import ModuleType
from typing import Self, get_args

from aigon.agents.adapters._activities import read_activity_rules
from aigon.agents.adapters._records import parse_line
from aigon.files.atomic import open_plain
from aigon.model.turns import Activity, ActivityKind, Spent, Step
from aigon.process.capture import open_log
from aigon.secrets.redaction import Redact
from aigon.text.quoting import strip_escapes

_ADAPTERS = "aigon.agents.adapters"
SUFFIX = ".ndjson"
MOST_STARTS = 99
"""Programs of one iteration that have files of their own; later ones share those of the last."""
CHUNK = 1 << 20
"""Bytes that are read at a time."""
LONGEST_LINE = 1 << 20
"""Bytes of a line that is read. A longer one holds the content of a file."""
LONGEST = 240
"""Characters of an activity."""
READ = 4096
"""Characters of its text that are redacted before it is shortened: no secret that begins in sight is longer."""
MOST_LINES = 20
"""Lines that are kept of what a program without records prints at once."""
MOST_RECORDS = 100
"""Records that are parsed of what a program prints at once, the last ones: no view shows more, and a flood of them
would cost several times as much as keeping it."""
INTERVAL = 0.1
"""Seconds for which pieces are collected that come one upon another."""


class ActivityReader:
    """Reads the standard output of one agent's program, piece by piece, with the `read_activity` of its adapter or by
    the rules of `templates/activity.yaml`.

    Only lines with one of its `ACTIVITY_MARKS` are parsed. The lines of a program whose output has no records are what
    it prints; of a burst the last ones.
    """

    def __init__(self, adapter: ModuleType) -> None:
        marks, rules = read_activity_rules(getattr(adapter, "__name__", "").removeprefix(f"{_ADAPTERS}."))
        by_rules = (lambda record: chain.from_iterable(rule.read(record) for rule in rules)) if rules else None
        self._read = getattr(adapter, "read_activity", by_rules)
        self._marks: Sequence[bytes] = getattr(adapter, "ACTIVITY_MARKS", marks or (b"",))
        self._line = bytearray()
        self._is_too_long = self._is_in_key = False
        self._begun: Activity | None = None

    def feed(self, chunk: bytes) -> Iterator[Activity]:
        """Yield the activities in what the program printed next."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            self._extend(lines[0])
            lines[0] = b"" if self._is_too_long else bytes(self._line)
            self._line.clear()
            self._is_too_long = False
        self._extend(rest)
        yield from self._join(self._read_records(lines) if self._read else self._read_lines(lines))

    def close(self) -> Iterator[Activity]:
        """Yield what is left at the end of the output."""
        yield from self.feed(b"\n")
        if self._begun:
            yield self._begun

    def _extend(self, piece: bytes) -> None:
        self._is_too_long = self._is_too_long or len(self._line) + len(piece) > LONGEST_LINE
        if not self._is_too_long:
            self._line += piece

    def _read_records(self, lines: Sequence[bytes]) -> Iterator[Activity]:
        assert self._read is not None
        marked: list[bytes] = []
        for line in reversed(lines):
            for mark in self._marks:
                if mark in line:  # twenty times as fast as a regular expression, and as JSON
                    marked.append(line)
                    break
            if len(marked) == MOST_RECORDS:
                break
        for line in reversed(marked):
            for record in parse_line(line):
                yield from self._read(record)

    def _read_lines(self, lines: Sequence[bytes]) -> Iterator[Activity]:
        whole = [line for line in lines if line.strip() and not self._is_of_key(line)]
        for line in whole[-MOST_LINES:]:
            if text := strip_escapes(line.decode("utf-8", "replace")).strip():
                yield Activity("prints", text)

    def _is_of_key(self, line: bytes) -> bool:
        """Return whether a line is of a private key, which no redaction of single lines finds."""
        was_in_key = self._is_in_key
        if b"PRIVATE KEY-----" in line:
            self._is_in_key = b"-----BEGIN " in line and b"-----END " not in line
            return True
        return was_in_key

    def _join(self, activities: Iterator[Activity]) -> Iterator[Activity]:
        """Put the pieces of a text together that go on."""
        for activity in activities:
            begun, self._begun = self._begun, None
            if begun and activity.goes_on and begun.kind == activity.kind:
                activity = Activity(activity.kind, (begun.text + activity.text)[:LONGEST_LINE], True)
            elif begun:
                yield begun
            if activity.goes_on:
                self._begun = activity
            else:
                yield activity


class ActivityLog:
    """Writes what an agent does into a file of the iteration's folder, a JSON object per line.

    Texts are redacted with `redact`, then shortened. Pieces that follow one upon another are read together, ten times a
    second at most. Nothing depends on the file: it is not flushed to the disk, and whatever cannot be written is left
    out.
    """

    def __init__(self, log: Path, adapter: ModuleType, root: Path, redact: Redact) -> None:
        self._reader, self._root, self._redact = ActivityReader(adapter), f"{root}/", redact
        self._file = open_log(name_activity_file(log))
        self._before, self._spent, self._reply = Spent(), Spent(), ""
        self._waiting, self._read_at = bytearray(), -INTERVAL

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._read_waiting()
        self._write(self._reader.close())
        self._file.close()

    def hear(self, chunk: bytes) -> None:
        """Take in what the program printed next, b"" if that is nothing for now.

        Raises nothing: what an agent prints must not end its turn.
        """
        self._waiting += chunk
        if self._waiting and (len(self._waiting) >= CHUNK or time.monotonic() - self._read_at >= INTERVAL):
            self._read_waiting()

    def _read_waiting(self) -> None:
        self._write(self._reader.feed(bytes(self._waiting)))
        self._waiting.clear()
        self._read_at = time.monotonic()

    def _write(self, activities: Iterator[Activity]) -> None:
        with suppress(Exception):  # a plug-in's reader may raise anything
            if found := [each for each in activities if each.spent is None or self._sum_up(each)]:
                texts = self._clean([each.text for each in found])
                head, tail = (
                    f'{{"at": {time.time():.3f}, "kind"',
                    f'"tokens": {self._spent.tokens}, "usd": {self._spent.usd}',
                )
                lines = (
                    f'{head}: "{each.kind}", "text": {json.dumps(text)}}}\n'
                    if each.spent is None
                    else f'{head}: "spends", "text": "", {tail}}}\n'
                    for each, text in zip(found, texts, strict=True)
                )
                self._file.write("".join(lines).encode())

    def _clean(self, texts: Sequence[str]) -> Sequence[str]:
        """Redact texts, all at once if none holds a secret, and bring each on one short line."""
        pieces = [text[:READ].encode("utf-8", "replace") for text in texts]
        together = b"\n".join(pieces)
        if self._redact(together) != together:
            pieces = [self._redact(piece) for piece in pieces]
        lines = (" ".join(piece.decode("utf-8", "replace").split()).replace(self._root, "") for piece in pieces)
        return [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines]

    def _sum_up(self, activity: Activity) -> bool:
        """Add what a reply used to what the turn has; return whether that is new: a reply may tell it several times."""
        if not activity.text or activity.text != self._reply:
            self._reply, self._before = activity.text, self._spent
        before, self._spent = self._spent, self._before.plus(activity.spent or Spent())
        return self._spent != before


def name_activity_file(log: Path) -> Path:
    """Return the activity file next to a program's log: `activity.ndjson`, or `activity-2.ndjson` for `agent-2.log`."""
    return log.with_name(f"activity{log.stem.removeprefix('agent')}{SUFFIX}")


def name_log(folder: Path, start: int) -> Path:
    """Return the log of the `start`th program, from 1, that was started in this iteration: each has its own."""
    return folder / ("agent.log" if start == 1 else f"agent-{min(start, MOST_STARTS)}.log")


def choose_log(folder: Path) -> Path:
    """Return the log of the program that is started next in an iteration with this folder."""
    return name_log(folder, _count_existing(name_log(folder, start) for start in range(1, MOST_STARTS + 1)) + 1)


def find_newest_activity(folder: Path) -> Path:
    """Return the activities of the program that was started last in an iteration with this folder."""
    files = [name_activity_file(name_log(folder, start)) for start in range(1, MOST_STARTS + 1)]
    return files[max(0, _count_existing(files) - 1)]


def _count_existing(files: Iterable[Path]) -> int:
    """Return how many of these files exist before the first one that does not."""
    return sum(1 for _ in takewhile(Path.exists, files))


class ActivityFile:
    """Reads the steps of an iteration while they are written."""

    def __init__(self, file: Path, number: int) -> None:
        self._file, self._number = file, number
        self._offset, self._rest = 0, b""

    def read_new(self) -> Iterator[Step]:
        """Yield what has come since the last call; lines that are no step are passed over."""
        for line in self.read_lines():
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                found = json.loads(line)
                at, kind, text = float(found["at"]), found["kind"], str(found["text"])
                spent = Spent(int(found["tokens"]), float(found["usd"])) if kind == "spends" else None
                if kind in get_args(ActivityKind):
                    yield Step(at, self._number, kind, text, spent)

    def read_lines(self) -> Iterator[bytes]:
        """Yield the whole lines that have come since the last call."""
        with suppress(OSError), open_plain(self._file) as file:
            file.seek(self._offset)
            while chunk := file.read(CHUNK):
                self._offset += len(chunk)
                *lines, rest = (self._rest + chunk).split(b"\n")
                self._rest = rest[:LONGEST_LINE]
                yield from lines
