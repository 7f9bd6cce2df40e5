"""Parsers read what a tool printed or reported. They describe and never decide: the exit code does.

A parser is a file `NAME.py` with `read(output, report) -> ParsedOutput`, or a matcher `templates/parsers/NAME.yaml`.
`output` is stdout and stderr together, its middle may be missing; `report` is what the report file held.

`matchers` reads the YAML files, of runners of tests as `tallies`, `output` reads text, JSON and XML, `stacks` finds the
project's own frames, and `readings` has problems, counts and results by test id.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from aigon.files.resources import Registry
from aigon.model.checks import ParsedOutput

Reader = Callable[[bytes, bytes | None], ParsedOutput]
_SHARED = {
    "cargo": "cargo clippy", "cargotest": "cargotest cargodoc nextest",
    "javascript": "bun jest mocha nodetest vitest", "junit": "endpoints junit phpunit pytest",
    "opaque": "any build node nodelint precommit", "results": "dotnet rspec",
    "swift": "swifttest xcresult", "tap": "ava tap", "violations": "androidlint checkstyle sarif",
    **dict.fromkeys(("libtest", "matchers", "output", "readings", "stacks", "tallies", "tap_document"), ""),
}  # fmt: skip
"""The parsers of a file that holds several, as `read_NAME`, or `read` for the one of its own name."""


class _ParserRegistry(Registry, frozen=True):
    """Lists matchers, too; a parser in Python counts before the matcher that it uses."""

    def builtins(self) -> dict[str, str]:
        from aigon.checks.parsers.matchers import list_matchers

        return dict.fromkeys(list_matchers(), f"{__name__}.matchers") | super().builtins()


REGISTRY = _ParserRegistry("aigon.parsers", __name__, "parser", _SHARED)


def list_parsers() -> tuple[str, ...]:
    """Return the names of all parsers, sorted."""
    return REGISTRY.names()


def load_reader(name: str) -> Reader:
    """Return the function of parser `name`, or of the matcher in a YAML file of the project's, by its path.

    Raises AigonError (exit 2) for an unknown name, a broken plug-in or a malformed file.
    """
    if name.endswith(".yaml"):
        from aigon.checks.parsers.matchers import read_matcher

        return read_matcher(Path(name)).read
    found = REGISTRY.load(name)
    if found.__name__ == f"{__name__}.matchers":
        return found.load_shipped(name).read  # type: ignore[no-any-return]
    if isinstance(found, ModuleType):
        found = getattr(found, f"read_{name}", None) or found.read
    reader: Reader = found
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
