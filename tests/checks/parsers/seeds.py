"""What mutations begin with: every capture, every input that once broke something, and documents of no tool at all.

A parser that is added is taken up by itself: its captures are the files that begin with its name.
"""

import dis
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from aigon.checks import parsers
from aigon.checks.parsers import list_parsers, load_reader
from aigon.checks.parsers.matchers import Matcher, list_matchers, load_matcher, load_shipped, load_tests
from aigon.checks.parsers.tallies import TestMatcher
from tests.checks.parsers.captured import FOLDER

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once broke something, or would break something simpler: `WHAT.bin`. Every parser gets all of them."""
_OURS = ("aigon.checks.parsers.", "aigon.text.quoting")
REPORTS = (".json", ".xml", ".jsonl", ".sarif")


@dataclass(frozen=True, slots=True)
class Seed:
    """A document and whose it is: the name of a parser, or '' for nobody's."""

    name: str
    parser: str
    data: bytes

    @property
    def report(self) -> bool:
        """Whether a tool writes it to a file rather than prints it."""
        return self.name.endswith(REPORTS)


@functools.cache
def captures() -> tuple[Seed, ...]:
    """All captures, each with the parser that its name begins with."""
    files = sorted(path for path in FOLDER.iterdir() if path.is_file())
    return tuple(Seed(path.name, path.name.partition("-")[0], path.read_bytes()) for path in files)


@functools.cache
def corpus() -> tuple[Seed, ...]:
    """All saved inputs."""
    return tuple(Seed(path.name, "", path.read_bytes()) for path in sorted(CORPUS.glob("*.bin")))


def own(parser: str) -> tuple[Seed, ...]:
    """The captures of `parser`, and of the parsers that it calls."""
    return tuple(seed for seed in captures() if seed.parser in related(parser))


def drawn(rng: Random, parser: str) -> Seed:
    """A document to begin with: more often than not one of the parser's own."""
    mine = own(parser) or captures()
    pools = (mine, mine, mine, captures(), corpus() or captures(), nobodys())
    return rng.choice(rng.choice(pools))


@functools.cache
def reached(parser: str) -> tuple[object, ...]:
    """The functions, classes, matchers and patterns that `parser` can come to use."""
    found: dict[int, object] = {}
    waiting: list[object] = [load_reader(parser)]
    while waiting:
        value = waiting.pop()
        if id(value) not in found:
            found[id(value)] = value
            waiting += _used_by(value)
    return tuple(found.values())


@functools.cache
def related(parser: str) -> frozenset[str]:
    """`parser` and the parsers that it calls, be it only for a text."""
    values = reached(parser)
    functions = {(value.__module__, value.__name__) for value in values if isinstance(value, FunctionType)}
    return frozenset({parser, *(name for name in list_parsers() if _is_called(name, values, functions))})


def _is_called(name: str, values: tuple[object, ...], functions: set[tuple[str, str]]) -> bool:
    reader = load_reader(name)
    if name in list_matchers() and any(load_shipped(name) is value for value in values):
        return True
    if isinstance(reader, MethodType):
        return any(reader.__self__ is value for value in values)
    own = (
        reader.__name__,
        f"read_{name}_text",
        f"read_{name}_report",
        "read_report" if reader.__name__ == "read" else "",
    )
    return any((reader.__module__, each) in functions for each in own)


def _used_by(value: object) -> list[object]:
    if isinstance(value, (tuple, list, frozenset)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, Matcher):
        return [*map(load_matcher, value.includes), *filter(None, [value.tests]), type(value)]
    if isinstance(value, TestMatcher):
        return [*value.failures, *value.totals, type(value)]
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, type) and value.__module__.startswith(_OURS):
        return [each for each in vars(value).values() if isinstance(each, (FunctionType, property))]
    if isinstance(value, FunctionType) and value.__module__.startswith(_OURS) and value.__module__ != parsers.__name__:
        return list(_used_by_code(value.__code__, value.__globals__))
    return []


