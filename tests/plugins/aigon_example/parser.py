"""Read the output of a tool that prints `EXAMPLE FAIL: message` for each problem."""

from aigon.model.checks import ParsedOutput, Problem


def read(output: bytes, _report: bytes | None) -> ParsedOutput:
    """Return what the output says. The exit code of the tool decides whether the check passed."""
    lines = output.decode("utf-8", "replace").splitlines()
    failures = [line.removeprefix("EXAMPLE FAIL: ") for line in lines if line.startswith("EXAMPLE FAIL: ")]
    return ParsedOutput(problems=tuple(Problem(message) for message in failures))
