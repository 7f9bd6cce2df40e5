"""The entries of a plain index, read from its bytes: how they differ from earlier ones, and another blob for a file.

Plain are versions 2 and 3, whole, of files alone, with names of objects of 20 bytes and no extension but the names of
trees. Whatever else an index is or has, git has to say.
"""

import hashlib
import os
import stat
import struct
from bisect import bisect_left

from msgspec import Struct

from aigon.git.listings import NO_FILE, RawChange

_HEAD, _CHECKSUM, _NAME = 12, 20, 62
"""Bytes before the first entry and after the last extension, and of an entry before its name, by gitformat-index(5)."""
_EXTENDED, _STAGES, _LENGTH = 0x4000, 0x3000, 0x0FFF
"""Flags of an entry: that there are more of them, which side of a merge it is, and the length of its name."""
_INTENT = 0x2000
"""Among those that are more: only the path was added."""
_NO_OBJECT = "0" * 40
_KINDS = {"100": "file", "120": "link", "160": "submodule"}


class IndexEntries(Struct, frozen=True):
    """The `data` of an index, where each entry begins in it, and where the extensions do."""

    data: bytes
    places: list[int]
    end: int

    def compare(self, data: bytes) -> "tuple[IndexEntries, tuple[RawChange, ...]] | None":
        """Return the entries in the `data` of a later index, and the paths with another mode or object; None: ask git.

        It is read entry by entry only where it is not the same.
        """
        count = _count_entries(data)
        if count is None:
            return None
        changes: list[RawChange] = []
        places: list[int] = []
        mine, at = 0, _HEAD
        while mine < len(self.places) or len(places) < count:
            same = self._count_same(data, at, mine, count - len(places))
            if same:
                moved = at - self.places[mine]
                here = self.places[mine : mine + same]
                places += [place + moved for place in here] if moved else here
                mine += same
                at = moved + (self.places[mine] if mine < len(self.places) else self.end)
                continue
            old = _read_entry(self.data, self.places[mine]) if mine < len(self.places) else None
            new = _read_entry(data, at) if len(places) < count else None
            if (old and old.is_odd) or (new and new.is_odd):
                return None
            if not new or (old and old.name < new.name):
                new = None
            elif not old or new.name < old.name:
                old = None
            mine += old is not None
            if new:
                places.append(at)
                at = new.end
            if change := _compare_entries(old, new):
                changes.append(change)
        return (IndexEntries(data, places, at), tuple(changes)) if _has_only_trees(data, at) else None

    def _count_same(self, data: bytes, at: int, mine: int, most: int) -> int:
        """Return how many entries from `mine` on are at `at` in `data`, byte for byte."""
        most, same, step = min(most, len(self.places) - mine), 0, 1
        start = self.places[mine] if most > 0 else 0
        moved = at - start
        while same < most and step:
            more = min(step, most - same)
            end = mine + same + more
            stop = self.places[end] if end < len(self.places) else self.end
            if data.startswith(self.data[start:stop], start + moved):
                same, start, step = same + more, stop, 2 * step
            else:
                step = more // 2
                most = same + more - 1  # the one that differs is among these
        return same

    def replace_blob(self, path: str, mode: str, name: str, state: os.stat_result, size: int) -> "IndexEntries | None":
        """Return the entries with the blob `name` for a file in this `state`; None: ask git.

        The file has to have that size, and this `mode` as in the index.
        """
        raw, data = os.fsencode(path), self.data
        number = bisect_left(self.places, raw, key=lambda place: _read_entry(data, place).name)
        entry = _read_entry(data, self.places[number]) if number < len(self.places) else None
        if entry is None or entry.name != raw or entry.is_odd or entry.mode != mode:
            return None
        if not stat.S_ISREG(state.st_mode) or state.st_size != size or mode != f"100{_find_mode(state)}":
            return None
        at = self.places[number]
        times = (part for ns in (state.st_ctime_ns, state.st_mtime_ns) for part in divmod(ns, 10**9))
        numbers = (*times, state.st_dev, state.st_ino, int(entry.mode, 8), state.st_uid, state.st_gid, state.st_size)
        new = struct.pack(">10L", *(number & 0xFFFFFFFF for number in numbers)) + bytes.fromhex(name)
        trees = _forget_trees(data[self.end : -_CHECKSUM], raw)
        whole = b"".join((data[:at], new, data[at + len(new) : self.end], trees))
        return IndexEntries(whole + hashlib.sha1(whole).digest(), self.places, self.end)


