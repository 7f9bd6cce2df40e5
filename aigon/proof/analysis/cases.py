"""The single tests of a test file in Python, JavaScript, TypeScript, Rust and Go, by their syntax."""

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from aigon.control.alteration import find_tests


class SingleTest(Struct, frozen=True):
    """One test: its name (classes before it, dotted), its first and last line, and its words without comments."""

    name: str
    start: int
    end: int
    words: str


@lru_cache(maxsize=256)
def list_cases(path: str, text: str) -> tuple[SingleTest, ...]:
    """Return all tests of a file, in order; none of a language whose grammar is not here."""
    return tuple(sorted(_list_cases(path, text), key=lambda case: case.start))


def _list_cases(path: str, text: str) -> Iterator[SingleTest]:
    source, tests = find_tests(path, text.encode("utf-8", "surrogateescape"), "")
    for test in tests:
        assert source is not None, "only a source has tests"
        leaves = (leaf for leaf in test.node.walk() if not leaf.children and "comment" not in leaf.kind)
        words = " ".join(map(source.text, leaves))
        yield SingleTest(".".join([*test.owners, test.name]), test.node.line, source.last_line(test.node), words)
