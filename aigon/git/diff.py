"""Diff two trees as text that no attribute can hide, and parse a unified diff.

git is asked for the text of everything (`--text`) by plumbing in aigon's own git directory, so that neither
`.gitattributes` (`-diff`, `binary`, drivers, textconv, encodings) nor a configuration changes what is seen.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from aigon.git.listings import SUBMODULE, RawChange, parse_raw
from aigon.git.objects import read_objects, read_sizes
from aigon.git.trusted import TrustedGit
from aigon.model.changes import DiffLine, FileDiff, FileStatus, Hunk
from aigon.text.patterns import compile_re

LARGEST = 1024 * 1024
"""Bytes of a file whose text is compared; a larger one is only named."""
TOGETHER = 16 * 1024 * 1024
"""Bytes of all files whose text is compared."""
_AT_ONCE = 60_000
"""Bytes of paths on one command line: systems allow at least 128 KB for all arguments (Linux, macOS)."""
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=none", "-r")
_PATCH = (*_PLAIN, "--text", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "-U3", "--submodule=short", "-p")


def diff_trees(
    git: TrustedGit, base: str, tree: str, without: frozenset[str], listed: Callable[[str], bool] = lambda _path: False
) -> tuple[FileDiff, ...]:
    """Return every file in which `tree` differs from `base` (commits or trees), by path; renames are two files.

    Paths in `without` are left out; of those that are `listed` only the name is wanted. Raises AigonError (exit 7).
    """
    listing = git.run("diff-tree", *_PLAIN, "--raw", "--no-abbrev", "-z", base, tree)
    entries = [entry for entry in parse_raw(listing) if entry.path not in without]
    wanted = [entry for entry in entries if not listed(entry.path)]
    sizes = read_sizes(git, sorted({name for entry in wanted for name in entry.blobs}))
    small = _select_small(wanted, sizes)
    contents = dict(read_objects(git, sorted({name for entry in small for name in entry.blobs})))
    diffs = {}
    for entry in entries:
        binary = entry in small and any(b"\0" in contents.get(name, b"") for name in entry.blobs)
        after = contents.get(entry.objects[1], b"") if entry in small and not binary else b""
        diffs[entry.path] = FileDiff(
            entry.path,
            cast("FileStatus", entry.status[:1]),
            binary=binary,
            large=entry in wanted and entry not in small,
            submodule=SUBMODULE in entry.modes,
            content=after.decode(errors="replace").replace("\r\n", "\n"),
        )
    texts = [diffs[entry.path] for entry in small]
    patches = _read_patches(git, base, tree, [d.path for d in texts if not d.binary and not d.submodule])
    return tuple(replace(d, hunks=patches[d.path].hunks) if d.path in patches else d for d in diffs.values())


def _select_small(entries: Sequence[RawChange], sizes: Mapping[str, tuple[str, int]]) -> set[RawChange]:
    """Return the entries whose text is compared: each is small enough, and all of them together."""
    chosen, remaining = set(), TOGETHER
    for entry in entries:
        size = [sizes.get(name, ("", LARGEST + 1))[1] for name in entry.blobs]
        if max(size, default=0) <= LARGEST and sum(size) <= remaining:
            chosen.add(entry)
            remaining -= sum(size)
    return chosen


def _read_patches(git: TrustedGit, base: str, tree: str, paths: Sequence[str]) -> Mapping[str, FileDiff]:
    diffs: dict[str, FileDiff] = {}
    remaining = list(paths)
    while remaining:
        batch: set[str] = set()
        size = 0
        while remaining and size < _AT_ONCE:
            batch.add(path := remaining.pop())
            size += len(os.fsencode(path)) + 1
        # Paths are literal here (GIT_LITERAL_PATHSPECS), but a name that was a folder matches what was in it, too.
        out = git.run("diff-tree", *_PATCH, base, tree, "--", *sorted(batch))
        diffs |= {diff.path: diff for diff in parse_diff(out) if diff.path in batch}
    return diffs


_HEADING = compile_re(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = compile_re(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_GIT = b"diff --git "


class _DiffSection(Struct):
    """The part of a diff about one file, as far as it was read."""

    path: bytes = b""
    status: FileStatus = "M"
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()


def parse_diff(data: bytes) -> tuple[FileDiff, ...]:
    """Return the files of a unified diff with the prefixes a/ and b/, in order; a file that comes twice is one.

    The lines of each hunk are counted, so that no line of a file is taken for a header. Paths keep odd bytes as
    surrogates. Raises ValueError for a hunk that ends too early.
    """
    files: dict[bytes, FileDiff] = {}
    for section in _split_sections(data.split(b"\n")):
        lines = [line.text for hunk in section.hunks for line in hunk.lines] if section.status == "A" else []
        path, content = os.fsdecode(section.path), "\n".join(lines)
        diff = FileDiff(path, section.status, section.hunks, section.binary, content=content)
        before = files.get(section.path)
        if before:  # git writes a change of type as a deletion and a creation
            diff = replace(diff, status="T", hunks=before.hunks + diff.hunks)
        files[section.path] = diff
    return tuple(files.values())


def _split_sections(lines: Sequence[bytes]) -> Iterator[_DiffSection]:
    section: _DiffSection | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_GIT) or (line.startswith(b"--- ") and (section is None or section.hunks)):
            if section and section.path:
                yield section
            section = _DiffSection()
            if line.startswith(_GIT):  # `a/PATH b/PATH`: without renames both are the same
                both = line[len(_GIT) :]
                section.path = _unquote(both[: (len(both) - 1) // 2])[2:]
        if section and (heading := _HEADING.match(line)):
            hunk, at = _read_hunk(lines, at, heading)
            section.hunks += (hunk,)
            continue
        if section:
            _read_header(section, line)
        at += 1
    if section and section.path:
        yield section


def _read_header(section: _DiffSection, line: bytes) -> None:
    if line.startswith(b"new file mode") or line == b"--- /dev/null":
        section.status = "A"
    elif line.startswith(b"deleted file mode") or line == b"+++ /dev/null":
        section.status = "D"
    elif line.startswith((b"--- ", b"+++ ")) and not section.hunks:
        section.path = _unquote(line[4:].partition(b"\t")[0])[2:]
    elif line.startswith((b"Binary files ", b"GIT binary patch")):
        section.binary = True


def _unquote(name: bytes) -> bytes:
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name
    return _ESCAPE.sub(lambda match: bytes([_ESCAPED.get(match[1]) or int(match[1], 8)]), name[1:-1])


def _read_hunk(lines: Sequence[bytes], at: int, heading: re.Match[bytes]) -> tuple[Hunk, int]:
    """Return the hunk whose `@@` line is at `at`, and where it ends."""
    old, new = int(heading[1]), int(heading[3])
    old_end, new_end = old + int(heading[2] or 1), new + int(heading[4] or 1)
    read: list[DiffLine] = []
    title = lines[at].decode(errors="replace")
    at += 1
    while old < old_end or new < new_end:
        if at >= len(lines):
            raise ValueError(f"the diff ends in the middle of {title}")
        sign, text = lines[at][:1] or b" ", lines[at][1:].decode(errors="replace").removesuffix("\r")
        at += 1
        match sign:
            case b"+":
                read.append(DiffLine("+", text, 0, new))
                new += 1
            case b"-":
                read.append(DiffLine("-", text, old, 0))
                old += 1
            case b" ":
                read.append(DiffLine(" ", text, old, new))
                old, new = old + 1, new + 1
            case b"\\":
                pass  # "No newline at end of file"
            case _:
                raise ValueError(f"no line of a diff in {title}: {lines[at - 1][:80]!r}")
    return Hunk(title, tuple(read)), at
