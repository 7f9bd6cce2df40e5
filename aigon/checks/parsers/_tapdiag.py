"""What stands under a failed TAP point, a YAML block or lines that begin with `#`: what was wrong, and where."""

import re
from collections.abc import Sequence

from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number

_KEY = re.compile(r"(?P<indent> *)(?P<key>'[^'\n]{1,80}'|[\w.-]{1,80}):(?: (?P<value>.*))?$")
_FOLDED = re.compile(r"[|>][0-9]?[+-]?[0-9]?")
_PERL = re.compile(r"at (?P<file>\S[^\n]*?) line (?P<line>\d+)\.?$")
_SPOT = re.compile(r"(?:file://)?(?P<file>[^\s():'\"]+):(?P<line>\d+)(?::\d+)?['\")]*$")
_CHANGED = re.compile(r"(?P<sign>[+-])(?!\1\1)(?P<value>.*)")
_LINES = 300
_PAIRS = (("expected", "actual"), ("wanted", "found"), ("expected", "got"))


def diagnosis(block: Sequence[str]) -> tuple[str, str, int]:
    """What a point's block says, its file and its line; empty texts and 0 for what it does not say."""
    lines = block[:_LINES]
    if lines and lines[0].lstrip().startswith("#"):
        return _comments(lines)
    fields = _fields(lines)
    return (_message(fields), *_spot(fields))


def _fields(lines: Sequence[str]) -> dict[str, str]:
    """The keys of the outermost level, each with its text; those below it as lines of that text."""
    found: dict[str, list[str]] = {}
    outermost, key = "", ""
    for line in lines:
        match = _KEY.match(line)
        if match and (not found or match["indent"] == outermost):
            outermost, key = match["indent"], match["key"].strip("'")
            value = (match["value"] or "").strip()
            found.setdefault(key, [] if not value or _FOLDED.fullmatch(value) else [_unquoted(value)])
        elif key:
            found[key].append(line.strip())
    return {name: "\n".join(texts).strip() for name, texts in found.items()}


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _message(fields: dict[str, str]) -> str:
    said = " ".join(filter(None, (_headline(fields.get("message") or fields.get("error", "")), _values(fields))))
    return said or fields.get("operator") or fields.get("assertion") or ""


def _headline(text: str) -> str:
    """The first line, with the next where it only announces one (`Expected values to be strictly equal:`)."""
    lines = [line for line in text.split("\n") if line]
    return " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])


def _values(fields: dict[str, str]) -> str:
    pair = next(((a, b) for a, b in _PAIRS if a in fields and b in fields), None)
    if pair and not fields.get("error"):
        return ", ".join(f"{name} {' '.join(fields[name].split())}" for name in pair)
    changed = [m for line in fields.get("diff", fields.get("details", "")).split("\n") if (m := _CHANGED.match(line))]
    return ", ".join(f"{match['sign']} {match['value'].strip().rstrip(',')}" for match in changed[:2])


def _spot(fields: dict[str, str]) -> tuple[str, int]:
    """The innermost frame of the project's own, else where the point itself stands."""
    frames = [*fields.get("stack", "").split("\n"), *fields.get("at", "").split("\n")]
    found, line = place("\n".join(f"at {frame.removeprefix('at ')}" for frame in frames if frame))
    if found:
        return found, line
    named = _fields(fields.get("at", "").split("\n"))
    file = fields.get("file") or named.get("fileName") or named.get("file", "")
    if file:
        return file, number(_digits(fields.get("line") or named.get("lineNumber") or named.get("line", "")))
    spot = _SPOT.match(fields.get("location", ""))
    return (spot["file"], number(spot["line"])) if spot else ("", 0)


def _digits(text: str) -> str:
    return text if text.isdecimal() else ""


def _comments(lines: Sequence[str]) -> tuple[str, str, int]:
    """Perl's: `#   Failed test 'x'`, `#   at t/a.t line 3.`, then what came and what was expected."""
    said = [line.strip().lstrip("#").strip() for line in lines]
    spot = next((m for line in said if (m := _PERL.search(line))), None)
    values = [line for line in said if line.startswith(("got:", "expected:", "Error:"))]
    return ", ".join(values), spot["file"] if spot else "", number(spot["line"]) if spot else 0
