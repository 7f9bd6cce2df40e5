"""Parsers read what a tool printed or reported. They describe and never decide: the exit code does.

A parser is a file `NAME.py` with `read(output, report) -> ParsedOutput` in `runners` (of tests), `linters` or
`builds`, or a matcher `templates/parsers/NAME.yaml`. `output` is stdout and stderr together, its middle may be missing;
`report` is what the report file held.

`matchers` reads the YAML files, `documents` JSON and XML, `stacks` finds the project's own frames, and `readings` has
what all of them share: text, problems, counts, results by test id.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence

from aigon.errors import usage
from aigon.model.checks import ParsedOutput

Reader = Callable[[bytes, bytes | None], ParsedOutput]
PACKAGES = tuple(f"{__name__}.{folder}" for folder in ("runners", "linters", "builds"))
_BESIDE = {
    "androidlint": "checkstyle", "any": "opaque", "cargodoc": "cargotest", "clippy": "cargo", "gradle": "jvm",
    "maven": "jvm", "minitest": "ruby", "nextest": "cargotest", "node": "opaque", "rspec": "ruby", "rustfmt": "cargo",
    "swifttest": "swift", "vitest": "jest", "xcresult": "swift",
}  # fmt: skip
"""Parsers that share a file, as `read_NAME`."""
_SHARED = frozenset({"golang", "jvm", "libtest", "opaque", "ruby", "swift", "tap_document"})
"""Files without a parser of their name."""


def list_parsers() -> tuple[str, ...]:
    """Return the names of all parsers, sorted."""
    from aigon.checks.parsers.matchers import list_matchers

    return tuple(sorted({*_find_files(), *_BESIDE, *list_matchers()} - _SHARED))


def _find_files() -> dict[str, str]:
    """Return the modules of the packages by name, without importing them."""
    paths = {package: importlib.import_module(package).__path__ for package in PACKAGES}
    return {module.name: package for package in PACKAGES for module in pkgutil.iter_modules(paths[package])}


def load_reader(name: str) -> Reader:
    """Return the function of parser `name`. Raises AigonError (exit 2) for an unknown name."""
    if name not in list_parsers():
        raise usage(f"There is no parser called {name!r}", hint=f"Use one of: {', '.join(list_parsers())}")
    files, file = _find_files(), _BESIDE.get(name, name)
    if file not in files:
        from aigon.checks.parsers.matchers import load_matcher

        return load_matcher(name).read
    module = importlib.import_module(f"{files[file]}.{file}")
    reader: Reader = getattr(module, "read" if file == name else f"read_{name}")
    return reader


def parse(name: str, output: bytes, report: bytes | None) -> ParsedOutput:
    """Return what parser `name` reads. Raises AigonError (exit 2) for an unknown name."""
    reader = load_reader(name)
    try:
        return reader(output, report)
    except Exception:
        # The one place where this is right: the bytes come from tools and from code that an agent wrote. A fault in a
        # parser must not end a run, and it changes no decision: not understood is never taken for a pass.
        return ParsedOutput(understood=False)


def merge_readings(readings: Sequence[ParsedOutput]) -> ParsedOutput:
    """Return one reading of the reports of several runs; a test that ran in one of them was not skipped."""
    from aigon.checks.parsers import readings as shared

    return shared.merge_readings(readings)