class _Entry(Struct, frozen=True):
    name: bytes
    mode: str
    object: str
    is_odd: bool
    end: int


def read_entries(data: bytes) -> IndexEntries | None:
    """Return the entries in the `data` of an index; None if it is not plain."""
    count = _count_entries(data)
    if count is None:
        return None
    places, at = [], _HEAD
    for _ in range(count):
        places.append(at)
        flags = data[at + 60] << 8 | data[at + 61]
        name, length = at + _NAME + (2 if flags & _EXTENDED else 0), flags & _LENGTH
        if length == _LENGTH:  # or more
            length = data.index(b"\0", name) - name
        at += (name - at + length + 8) & ~7
    return IndexEntries(data, places, at) if _has_only_trees(data, at) else None


def _count_entries(data: bytes) -> int | None:
    if len(data) < _HEAD + _CHECKSUM or data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return None
    return int.from_bytes(data[8:12])


def _has_only_trees(data: bytes, at: int) -> bool:
    end = len(data) - _CHECKSUM
    return at == end or (data[at : at + 4] == b"TREE" and at + 8 + int.from_bytes(data[at + 4 : at + 8]) == end)


def _read_entry(data: bytes, at: int) -> _Entry:
    flags = data[at + 60] << 8 | data[at + 61]
    start = at + _NAME + (2 if flags & _EXTENDED else 0)
    length = flags & _LENGTH
    stop = start + length if length < _LENGTH else data.index(b"\0", start)
    is_intent = bool(flags & _EXTENDED and int.from_bytes(data[at + _NAME : start]) & _INTENT)
    is_odd = bool(flags & _STAGES) or is_intent
    mode = f"{int.from_bytes(data[at + 24 : at + 28]):06o}"
    return _Entry(data[start:stop], mode, data[at + 40 : at + 60].hex(), is_odd, at + ((stop - at + 8) & ~7))


def _compare_entries(old: _Entry | None, new: _Entry | None) -> RawChange | None:
    """Return the change in git's raw format, None if mode and object are the same."""
    (one, before), (other, after) = ((e.mode, e.object) if e else (NO_FILE, _NO_OBJECT) for e in (old, new))
    named = new or old
    if named is None or (one, before) == (other, after):
        return None
    same_kind = _KINDS.get(one[:3]) == _KINDS.get(other[:3])
    status = "A" if old is None else "D" if new is None else "M" if same_kind else "T"
    return RawChange(os.fsdecode(named.name), (one, other), (before, after), status)


def _find_mode(state: os.stat_result) -> str:
    return "755" if state.st_mode & 0o100 else "644"


def _forget_trees(extension: bytes, path: bytes) -> bytes:
    """Return the extension with the names of trees, if there is one, without those of the folders around `path`."""
    if not extension:
        return b""
    folders = [b"", *path.split(b"/")[:-1]]
    nodes, at = [], 8
    above: list[tuple[int, bool]] = []  # of each folder around the one that is read: how many are still to come, and
    while at < len(extension):  # whether it is around the path
        stop = extension.index(b"\n", at)
        name, _, numbers = extension[at:stop].partition(b"\0")
        count, below = numbers.split(b" ")
        end = stop + 1 + (0 if count.startswith(b"-") else 20)
        is_around = len(above) < len(folders) and name == folders[len(above)] and (not above or above[-1][1])
        nodes.append(b"%s\0-1 %s\n" % (name, below) if is_around else extension[at:end])
        above.append((int(below), is_around))
        while above and not above[-1][0]:
            above.pop()
            if above:
                above[-1] = above[-1][0] - 1, above[-1][1]
        at = end
    content = b"".join(nodes)
    return b"TREE" + len(content).to_bytes(4) + content
