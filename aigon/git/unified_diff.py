"""The parser of a unified diff. It counts the lines of each hunk, so that no line of a file is taken for a header."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aigon.model.changes import DiffLine, FileDiff, FileStatus, Hunk

_HEADING = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_GIT = b"diff --git "


@dataclass(slots=True)
class _Section:
    """What was read of one file so far."""

    path: bytes = b""
    status: FileStatus = "M"
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()


def parsed(data: bytes) -> tuple[FileDiff, ...]:
    """The files of a unified diff with the prefixes a/ and b/, in its order; a file that comes twice is one.

    Text is decoded as UTF-8, paths keep odd bytes as surrogates. Raises ValueError for a hunk that ends too early.
    """
    files: dict[bytes, FileDiff] = {}
    for section in _sections(data.split(b"\n")):
        found = _file(section)
        before = files.get(section.path)
        if before:  # git writes a change of type as a deletion and a creation
            found = replace(found, status="T", hunks=before.hunks + found.hunks)
        files[section.path] = found
    return tuple(files.values())


def _file(section: _Section) -> FileDiff:
    path = section.path.decode("utf-8", "surrogateescape")
    lines = [line.text for hunk in section.hunks for line in hunk.lines] if section.status == "A" else []
    return FileDiff(path, section.status, section.hunks, section.binary, content="\n".join(lines))


def _sections(lines: Sequence[bytes]) -> Iterator[_Section]:
    section: _Section | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_GIT) or (line.startswith(b"--- ") and (section is None or section.hunks)):
            if section and section.path:
                yield section
            section = _Section(_both(line[len(_GIT) :]) if line.startswith(_GIT) else b"")
        if section and (heading := _HEADING.match(line)):
            hunk, at = _hunk(lines, at, heading)
            section.hunks += (hunk,)
            continue
        if section:
            _header(section, line)
        at += 1
    if section and section.path:
        yield section


def _header(section: _Section, line: bytes) -> None:
    if line.startswith(b"new file mode") or line == b"--- /dev/null":
        section.status = "A"
    elif line.startswith(b"deleted file mode") or line == b"+++ /dev/null":
        section.status = "D"
    elif line.startswith((b"--- ", b"+++ ")) and not section.hunks:
        section.path = _plain(line[4:].partition(b"\t")[0])[2:]
    elif line.startswith((b"Binary files ", b"GIT binary patch")):
        section.binary = True


def _both(rest: bytes) -> bytes:
    """The path in `a/PATH b/PATH`: no renames, so both are the same."""
    half = rest[: (len(rest) - 1) // 2]
    return _plain(half)[2:]


def _plain(name: bytes) -> bytes:
    """A name without git's C-style quotes."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name
    return _ESCAPE.sub(lambda found: bytes([_ESCAPED.get(found[1]) or int(found[1], 8)]), name[1:-1])


def _hunk(lines: Sequence[bytes], at: int, heading: re.Match[bytes]) -> tuple[Hunk, int]:
    """The hunk whose `@@` line is at `at`, and where it ends."""
    old, new = int(heading[1]), int(heading[3])
    old_end, new_end = old + int(heading[2] or 1), new + int(heading[4] or 1)
    found: list[DiffLine] = []
    title = lines[at].decode(errors="replace")
    at += 1
    while old < old_end or new < new_end:
        if at >= len(lines):
            raise ValueError(f"the diff ends in the middle of {title}")
        sign, text = lines[at][:1] or b" ", lines[at][1:].decode(errors="replace").removesuffix("\r")
        at += 1
        match sign:
            case b"+":
                found.append(DiffLine("+", text, 0, new))
                new += 1
            case b"-":
                found.append(DiffLine("-", text, old, 0))
                old += 1
            case b" ":
                found.append(DiffLine(" ", text, old, new))
                old, new = old + 1, new + 1
            case b"\\":
                pass  # "No newline at end of file"
            case _:
                raise ValueError(f"no line of a diff in {title}: {lines[at - 1][:80]!r}")
    return Hunk(title, tuple(found)), at
