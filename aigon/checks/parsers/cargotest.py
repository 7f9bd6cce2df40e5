"""`cargo test`: what its binaries printed, unit tests, integration tests and doc-tests, or what could not be compiled.

Tests of the same name in two binaries are two tests, so an id begins with the binary: `demo src/lib.rs::tests::adds`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from aigon.checks.parsers import _libtest, _rustc
from aigon.checks.parsers._ids import Seen
from aigon.checks.parsers._libtest import Block
from aigon.checks.parsers._panics import told
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, tests
from aigon.checks.parsers._text import count, shortened, whole
from aigon.model.checks import ParsedOutput, Problem, TestCounts, TestResult
from aigon.text.fingerprints import strip_escapes

_DOC = re.compile(r"^(?P<file>.+?) - (?P<item>.*?) ?\(line (?P<line>\d+)\)$")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Counts, failures and the results of tests by id. A binary that ended before its sum counts as an error, and so
    does a target that does not compile."""
    return printed(lines := shortened(strip_escapes(whole(output or report or b"")))) or foreign(lines)


def printed(lines: str) -> ParsedOutput | None:
    """What the text says; None when it is not of `cargo test`."""
    if lines.lstrip()[:1] in ("<", "["):  # another runner's report, with this one's words inside
        return None
    named = list(_named(_libtest.read(lines)))
    if not named:
        return _uncompiled(lines)
    if _libtest.gaps(lines):
        # With a part of the output gone any number would be made up.
        return ParsedOutput(problems=tests(TestCounts(), _problems(named)).problems, understood=False)
    reading = tests(_counts(named), (*_problems(named), *_compiler(lines)))
    return replace(reading, tests=_results(named))


def _named(blocks: Iterable[Block]) -> Iterator[tuple[str, Block]]:
    """Each block with a name of its own: two packages can both have a `tests/it.rs`."""
    seen = Counter[str]()
    for block in blocks:
        seen[block.title] += 1
        yield (f"{block.title} ({seen[block.title]})" if seen[block.title] > 1 else block.title), block


def _counts(named: Iterable[tuple[str, Block]]) -> TestCounts:
    sums = [(block.counted or block.seen, block.counted is None) for _, block in named]
    passed, failed, ignored = (sum(each[place] for each, _ in sums) for place in range(3))
    return TestCounts(0, passed, failed, ignored, sum(cut for _, cut in sums))


def _results(named: Iterable[tuple[str, Block]]) -> Mapping[str, TestResult]:
    """None where one result was missed (a test wrote into the line of another) or nobody said whose they are."""
    seen = Seen()
    for title, block in named:
        if block.counted is not None and (block.seen != block.counted or (block.results and not title)):
            return {}
        for name, result in block.results:
            seen.add(_id(title, name), result)
    return seen.results()


def _id(title: str, name: str) -> str:
    """Without the line of a doc-test, which an edit anywhere above it changes."""
    doc = _DOC.match(name)
    name = f"{doc['file']} - {doc['item']}".removesuffix(" - ") if doc else name
    return f"{title}::{name}" if title else name


def _problems(named: Iterable[tuple[str, Block]]) -> Iterator[Problem]:
    for title, block in named:
        details = {name: "\n".join(said) for name, said in block.details.items()}
        yield from (_failure(_id(title, name), name, details.get(name, "")) for name in block.failed)
        if block.counted is None:
            yield _cut_short(title, block)


def _failure(test: str, name: str, body: str) -> Problem:
    message, file, line = told(body) if body else ("failed", "", 0)
    if doc := _DOC.match(name):  # a panic in it names a line of the program that was made of it
        file, line = doc["file"], number(doc["line"])
    return problem(message, file, line, test=test)


def _cut_short(title: str, block: Block) -> Problem:
    """It crashed, or a test ended the process: `cargo test` takes an early exit with 0 for a pass."""
    said = f"it ended after {len(block.results)} of {count(block.announced, 'test')}"
    return problem(f"{said}: {block.crash}" if block.crash else said, test=title)


def _compiler(lines: str) -> Iterator[Problem]:
    """With --keep-going some targets run although others do not compile."""
    return iter(_errors(lines) if _rustc.uncompiled(lines) else ())


def _uncompiled(lines: str) -> ParsedOutput | None:
    targets = _rustc.uncompiled(lines)
    errors = list(_errors(lines))
    if not targets:
        return None
    found = tests(TestCounts(errors=len(targets)), errors)
    number_ = len(found.problems)
    return replace(found, summary=f"does not compile: {count(number_, 'error')}" if number_ else "does not compile")


def _errors(lines: str) -> list[Problem]:
    found = [each for each in _rustc.placed(lines) if each.severity == "error"]
    return found or list(_rustc.unplaced(lines))
