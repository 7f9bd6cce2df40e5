"""What the real tools wrote, trimmed, with the project at /project. Each file name begins with its parser's name."""

from pathlib import Path

from aigon.checks.parsers import load_reader
from aigon.model.checks import ParsedOutput

FOLDER = Path(__file__).parent / "captures"


def captured(name: str) -> bytes:
    """One captured output or report."""
    return (FOLDER / name).read_bytes()


def read(parser: str, output: bytes = b"", report: bytes | None = None) -> ParsedOutput:
    """What a parser's own function says, without the net that `aigon.checks.parsers.parse` spreads under it."""
    return load_reader(parser)(output, report)


def reading(name: str) -> ParsedOutput:
    """A capture as its own parser reads it: XML and JSON files are reports, everything else is output."""
    parser, data = name.partition("-")[0], captured(name)
    return read(parser, b"", data) if name.endswith((".xml", ".json")) else read(parser, data)
