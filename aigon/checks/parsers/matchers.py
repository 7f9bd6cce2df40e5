"""Parsers that are data: patterns of lines, and paths into JSON, in one YAML file for each tool."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from aigon.checks.parsers.output import (
    Row,
    decode,
    find_json,
    is_silent,
    load_json,
    load_row,
    name_groups,
    parse_number,
    read_text,
)
from aigon.checks.parsers.readings import (
    FEW_LINES,
    describe_unknown,
    keep_distinct,
    make_problem,
    summarize_lint,
    summarize_types,
)
from aigon.checks.parsers.tallies import TestMatcher
from aigon.errors import usage
from aigon.files.resources import find_resource, read_document
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.documents import parse_yaml
from aigon.text.untrusted import count_at, object_at, objects_at, text_at, value_at

_MESSAGE_END = 100
"""Characters at the end of a message in which its rule is looked for: a message can be any length."""
_TYPES = {"list": list, "object": dict, "any": object}


def _compile(_kind: type, value: Any) -> "re.Pattern[str]":
    try:
        return re.compile(value, re.M)
    except (re.error, TypeError) as error:
        raise ValueError(f"no regular expression: {error}") from None


Level = Literal["error", "warning", "none"]


class LinePattern(Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that name a problem, by the groups `file`, `line`, `message`, `rule`, `severity` and `test`.

    Alternatives of a group end in a digit (`file2`). A match without a message names the file of those that follow.
    """

    regexp: re.Pattern[str]
    message: str = "{message}"
    rule: str = ""


class JsonForm(Struct, frozen=True, forbid_unknown_fields=True):
    """The places of problems in a JSON document: paths from each row, or from the rows and the document around it."""

    kind: Literal["object", "list", "lines"]
    has: dict[str, Literal["list", "object", "any"]]
    rows: tuple[str, ...] = ()
    file: str = ""
    line: str = ""
    first_line: int = 1
    message: str = "message"
    rule: str = ""
    severity: str = ""
    total: str = ""
    nothing_if_zero: str = ""
    severities: dict[str, Level] = field(default_factory=dict)

    def find_rows(self, found: object) -> list[tuple[Row, ...]] | None:
        """Return each row with what is around it, innermost first; None if the document is not of this form."""
        if self.kind == "list" and isinstance(found, list) and all(isinstance(row, dict) for row in found):
            rows = found
        elif self.kind == "object" and isinstance(found, dict):
            rows = [found]
        else:
            return None
        if not all(key in row and isinstance(row[key], _TYPES[kind]) for row in rows for key, kind in self.has.items()):
            return None
        chains: list[tuple[Row, ...]] = [(row,) for row in rows]
        for key in self.rows:
            chains = [(row, *outer) for outer in chains for row in objects_at(outer[0], key)]
        return chains

    def find_row_lines(self, data: bytes) -> list[tuple[Row, ...]]:
        """Return the rows that are on lines of their own."""
        rows = (load_row(line) for line in decode(data).split("\n") if line.startswith("{"))
        return [(row,) for row in rows if row and self.has.keys() <= row.keys()]

    def read_problems(self, rows: Sequence[tuple[Row, ...]]) -> Iterator[Problem]:
        """Yield the problems in the rows of a document."""
        for row in rows:
            if (severity := _rate(str(_look_up(row, self.severity)), self.severities)) != "none":
                message = re.sub(r"\{([^{}]+)\}", lambda path: text_at(_look_up(row, path[1])), self.message)  # noqa: B023
                message = message if "{" in self.message else text_at(_look_up(row, self.message))
                line = _look_up(row, self.line)
                line = line + 1 if isinstance(line, int) and not self.first_line else line
                file, rule = (text_at(_look_up(row, path)) for path in (self.file, self.rule))
                yield make_problem(message, file.removeprefix("./"), count_at(line), rule, severity)


