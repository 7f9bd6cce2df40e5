"""`cargo test --doc`, beside a runner that runs no doc-tests: like `cargo test`, but for none there is no report."""

from dataclasses import replace

from aigon.checks.parsers import cargotest
from aigon.model.checks import ParsedOutput


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts, failures and results by id; no counts where no example was run."""
    reading = cargotest.read(output, report)
    none = reading.counts is not None and not reading.counts.total
    return replace(reading, counts=None, summary="no doc-tests") if none else reading
