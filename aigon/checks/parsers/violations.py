"""Reports in XML: Checkstyle's, which detekt, ktlint, SwiftLint, PHP_CodeSniffer and PHPStan write, too, and Android
Lint's. The latter is written from its documentation and was never tested against the tool."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from urllib.parse import unquote

from aigon.checks.parsers import junit
from aigon.checks.parsers.output import READ_MATCHES, Row, find_json, load_json, read_text, read_xml
from aigon.checks.parsers.readings import describe_unknown, find_problems, keep_distinct, make_problem, summarize_lint
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at, texts_at

_LINE = compile_re(
    r"^(?:\[ant:checkstyle\] )?\[(?P<severity>ERROR|WARN|INFO)\] (?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: "
    r"(?P<message>[^\n]+?) \[(?P<rule>\w+)\]$",
    re.M,
)
"""A violation in Checkstyle's own text, as it and Gradle print it."""
_DONE = compile_re(r"^Audit done\.$", re.M)


def read_checkstyle(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line: of the report, of a report that is printed, or of Checkstyle's text."""
    if report is not None:
        return _read_checkstyle(report) or ParsedOutput(understood=False)
    begin, end = output.find(b"<checkstyle"), output.rfind(b"</checkstyle>")
    printed = output[begin : end + len(b"</checkstyle>")] if 0 <= begin < end else b""
    if printed and (reading := _read_checkstyle(printed)):
        return reading
    lines = read_text(output)
    problems = list(find_problems(_LINE, lines))
    return summarize_lint(problems) if problems or _DONE.search(lines) else describe_unknown(lines)


def read_androidlint(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line; fatal issues are errors, informational ones warnings."""
    return _read_lint(output if report is None else report) or describe_unknown(read_text(output))


def read_report(report: bytes) -> ParsedOutput:
    """Return what a report in any of the XML formats says, JUnit's included."""
    reading = junit.read(b"", report)
    return reading if reading.understood else _read_lint(report) or _read_checkstyle(report) or reading


class _Violations:
    """The elements that name a violation, in either format, with those around or inside that hold file and line."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.total = 0
        self._file = ""
        self._issue: dict[str, str] = {}

    def start_checkstyle(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "file":
            self._file = attributes.get("name", "")
        elif tag == "error" and attributes.get("severity") != "ignore":
            rule = attributes.get("source", "")
            if rule.startswith("com.puppycrawl."):  # of a class the name
                rule = rule.rpartition(".")[2].removesuffix("Check")
            self._add({**attributes, "file": self._file}, rule, attributes.get("severity", ""))

    def start_lint(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "issue":
            self._issue = {**attributes, "file": "", "line": ""}
        elif tag == "location" and self._issue and not self._issue["file"]:  # later ones are only related
            self._issue |= {"file": attributes.get("file", ""), "line": attributes.get("line", "")}

    def end_lint(self, tag: str, _: str) -> None:
        if tag == "issue" and self._issue:
            severity = "error" if self._issue.get("severity") in ("Fatal", "Error") else "warning"
            self._add(self._issue, self._issue.get("id", ""), severity)
            self._issue = {}

    def _add(self, attributes: Mapping[str, str], rule: str, severity: str) -> None:
        self.total += 1
        if len(self.problems) < READ_MATCHES:
            message, line = attributes.get("message", ""), attributes.get("line", "")
            self.problems.append(make_problem(message, attributes["file"], line, rule, severity))


def _read_checkstyle(report: bytes) -> ParsedOutput | None:
    """Return what Checkstyle's XML says; None for another document."""
    found = _Violations()
    is_checkstyle = read_xml(report, found.start_checkstyle) == "checkstyle"
    return summarize_lint(found.problems, found.total) if is_checkstyle else None


def _read_lint(report: bytes) -> ParsedOutput | None:
    """Return what Android Lint's XML says (`lint-results-debug.xml`); None for another document."""
    found = _Violations()
    is_lint = read_xml(report, found.start_lint, found.end_lint) == "issues"
    return summarize_lint(found.problems, found.total) if is_lint else None


_ARGUMENT = compile_re(r"\{(\d{1,3})\}")
_DEEPEST = 8
"""Bases of URIs that are relative to one another."""


def read_sarif(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line. A `note` is a minor problem by the standard: a warning."""
    runs = _find_runs(load_json(report) if report else find_json(output, dict))
    if not runs:
        return describe_unknown(read_text(output))
    accidents = [each for run in runs for each in _find_accidents(run)]
    results = chain.from_iterable(map(_find_problems, runs))
    if accidents or not all(isinstance(run.get("results"), list) for run in runs):
        return ParsedOutput(problems=keep_distinct(chain(accidents, results)), understood=False)
    return summarize_lint(results)


def _find_runs(found: object) -> list[Row]:
    document = object_at(found)
    runs = objects_at(document, "runs")
    claims = text_at(document, "version").startswith("2.") or "sarif" in text_at(document, "$schema")
    return runs if claims and all(object_at(run, "tool").get("driver") for run in runs) else []


def _find_accidents(run: Row) -> Iterator[Problem]:
    """Yield what kept the tool from looking at everything: it says so of the invocation itself."""
    for invocation in objects_at(run, "invocations"):
        if invocation.get("executionSuccessful") is False:
            kinds = ("toolExecutionNotifications", "toolConfigurationNotifications")
            notices = [notice for kind in kinds for notice in objects_at(invocation, kind)]
            errors = [notice for notice in notices if notice.get("level") == "error"]
            yield from (make_problem(_read_message(each, {}), *_find_place(each, run)) for each in errors)
            if not errors:
                yield make_problem("the tool says that it did not get to its end")


def _find_problems(run: Row) -> Iterator[Problem]:
    driver = object_at(run, "tool", "driver")
    rules = {text_at(rule, "id"): rule for rule in objects_at(driver, "rules")}
    for result in objects_at(run, "results"):
        rule = _find_rule(result, run, rules)
        if (level := _find_level(result, rule)) != "none" and not _is_left_out(result):
            name = text_at(result, "ruleId") or text_at(result, "rule", "id")
            severity = "error" if level == "error" else "warning"
            file, line = _find_place(result, run)
            yield make_problem(_read_message(result, rule), file, line, name or text_at(rule, "id"), severity)


def _find_rule(result: Row, run: Row, rules: Mapping[str, Row]) -> Row:
    """Return the rule at an index into the driver's rules or an extension's, or by its name."""
    tool, reference = object_at(run, "tool"), object_at(result, "rule")
    extension = _get_at(tool.get("extensions"), object_at(reference, "toolComponent").get("index"))
    name = text_at(result, "ruleId") or text_at(reference, "id")
    component = extension or object_at(tool, "driver")
    rule = _get_at(component.get("rules"), result.get("ruleIndex", reference.get("index")))
    # A result may be of a part of a rule: `CA1000/1` (3.27.5).
    return rule or rules.get(name) or rules.get(name.rpartition("/")[0]) or {}


def _find_level(result: Row, rule: Row) -> str:
    """Return its own level, else the rule's, else `warning`; a kind other than `fail` has none (3.27.10)."""
    if text_at(result, "kind") not in ("", "fail"):
        return "none"
    default = object_at(rule, "defaultConfiguration").get("level")
    return text_at(result, "level") or text_at(default) or "warning"


def _is_left_out(result: Row) -> bool:
    """Return whether a suppression that is not rejected covers it (3.27.23), or it is gone since an earlier run."""
    states = {text_at(each, "status") or "accepted" for each in objects_at(result, "suppressions")}
    return result.get("baselineState") == "absent" or states == {"accepted"}


def _read_message(result: Row, rule: Row) -> str:
    """Return the message, which may be one of the rule's by its name, with its arguments."""
    message = object_at(result, "message")
    named = object_at(rule, "messageStrings", text_at(message, "id"))
    text = text_at(message, "text") or text_at(named, "text") or text_at(message, "id")
    arguments = dict(enumerate(texts_at(message, "arguments")))
    return _ARGUMENT.sub(lambda match: arguments.get(int(match[1]), match[0]), text[:5000])


def _find_place(result: Row, run: Row) -> tuple[str, int]:
    """Return the first location that names a file."""
    for location in objects_at(result, "locations")[:20]:
        physical = object_at(location, "physicalLocation")
        artifact = object_at(physical, "artifactLocation")
        if not artifact.get("uri"):
            artifact = object_at(_get_at(run.get("artifacts"), artifact.get("index")), "location") or artifact
        if file := unquote(_drop_scheme(_resolve_uri(artifact, run))).removeprefix("./"):
            return file, count_at(physical, "region", "startLine")
    return "", 0


def _resolve_uri(artifact: Row, run: Row) -> str:
    """Return the URI behind the bases that it is relative to; it stays relative if its base is not given."""
    bases, uri = object_at(run, "originalUriBaseIds"), text_at(artifact, "uri")
    for _ in range(_DEEPEST):
        base = object_at(bases, text_at(artifact, "uriBaseId"))
        if not base or ":" in uri.split("/")[0]:
            break
        prefix = text_at(base, "uri")
        uri, artifact = f"{prefix}{uri}" if not prefix or prefix.endswith("/") else f"{prefix}/{uri}", base
    return uri


def _drop_scheme(uri: str) -> str:
    """Return a file's URI as a path. aigon has made paths of the project relative: `file://src/a.py` is `src/a.py`."""
    if not uri.startswith("file:"):
        return uri
    return uri.removeprefix("file:").removeprefix("//").removeprefix("localhost/")


def _get_at(table: object, index: object) -> Row:
    """Return the dict at `index` in a list, or an empty one."""
    if not isinstance(table, list) or not isinstance(index, int) or not 0 <= index < len(table):
        return {}
    return object_at(table[index])
