"""SARIF 2.1.0, which many linters and analysers write (ruff, eslint, clippy, golangci-lint, detekt, SwiftLint).

From its documentation (OASIS, "Static Analysis Results Interchange Format Version 2.1.0") and captures of ruff. What is
no failure, is suppressed or was there only before is left out; a tool that says that it did not get to its end is not
understood, whatever it found.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from aigon.checks.parsers import _json
from aigon.checks.parsers._problems import capped, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._sarif_places import at, place, row
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

_ARGUMENT = re.compile(r"\{(\d{1,3})\}")


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by rule, file and line. A `note` is a minor problem by the standard: a warning."""
    found = _json.document(report) if report else _json.embedded(output, dict)
    runs = _runs(found)
    if not runs:
        return foreign(text(output))
    broken = [each for run in runs for each in _accidents(run)]
    results = chain.from_iterable(map(_problems, runs))
    if broken or not all(isinstance(run.get("results"), list) for run in runs):
        return ParsedOutput(problems=capped(chain(broken, results)), understood=False)
    return lint(results)


def _runs(found: object) -> list[_json.Row]:
    """The runs in a document that says what it is."""
    if not isinstance(found, dict) or not isinstance(found.get("runs"), list):
        return []
    says = _json.string(found.get("version")).startswith("2.") or "sarif" in _json.string(found.get("$schema"))
    runs = _json.rows(found["runs"])
    return runs if says and all(row(run.get("tool")).get("driver") for run in runs) else []


def _accidents(run: _json.Row) -> Iterator[Problem]:
    """What kept the tool from looking at everything: it says so of the invocation itself."""
    for invocation in _json.rows(run.get("invocations")):
        if invocation.get("executionSuccessful") is False:
            kinds = ("toolExecutionNotifications", "toolConfigurationNotifications")
            said = [each for kind in kinds for each in _json.rows(invocation.get(kind))]
            broken = [each for each in said if each.get("level") == "error"]
            yield from (problem(_text(each, {}), *place(each, run)) for each in broken)
            if not broken:
                yield problem("the tool says that it did not get to its end")


def _problems(run: _json.Row) -> Iterator[Problem]:
    driver = row(row(run.get("tool")).get("driver"))
    named = {_json.string(each.get("id")): each for each in _json.rows(driver.get("rules"))}
    for result in _json.rows(run.get("results")):
        rule = _rule(result, run, named)
        if (level := _level(result, rule)) != "none" and not _left_out(result):
            name = _json.string(result.get("ruleId")) or _json.string(row(result.get("rule")).get("id"))
            severity = "error" if level == "error" else "warning"
            file, line = place(result, run)
            yield problem(_text(result, rule), file, line, name or _json.string(rule.get("id")), severity)


def _rule(result: _json.Row, run: _json.Row, named: Mapping[str, _json.Row]) -> _json.Row:
    """What the tool says of the rule: at an index into its driver's rules or an extension's, or by its name."""
    tool, reference = row(run.get("tool")), row(result.get("rule"))
    component = at(tool.get("extensions"), row(reference.get("toolComponent")).get("index")) or row(tool.get("driver"))
    name = _json.string(result.get("ruleId")) or _json.string(reference.get("id"))
    found = at(component.get("rules"), result.get("ruleIndex", reference.get("index")))
    # A result may be of a part of a rule: `CA1000/1` (3.27.5).
    return found or named.get(name) or named.get(name.rpartition("/")[0]) or {}


def _level(result: _json.Row, rule: _json.Row) -> str:
    """Its own level, else the rule's, else `warning`; what is of another kind than `fail` has none (3.27.10)."""
    if _json.string(result.get("kind")) not in ("", "fail"):
        return "none"
    default = row(rule.get("defaultConfiguration")).get("level")
    return _json.string(result.get("level")) or _json.string(default) or "warning"


def _left_out(result: _json.Row) -> bool:
    """Suppressed, unless somebody has rejected that or is still thinking (3.27.23), or gone since an earlier run."""
    states = [_json.string(each.get("status")) or "accepted" for each in _json.rows(result.get("suppressions"))]
    return result.get("baselineState") == "absent" or (bool(states) and set(states) == {"accepted"})


def _text(result: _json.Row, rule: _json.Row) -> str:
    """The message, which may be one of the rule's by its name, with its arguments."""
    message = row(result.get("message"))
    strings = row(row(rule.get("messageStrings")).get(_json.string(message.get("id"))))
    said = _json.string(message.get("text")) or _json.string(strings.get("text")) or _json.string(message.get("id"))
    given = dict(enumerate(_json.strings(message.get("arguments"))))
    return _ARGUMENT.sub(lambda found: given.get(int(found[1]), found[0]), said[:5000])
