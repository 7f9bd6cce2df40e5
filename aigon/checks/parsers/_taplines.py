"""What single lines of TAP say: a point, a plan, a name for what follows, the file that `prove` is at."""

import re

from aigon.checks.parsers._problems import number
from aigon.checks.parsers._taptree import Point

_POINT = re.compile(r"(?P<not>not )?ok(?: +(?P<number>\d{1,9})(?: +-)?(?: +|$)| +- +|$)(?P<name>.*)")
_DIRECTIVE = re.compile(r"(?:^|(?<!\\) )# *(?P<kind>skip|todo)(?:[^\n]*)$", re.I)
_TIME = re.compile(r"(?:^|(?<!\\) )# time=\S+$")
_PLAN = re.compile(r"1\.\.(?P<last>\d{1,9})(?: *#[^\n]*)?")
_FILE = re.compile(r"\S{0,200}/\S{0,200}|\S{1,200}\.t")
_STATED = re.compile(r"# (?P<word>tests|pass|fail|skip)  ?(?P<number>\d{1,9})")
_HEADING = re.compile(r"# (?:SKIP |TODO )?(?P<name>[^\s{#][^\n]*)")
_NO_HEADING = re.compile(
    r"# (?:tests|pass|fail|skip|skipped|todo|cancelled|suites|ok|failed|time=|duration_ms|test count|No |Looks like)\b"
)


def point(body: str) -> Point | None:
    """The point on a line without its indentation; None for a line that is none."""
    match = _POINT.fullmatch(body)
    if match is None:
        return None
    name = _TIME.sub("", match["name"]).rstrip()
    directive = _DIRECTIVE.search(name)
    name = name[: directive.start()].rstrip() if directive else name
    # `ok 1 - name {`: its points stand between the braces.
    opens = name.endswith(" {") or name == "{"
    name = plain(name.removesuffix("{").rstrip() if opens else name)
    return Point(not match["not"], name, directive["kind"].lower() if directive else "", opens)


def plan(body: str) -> int | None:
    """How many points are planned; None for a line that is no plan."""
    match = _PLAN.fullmatch(body)
    return number(match["last"]) if match else None


def stated(body: str) -> tuple[str, int] | None:
    """What the producer itself counted: a word and a number; None for any other line."""
    match = _STATED.fullmatch(body)
    return (match["word"], number(match["number"])) if match else None


def heading(body: str) -> str:
    """What tape calls the points below the line; empty for other comments."""
    match = None if _NO_HEADING.match(body) else _HEADING.fullmatch(body)
    return plain(match["name"]) if match else ""


def announced(line: str) -> str:
    """The file that `prove` says it runs: `t/a.t ..`, and behind it how that went; empty for any other line."""
    file, dots, rest = line.partition(" ..")
    rest = rest.strip(". ")
    return file if dots and _FILE.fullmatch(file) and (rest in ("", "ok") or rest.startswith("skipped")) else ""


def plain(name: str) -> str:
    """A name without the signs that keep a `#` in it from being read as a directive."""
    return name.replace("\\#", "#").replace("\\\\", "\\")
