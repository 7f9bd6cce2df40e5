"""How tests are called: ids as reports have them, and how those of one file can begin."""

from collections.abc import Iterable, Iterator


def list_prefixes(path: str) -> Iterator[str]:
    """Yield how ids of this file can begin: with its path, or what Python makes of it, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        if below.endswith(".py"):
            yield below.removesuffix(".py").replace("/", ".")


def list_beginnings(files: Iterable[str]) -> tuple[str, ...]:
    """Return how ids of tests in these files begin, as `str.startswith` takes them.

    A file is a path relative to the project; if tests run in a folder of it, ids begin below that folder.
    """
    return tuple(f"{name}{end}" for path in files for name in list_prefixes(path) for end in ("::", "."))


def as_reported(test: str) -> str:
    """Return a node id of pytest, `tests/a.py::TestX::test_y`, as its report has it: `tests.a.TestX::test_y`."""
    path, _, inside = test.partition("::")
    if not path.endswith(".py"):
        return test
    bare, bracket, parameter = inside.partition("[")
    owner, _, name = bare.rpartition("::")
    module = path.removesuffix(".py").replace("/", ".")
    within = ".".join(filter(None, (module, owner.replace("::", "."))))
    return f"{within}::{name}{bracket}{parameter}" if inside else module