class Matcher(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool's formats: JSON documents, or the patterns of its text.

    `recognise` is what only this tool prints, `total` its own number of problems; if it is `strict`, patterns count
    only together with one of these. `fallback` patterns serve if the others find no error, `accidents` say why the tool
    could not do its work, `rule` ends messages, and `clean` is the summary if there are no problems. A tool that also
    starts `tests` is read as their runner first; with `xml` its reports are in one of the XML formats.
    """

    kind: Literal["lint", "types"] = "lint"
    documents: tuple[JsonForm, ...] = ()
    includes: tuple[str, ...] = ()
    patterns: tuple[LinePattern, ...] = ()
    fallback: tuple[LinePattern, ...] = ()
    accidents: tuple[LinePattern, ...] = ()
    rule: re.Pattern[str] | None = None
    reword: dict[str, str] = field(default_factory=dict)
    severities: dict[str, Level] = field(default_factory=dict)
    recognise: re.Pattern[str] | None = None
    total: re.Pattern[str] | None = None
    strict: bool = False
    distinct: bool = False
    silent_if_clean: bool = True
    clean: str = "clean"
    tests: TestMatcher | None = None
    xml: bool = False

    def read(self, output: bytes, report: bytes | None) -> ParsedOutput:
        """Return what the tool reports: a document, or the text of the report or the output."""
        if report is not None and self.xml:
            from aigon.checks.parsers.violations import read_report

            return read_report(report)
        if reading := self._read_documents(output, report):
            return reading
        lines = read_text(report or output)
        # Beside a report that should be a document, silence says nothing.
        is_unread = report and any(form.kind != "lines" for form in self.documents)
        if reading := self.read_lines(lines, silence=self.silent_if_clean and not is_unread):
            return reading
        return self._describe_accident((read_text(output), lines) if report else (lines,))

    def _read_documents(self, output: bytes, report: bytes | None) -> ParsedOutput | None:
        for form in self.documents:
            if form.kind == "lines":
                if rows := form.find_row_lines(report or output):
                    return self._summarize(form.read_problems(rows), 0)
                continue
            found = load_json(report) if report else find_json(output, dict if form.kind == "object" else list)
            if (chains := form.find_rows(found)) is not None:
                top = (object_at(found),)
                reading = self._summarize(form.read_problems(chains), count_at(_look_up(top, form.total)))
                nothing = form.nothing_if_zero and not count_at(_look_up(top, form.nothing_if_zero))
                return replace(reading, summary="no files checked") if nothing and not reading.problems else reading
        return None

    def read_lines(self, lines: str, *, silence: bool = False) -> ParsedOutput | None:
        """Return what the text says, or None if it is not this tool's. With `silence`, no output means no problems."""
        if self.tests and (reading := self.tests.read_lines(lines)):
            own = self.find_problems(lines, fallback=not reading.problems)
            return replace(reading, problems=keep_distinct(chain(reading.problems, own)))
        recognised = self.recognises(lines)
        problems = self.find_problems(lines) if recognised or not self.strict else ()
        reading = self._summarize(problems, self.count_stated(lines))
        return reading if reading.problems or recognised or (silence and is_silent(lines)) else None

    def recognises(self, lines: str) -> bool:
        """Return whether the text holds what only this tool prints, whatever it found."""
        own = (self.recognise,) if self.strict and self.recognise else (self.recognise, self.total)
        return any(pattern and pattern.search(lines) for pattern in own)

    def count_stated(self, lines: str) -> int:
        """Return how many problems the tool itself counted."""
        return sum(parse_number(match["number"]) for match in self.total.finditer(lines)) if self.total else 0

    def find_problems(self, lines: str, *, fallback: bool = True) -> Iterator[Problem]:
        """Yield the problems in the text; with `fallback` also those that count only if there are no other errors."""
        included = (load_matcher(name).find_problems(lines, fallback=False) for name in self.includes)
        has_error = False
        for problem in chain(self._match(self.patterns, lines), chain.from_iterable(included)):
            has_error = has_error or problem.severity == "error"
            yield problem
        if fallback and not has_error:
            yield from self._match(self.fallback, lines)

    def _match(self, patterns: Sequence[LinePattern], lines: str) -> Iterator[Problem]:
        for pattern in patterns:
            file = ""
            for match in pattern.regexp.finditer(lines):
                groups = name_groups(match)
                if "message" in groups or "message" not in pattern.regexp.groupindex:
                    yield from self._describe(pattern, {"file": file, **groups})
                else:
                    file = groups.get("file", "")

    def _describe(self, pattern: LinePattern, groups: dict[str, str]) -> Iterator[Problem]:
        message, rule = groups.get("message", ""), pattern.rule or groups.get("rule", "")
        message = " ".join(message.split()) if "\n" in message else message
        if self.rule and (match := self.rule.search(message, max(0, len(message) - _MESSAGE_END))):
            message, rule = message[: match.start()], match["rule"]
        message = next((text for start, text in self.reword.items() if message.startswith(start)), message)
        if (severity := _rate(groups.get("severity", ""), self.severities)) != "none":
            file, line = groups.get("file", "").removeprefix("./"), parse_number(groups.get("line"))
            said = pattern.message.replace("{message}", message)
            yield make_problem(said, file, line, rule, severity, groups.get("test", ""))

    def _summarize(self, problems: Sequence[Problem] | Iterator[Problem], stated: int) -> ParsedOutput:
        summarize = summarize_types if self.kind == "types" else summarize_lint
        reading = summarize(keep_distinct(problems) if self.distinct else problems, stated)
        return replace(reading, summary=self.clean) if reading.summary == "clean" else reading

    def _describe_accident(self, sources: Sequence[str]) -> ParsedOutput:
        for lines in sources:
            if accidents := tuple(islice(self._match(self.accidents, lines), FEW_LINES)):
                return ParsedOutput(problems=accidents, understood=False)
        readings = [describe_unknown(lines) for lines in sources]
        return next((reading for reading in readings if reading.problems), readings[0])


def _rate(word: str, severities: dict[str, Level]) -> str:
    return severities.get(word, severities.get("*", "warning" if word == "warning" else "error"))


def _look_up(rows: tuple[Row, ...], path: str) -> object:
    """Return the value at a dotted path in the innermost row that has its first key."""
    keys = path.split(".")
    return value_at(next((row for row in rows if keys[0] in row), None), *keys)


@cache
def list_matchers() -> frozenset[str]:
    """Return the names of the matchers that ship with aigon."""
    return frozenset(path.stem for path in find_resource("templates", "parsers").glob("*.yaml"))


def load_matcher(name: str) -> Matcher:
    """Return the matcher of a linter or a compiler that ships under `name`."""
    matcher = load_shipped(name)
    assert isinstance(matcher, Matcher), "it is no runner of tests"
    return matcher


def load_tests(name: str) -> TestMatcher:
    """Return the matcher of a runner of tests that ships under `name`."""
    matcher = load_shipped(name)
    assert isinstance(matcher, TestMatcher), "it is a runner of tests"
    return matcher


@cache
def load_shipped(name: str) -> Matcher | TestMatcher:
    """Return the matcher that ships under `name`."""
    return read_matcher(find_resource("templates", "parsers", f"{name}.yaml"))


@cache
def read_matcher(path: Path) -> Matcher | TestMatcher:
    """Return the matcher in a YAML file. Raises AigonError (exit 2) if the file is malformed.

    It is read once, before the first turn: what an agent writes into the file takes no part in the run.
    """
    document = parse_yaml(read_document(path), str(path)).value
    kind: type[Matcher | TestMatcher] = TestMatcher if object_at(document).get("kind") == "tests" else Matcher
    try:
        return convert(document, kind, dec_hook=_compile)
    except ValidationError as error:
        raise usage(str(error), where=str(path), hint="docs/parsers.md lists the keys") from None
