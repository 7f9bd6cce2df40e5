"""mocha: the text of its `spec` reporter, with `2 passing` and `1 failing` at the end."""

import re
from collections import Counter
from collections.abc import Iterator

from aigon.core.model import Counts, Problem, Reading
from aigon.parsers import junit
from aigon.parsers._expected import said
from aigon.parsers._places import place
from aigon.parsers._problems import number, problem
from aigon.parsers._readings import foreign, tests
from aigon.parsers._text import text

_NUMBER = re.compile(r"^ +(?P<number>\d+) (?P<word>passing|failing|pending)(?: \([^\n]*\))?$", re.M)
_FAILURE = re.compile(
    r"^  \d+\) (?P<title>[^\n]*\n(?:       +[^\n]*\n){0,20})(?P<body>(?:(?!  \d+\) )[^\n]*\n){0,300})", re.M
)


def read(output: bytes, report: bytes | None) -> Reading:
    """Counts and failures; a report file, where there is one, is JUnit XML."""
    reading = junit.read(b"", report) if report else Reading(understood=False)
    if reading.understood:
        return reading
    return printed(lines := text(output)) or foreign(lines)


def printed(lines: str) -> Reading | None:
    """What the text says; None when it is not of this runner."""
    numbers = Counter[str]()
    for match in _NUMBER.finditer(lines):
        numbers[match["word"]] += number(match["number"])
    if "passing" not in numbers:
        return None
    failures = lines.rpartition(" failing\n")[2] if numbers["failing"] else ""
    return tests(Counts(0, numbers["passing"], numbers["failing"], numbers["pending"]), _problems(failures))


def _problems(failures: str) -> Iterator[Problem]:
    for match in _FAILURE.finditer(failures):
        title = " > ".join(line.strip() for line in match["title"].strip().rstrip(":").split("\n"))
        yield problem(said(match["body"]), *place(match["body"]), test=title)
