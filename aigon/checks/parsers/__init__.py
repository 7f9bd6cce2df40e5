"""Parsers: what a tool printed or reported, read into a `Reading`. One module per format, its file name the registry.

A parser module has one public function, `read(output: bytes, report: bytes | None) -> Reading`: `output` is the
tool's stdout and stderr together (its middle may be missing), `report` what the report file held. It touches nothing
outside, never raises and never decides: the exit code does that. Modules that begin with an underscore are shared
pieces and no parsers.
"""

import importlib
import pkgutil
from collections.abc import Sequence

from aigon.errors import usage
from aigon.model.checks import ParsedOutput


def known() -> tuple[str, ...]:
    """The names of all parsers, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def parse(name: str, output: bytes, report: bytes | None) -> ParsedOutput:
    """What parser `name` reads in a tool's output and report file. Raises AigonError (usage) for an unknown name."""
    if name not in known():
        raise usage(f"There is no parser called {name!r}", hint=f"Use one of: {', '.join(known())}")
    module = importlib.import_module(f"{__name__}.{name}")
    try:
        reading: ParsedOutput = module.read(output, report)
    except Exception:
        # The one place where this is right: the bytes come from tools and from code that an agent wrote. A fault in a
        # parser must not end a run, and it changes no decision: not understood is never taken for a pass.
        return ParsedOutput(understood=False)
    return reading


def together(readings: Sequence[ParsedOutput]) -> ParsedOutput:
    """One reading of the reports of several runs; a test that ran in one of them was not skipped."""
    from aigon.checks.parsers import _readings

    return readings[0] if len(readings) == 1 else _readings.together(readings)
