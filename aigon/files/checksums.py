"""Content with a sum: records, where a flipped bit is damage like half a file, and command files, which people edit."""

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from aigon.errors import AigonError, environment
from aigon.files.atomic import make_lasting, sync_folder
from aigon.text.patterns import compile_re

SUM = "sum"


def dump_with_sum(document: Mapping[str, Any]) -> bytes:
    """Return the document with its sum, as one line of JSON."""
    return json.dumps({**document, SUM: _sum(document)}).encode() + b"\n"


def load_with_sum(data: bytes) -> dict[str, Any]:
    """Return the document without its sum. Raises ValueError for a damaged one; older versions wrote no sum."""
    try:
        document = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    given = document.pop(SUM, None)
    if given is not None and given != _sum(document):
        raise ValueError("its sum is wrong")
    return document


def _sum(document: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(document, sort_keys=True).encode()):08x}"


class JournalFile:
    """A file to which whole lines are appended."""

    def __init__(self, path: Path) -> None:
        make_lasting(path.parent)
        self._cut_torn_end(path)
        new = not path.exists()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.path = path
        if new:  # else a power cut could take the name of what is flushed line by line
            sync_folder(path.parent)

    def append(self, document: str, *, durable: bool) -> None:
        """Append one line; if `durable`, it and all before it are on disk when this returns."""
        self._follow()
        line = format_line(document)
        written = os.write(self._fd, line)
        if written < len(line):  # a full disk: half a line must not stay
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
        if durable:
            os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)

    def _follow(self) -> None:
        """Reopen the file if it was replaced by its own copy (put back after an agent wrote to it)."""
        with contextlib.suppress(OSError):  # gone altogether: what is written is refused, or put back, elsewhere
            there, held = os.stat(self.path), os.fstat(self._fd)  # noqa: PTH116 - on the hot path
            if (there.st_ino, there.st_dev) != (held.st_ino, held.st_dev):
                new = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                os.close(self._fd)
                self._fd = new

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    @staticmethod
    def _cut_torn_end(path: Path) -> None:
        """Cut a line without its end: the machine stopped while it was written, and it never counted."""
        if path.exists() and _is_torn(path):
            os.truncate(path, path.read_bytes().rfind(b"\n") + 1)


def _is_torn(path: Path) -> bool:
    """Return whether the last line of a file has no end."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def read_documents(path: Path) -> list[dict[str, object]]:
    """Return the documents of a journal, oldest first, without a torn last line.

    Raises AigonError (exit 7) for a damaged line.
    """
    return list(iterate_documents(path))


def iterate_documents(
    path: Path, skipped_ends: tuple[bytes, ...] = (), wanted_ends: tuple[bytes, ...] = (b"\n",)
) -> Iterator[dict[str, object]]:
    """Yield the same one by one: a journal of a thousand iterations takes 40 MB when read at once.

    Lines with one of the `skipped_ends`, or none of the `wanted_ends`, are passed over unread.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            if (skipped_ends and line.endswith(skipped_ends)) or not line.endswith(wanted_ends):
                continue
            document = _document(line[:-1])
            if document is None:
                raise damage_error("The journal of this run", f"{path}:{number}")
            yield document


def parse_lines(data: bytes) -> list[dict[str, object] | None]:
    """Return what each whole line of a journal holds; None for a damaged one."""
    return [_document(line) for line in data.split(b"\n")[:-1]]


def _document(line: bytes) -> dict[str, object] | None:
    checksum, _, data = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(data):
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def format_line(document: str) -> bytes:
    """Return a document as a line of a journal."""
    data = document.encode("utf-8", "replace")
    return b"%08x %s\n" % (zlib.crc32(data), data)


def damage_error(what: str, where: str, feature: str = "", how: str = "damaged") -> AigonError:
    """Return the error that a record is damaged, or `how` else it is, and how to repair it."""
    hint = f"aigon doctor --repair{f' {feature}' if feature else ''}"
    return environment(f"{what} is {how}", where=where, hint=f"{hint}   # keeps the file, and rebuilds what it can")


def read_journal_end(path: Path, size: int, mark: bytes) -> list[bytes]:
    """Return the JSON documents with `mark` in the last `size` bytes of a journal, oldest first.

    What is damaged or unreadable is left out: for hints only.
    """
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(start)
            lines = file.read(size).split(b"\n")[1 if start else 0 : -1]
    except OSError:
        return []
    parts = (line.partition(b" ") for line in lines if mark in line)
    return [data for checksum, _, data in parts if checksum == b"%08x" % zlib.crc32(data)]


# The last line of a command file: the digest of all others. While it holds, the file is unedited.
_MARK_FORMAT = "written by aigon install-commands, sha256 {digest}; if you edit this file, aigon leaves it to you"
_MARKED = compile_re(rb"(?m)^(?:<!-- |# )written by aigon install-commands, sha256 ([0-9a-f]{64}).*\n?")

CommandOrigin = Literal["intact", "edited", "foreign"]
"""A file is as aigon wrote it, was edited since, or is not aigon's at all."""


def mark_command(text: str, begin: str, end: str) -> bytes:
    """Return the file with `text` and a mark, which is a comment between `begin` and `end`."""
    unmarked = text.rstrip("\n") + "\n"
    mark = _MARK_FORMAT.format(digest=_digest(unmarked.encode()))
    return f"{unmarked}\n{begin}{mark}{end}\n".encode()


def inspect_command(content: bytes) -> tuple[CommandOrigin, str]:
    """Return the origin of a file, and the digest in its mark: of what aigon wrote last, "" without a mark."""
    marks = _MARKED.findall(_unix(content))
    if not marks:
        return "foreign", ""
    fits = len(marks) == 1 and marks[0].decode() == _digest(content)
    return "intact" if fits else "edited", marks[0].decode()


def is_unedited_command(path: str, content: bytes) -> bool:
    """Return whether the file at `path` is a command that aigon wrote, not edited since."""
    return path.endswith((".md", ".toml")) and inspect_command(content)[0] == "intact"


def _digest(content: bytes) -> str:
    from hashlib import sha256  # loads OpenSSL, which a journal does not need

    return sha256(_MARKED.sub(b"", _unix(content)).rstrip()).hexdigest()


def _unix(content: bytes) -> bytes:
    """Return the content with the line ends that were marked: git changes them on some systems."""
    return content.replace(b"\r\n", b"\n")
