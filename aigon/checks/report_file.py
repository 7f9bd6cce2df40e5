"""The file that a tool left as its report."""

from pathlib import Path

LARGEST = 16 * 1024 * 1024
"""Bytes of a report that is read, as parsers do: some 100,000 tests. Of a larger one nothing is believed."""


def content(report: Path) -> bytes | None:
    """A report's content where it is an ordinary file; a link or a device is nobody's report."""
    if not report.is_file() or report.is_symlink():
        return None
    with report.open("rb") as file:
        return file.read(LARGEST + 1)


def whole(content: bytes | None) -> bool:
    """Whether there is something, and not more than is read."""
    return bool(content) and not too_large(content)


def too_large(content: bytes | None) -> bool:
    """Whether there is more than is read."""
    return len(content or b"") > LARGEST