def _used_by_code(code: CodeType, names: dict[str, Any]) -> Iterator[object]:
    """What the names in `code` stand for, and the parsers that it loads by their names."""
    steps = [step for each in _nested(code) for step in dis.get_instructions(each)]
    found = [names[step.argval] for step in steps if step.opname == "LOAD_GLOBAL" and step.argval in names]
    found += [each() for each in found if _is_table(each)]
    attributes = {step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
    modules = [each for each in found if isinstance(each, ModuleType)]
    yield from found
    yield from (vars(each)[name] for each in modules for name in attributes if name in vars(each))
    words = set(_strings((*(each for inner in _nested(code) for each in inner.co_consts), *found)))
    if load_matcher in found or load_tests in found:
        yield from map(load_shipped, words & list_matchers())
    if load_reader in found:
        yield from map(load_reader, words & set(list_parsers()))


def _is_table(value: Any) -> bool:
    """Whether a parser reads a table of what ships by this function."""
    return (
        hasattr(value, "cache_info")
        and value.__module__.startswith(_OURS)
        and not value.__wrapped__.__code__.co_argcount
    )


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _nested(const)


def _strings(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (tuple, frozenset, dict)):
            yield from _strings(value)


@functools.cache
def nobodys() -> tuple[Seed, ...]:
    """Documents that no tool wrote as its result: sources, logs, prose, data. Nothing in them ran or was checked."""
    return tuple(Seed(name, "", text.encode()) for name, text in _NOBODYS.items())


_NOBODYS = {
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"test": "jest"}, "files": ["dist"]}\n',
    "numbers.json": "[1, 2, 3, 4.5e6, null, true]\n",
    "rows.json": '[{"id": 1, "name": "Ada", "tags": ["a"]}, {"id": 2, "name": "Bob", "tags": []}]\n',
    "words.json": '{"message": "hello", "level": "info", "time": 1700000000}\n{"message": "bye", "level": "info"}\n',
    "null.json": "null\n",
    "string.json": '"all is well"\n',
    "empty-object.json": "{}\n",
    "pom.xml": "<?xml version='1.0'?><project><modelVersion>4.0.0</modelVersion><name>shop</name></project>\n",
    "page.xml": "<html><body><h1>It works</h1><p>3 tests passed yesterday</p></body></html>\n",
    "plist.xml": '<plist version="1.0"><dict><key>a</key><true/></dict></plist>\n',
    "server.log": "2024-05-01T10:00:00Z INFO listening on :8080\n2024-05-01T10:00:01Z INFO GET / 200 in 3ms\n",
    "prose.txt": "Dear all,\n\nthe release is out. We found nothing wrong with it.\n\nBest wishes\nAda\n",
    "source.py": "def test_it(client):\n    assert client.get('/').status == 200\n\n\nclass TestMore:\n    pass\n",
    "source.js": "const test = require('node:test')\ntest('it', () => { console.log('ok then') })\n",
    "source.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hello")\n}\n',
    "source.rs": 'fn main() {\n    println!("hello");\n}\n\n#[test]\nfn it() {}\n',
    "table.csv": "id,name,passed\n1,Ada,12\n2,Bob,7\n",
    "git.txt": "On branch main\nYour branch is up to date.\n\nnothing to commit, working tree clean\n",
    "install.txt": "added 312 packages, and audited 313 packages in 9s\n\n42 packages are looking for funding\n",
    "diff.txt": "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 3\n",
    "help.txt": "usage: thing [-h] [--all]\n\noptions:\n  -h, --help  show this help\n  --all       everything\n",
    "shell.txt": "sh: 1: frobnicate: not found\n",
    "killed.txt": "Terminated\n",
    "count.txt": "1\n2\n3\n4\n5\n",
    "yaml.txt": "services:\n  web:\n    image: nginx\n    ports:\n      - 80:80\n",
}
