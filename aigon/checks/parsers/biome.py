"""Biome: the text of `biome check`, `lint`, `format` and `ci` (versions 1 and 2), and its `github` reporter."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import silent, text
from aigon.model.checks import ParsedOutput, Problem

_HEAD = re.compile(
    r"^(?P<file>[^\s:━│×!][^\n:━]{0,500}?)(?::(?P<line>\d{1,9}):\d+)? (?P<rule>[a-z][\w/-]{2,100})"
    r"(?: +[A-Z]{4,20}){0,3} +━{3,}$",
    re.M,
)
_SAID = re.compile(r"^  (?P<mark>[×!i✖⚠ℹ]) (?P<said>[^\n]+)$", re.M)
_GITHUB = re.compile(
    r"^::(?P<severity>error|warning) title=(?P<rule>[^,\n]{1,200}),file=(?P<file>[^,\n]{1,500}),line=(?P<line>\d{1,9})"
    r"[^\n]{0,200}?::(?P<said>[^\n]*)$",
    re.M,
)
_FOUND = re.compile(r"^Found (?P<number>\d{1,9}) (?:errors?|warnings?)\.$", re.M)
_CHECKED = re.compile(
    r"^(?:Checked|Formatted|Linted) (?:\d{1,9} files? |no files )?in \d{1,9}(?:\.\d{1,9})? ?\w{1,3}\.", re.M
)
_SEVERITIES = {"×": "error", "✖": "error", "!": "warning", "⚠": "warning"}
_SPAN = 3000
_READ = 5000


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Errors and warnings by rule, file and line. What Biome only informs of is no problem."""
    lines = text(report or output)
    if recognised(lines) or silent(lines):
        return lint(problems(lines), stated(lines))
    return foreign(lines)


def recognised(lines: str) -> bool:
    """Whether it is Biome's: it ends with what it checked, whatever it found."""
    return bool(_CHECKED.search(lines)) or bool(_GITHUB.search(lines))


def stated(lines: str) -> int:
    """How many errors and warnings it says there are; it shows only the first of many."""
    return sum(number(match["number"]) for match in _FOUND.finditer(lines))


def problems(lines: str) -> Iterator[Problem]:
    """What it complains about, where it says what that is."""
    heads = list(islice(_HEAD.finditer(lines), _READ))
    ends = [*(match.start() for match in heads[1:]), len(lines)]
    for head, end in zip(heads, ends, strict=False):
        said = _SAID.search(lines, head.end(), min(end, head.end() + _SPAN))
        if said and said["mark"] in _SEVERITIES:
            severity = _SEVERITIES[said["mark"]]
            yield problem(
                _worded(said["said"]), head["file"].removeprefix("./"), number(head["line"]), head["rule"], severity
            )
    for match in islice(_GITHUB.finditer(lines), _READ):
        yield problem(match["said"], match["file"], number(match["line"]), match["rule"], match["severity"])


def _worded(said: str) -> str:
    return "File would be reformatted" if said.startswith("Formatter would have printed") else said
