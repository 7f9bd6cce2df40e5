"""Swift Testing's text: `✔ Test adds() passed after 0.001 seconds.`, each line behind a symbol of the platform's."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._swift import Run, ended, run
from aigon.model.checks import Problem

_LINE = re.compile(r"^(?P<symbol>[^\s\w]\S?) {1,2}Test (?P<said>[^\n]+)$", re.M)
_RUN = re.compile(r"run (?:started\.|with \d+ tests?\b)")
_CASE = re.compile(r"case passing \d+ arguments? ")
_ENDED = re.compile(r" (?P<word>passed|failed) after \d[\d.]* seconds?\b")
_SKIPPED = re.compile(r" skipped(?:\.$|: \")")
_AT = re.compile(
    r"(?: with \d+ arguments? [^\n]{0,500}?)? at (?P<file>[^\s:]{1,300}):(?P<line>\d+):\d+: (?P<said>[^\n]+)$"
)
_ISSUE = " recorded an issue"
_READ = 500_000


def results(lines: str) -> Run:
    """What its tests came to. It says of no test which suite it belongs to."""
    said = [match["said"] for match in islice(_LINE.finditer(lines), _READ)]
    own = [each for each in said if not _RUN.match(each) and not _CASE.match(each)]
    began = len(own) < len(said) and any(_RUN.match(each) for each in said)
    return run(ended(filter(None, map(_event, own))), filter(None, map(_problem, own)), began=began)


def _event(said: str) -> tuple[str, str] | None:
    if said.endswith(" started."):
        return _name(said.removesuffix(" started.")), "started"
    if match := _ENDED.search(said):
        return _name(said[: match.start()]), match["word"]
    match = _SKIPPED.search(said)
    # A test that is skipped never started.
    return (_name(said[: match.start()]), "skipped") if match else None


def _problem(said: str) -> Problem | None:
    test, issue, rest = said.partition(_ISSUE)
    if not issue:
        return None
    match = _AT.match(rest)
    if match is None:
        return problem(rest.removeprefix(":").strip() or "failed", test=_name(test))
    return problem(match["said"], match["file"], number(match["line"]), test=_name(test))


def _name(test: str) -> str:
    return test.strip().strip('"')


def named(problems: tuple[Problem, ...], tests: Iterable[str]) -> tuple[Problem, ...]:
    """`problems` with the whole names of their tests, where a name ends like theirs and no other does."""
    whole: dict[str, set[str]] = {}
    for test in tests:
        whole.setdefault(test.rpartition("::")[2], set()).add(test)
    return tuple(_whole(each, whole.get(each.test, set())) for each in problems)


def _whole(found: Problem, names: set[str]) -> Problem:
    return replace(found, test=min(names)) if len(names) == 1 else found
