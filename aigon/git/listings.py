"""Parse what git prints with `-z`: paths, entries of trees and indexes, differences, settings."""

import os
from collections.abc import Iterator

from msgspec import Struct

from aigon.model.changes import FileChange

NO_FILE, SUBMODULE = "000000", "160000"
"""Modes at which git writes no file."""


class RawChange(Struct, frozen=True):
    """A line of git's raw format: modes, objects and status of a path on both sides."""

    path: str
    modes: tuple[str, str]
    objects: tuple[str, str]
    status: str

    @property
    def fingerprint(self) -> str:
        """Everything but the path and the old mode: equal ones mean an equal change."""
        return " ".join((self.modes[1], *self.objects, self.status))

    @property
    def blobs(self) -> tuple[str, ...]:
        sides = zip(self.modes, self.objects, strict=True)
        return tuple(name for mode, name in sides if mode not in (NO_FILE, SUBMODULE))


def split_paths(out: bytes | str) -> tuple[str, ...]:
    """Return the paths, or other entries, in the output of a git command with `-z`."""
    return tuple(entry for entry in os.fsdecode(out).split("\0") if entry)


def split_listing(out: bytes | str) -> tuple[str, ...]:
    """Return the paths in the output of `ls-files -v -z`, which has a letter before each."""
    return tuple(entry[2:] for entry in split_paths(out))


def parse_raw(out: bytes) -> Iterator[RawChange]:
    """Yield the changes in the output of `diff-tree`, `diff-index` or `diff-files` with `--raw -z --no-renames`."""
    fields = os.fsdecode(out).split("\0")
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        before, after, old, new, status = head.lstrip(":").split(" ")
        yield RawChange(path, (before, after), (old, new), status)


def parse_raw_and_counts(out: bytes) -> tuple[tuple[RawChange, ...], tuple[FileChange, ...]]:
    """Return the changes in the output of `diff-index` with `--raw --numstat -z --no-renames`, and how large each is.

    A file that is no text has -1 lines.
    """
    fields = iter(out.split(b"\0"))
    raw, counts = b"", []
    for field in fields:
        if field.startswith(b":"):
            raw += b"%s\0%s\0" % (field, next(fields))
        elif field:
            added, removed, path = field.decode(errors="replace").split("\t", 2)
            counts.append(FileChange(path, *((-1, -1) if added == "-" else (int(added), int(removed)))))
    return tuple(parse_raw(raw)), tuple(counts)


def parse_stage(out: bytes | str) -> dict[str, tuple[str, str]]:
    """Return mode and object by path, from the output of `ls-files --stage -z`."""
    entries = (entry.partition("\t") for entry in os.fsdecode(out).split("\0"))
    return {path: (info[:6], info[7:].partition(" ")[0]) for info, tab, path in entries if tab}


def parse_config(out: bytes | str) -> tuple[tuple[str, str], ...]:
    """Return names and values in the output of `git config --list -z`; a name alone has the value `true`."""
    entries = (entry.partition("\n") for entry in split_paths(out))
    return tuple((name, value if equals else "true") for name, equals, value in entries)


def parse_batch(out: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield name, kind and content in the output of `cat-file --batch`; all are empty for an object that is missing."""
    start = 0
    while start < len(out):
        end = out.index(b"\n", start)
        words = out[start:end].rsplit(b" ", 2)  # what was asked for may have spaces if it is missing
        start = end + 1
        if len(words) == 3 and words[2].isdigit():
            yield words[0], words[1], out[start : start + int(words[2])]
            start += int(words[2]) + 1
        else:
            yield b"", b"", b""
