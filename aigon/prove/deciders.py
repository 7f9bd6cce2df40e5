"""What the agent that writes tests says decides each criterion, and why a test is red before the work.

It writes a line for each criterion into a file next to its tests. A test is red by an assertion, for want of what the
spec names, or for no good reason.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.evidence import has_run
from aigon.errors import AigonError
from aigon.files.resources import find_resource
from aigon.job.results import Result
from aigon.model.criteria import COMMAND_KINDS, Criterion, Spec, Verdict
from aigon.proof.vacuity import absent_files, can_fail
from aigon.spec.annotation import HtmlComment, find_script, parse_annotation
from aigon.spec.document import can_annotate
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold, strip_escapes

RedKind = Literal["assertion", "missing", "green", "foreign", "syntax", "network", "absent", "broken", "timeout"]
FAULTS: Mapping[RedKind, str] = {
    "green": "passes before anything is built, so it shows nothing",
    "foreign": "is red for want of something that the spec never names",
    "syntax": "is red by an error of syntax, not by what it asserts",
    "network": "needs the network, which tests do not have",
    "absent": "runs no test",
    "broken": "breaks by an error that is no assertion",
    "timeout": "takes too long",
}
"""What is wrong with a test that is red in this way; by an assertion or a missing name is right."""
_WORST: tuple[RedKind, ...] = ("syntax", "network", "absent", "foreign", "broken", "missing", "assertion")
_SUFFIX = compile_re(r"\.(?:py|[mc]?[jt]sx?|sh|rb|go|rs|txt|json|csv|toml|ya?ml|html|css|md)$")
"""Endings of files, which are no part of a name."""
LONGEST = 300
"""Characters of a message."""


class Red(Struct, frozen=True):
    """The result of a test before the work, and its words."""

    kind: RedKind
    message: str = ""

    @property
    def fault(self) -> str:
        """Why it shows nothing; "" if it is red for the right reason."""
        fault = FAULTS.get(self.kind, "")
        return f"it {fault}{f': {self.message}' if self.message else ''}" if fault else ""


def classify_red(result: Result, verdict: Verdict, words: frozenset[str]) -> Red:
    """Return how a criterion's command came out; `verdict` is what it would decide, `words` are those of the spec."""
    finding = result.finding
    if verdict.status == "met":
        return Red("green")
    if finding.summary.startswith("timed out"):
        return Red("timeout", finding.summary)
    if finding.status == "pass":  # it ran, and aigon compared
        return Red("assertion", fold(verdict.reason, LONGEST))
    messages = [p.message for p in finding.problems if p.severity == "error" and p.message]
    if finding.counts and not has_run(finding.counts) and not messages:
        return Red("absent", finding.summary)
    reds = [_classify(strip_escapes(text), words) for text in messages or [finding.excerpt, finding.summary]]
    return min(reds, key=lambda red: _WORST.index(red.kind))


def _classify(text: str, words: frozenset[str]) -> Red:
    for kind, patterns in _load_patterns().items():
        for pattern in patterns:
            if match := pattern.search(text):
                name = next(filter(None, match.groupdict().values()), "")
                line = text[text.rfind("\n", 0, match.start() + 1) + 1 :].strip().partition("\n")[0]
                if kind == "missing":
                    return Red("missing" if is_named(name, words) else "foreign", fold(line, LONGEST))
                return Red(kind, fold(line, LONGEST))
    return Red("assertion", fold(next(filter(None, map(str.strip, text.splitlines())), ""), LONGEST))


@cache
def _load_patterns() -> Mapping[RedKind, Sequence[re.Pattern[str]]]:
    file = find_resource("templates", "reds.yaml")
    kinds: tuple[RedKind, ...] = ("syntax", "network", "absent", "missing", "broken")
    fields = parse_yaml(file.read_bytes(), str(file)).fields(kinds, kinds)
    return {kind: [re.compile(text, re.M) for text in fields[kind].texts()] for kind in kinds}


def list_words(text: str) -> frozenset[str]:
    """Return the words of a spec, and those that its names are made of, in lower case."""
    return frozenset(word for part in re.findall(r"\w+", text) for word in _split_name(part))


def is_named(name: str, words: frozenset[str]) -> bool:
    """Return whether the spec has the words of a missing name: `reset_password` for "reset their password"."""
    last = re.split(r"[/.:\\]", _SUFFIX.sub("", name.rstrip("/")))[-1]
    parts = [part for part in _split_name(last) if not part.isdigit()]
    return bool(parts) and all(any(_is_same(part, word) for word in words) for part in parts)


def _split_name(name: str) -> Iterator[str]:
    for part in re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)):
        if part:
            yield part.lower()


def _is_same(part: str, word: str) -> bool:
    """Return whether two words are one, in another form: `greet` and `greets`, `multiply` and `mul`."""
    shorter, longer = sorted((part, word), key=len)
    return longer == shorter or (len(shorter) >= 3 and longer.startswith(shorter))


FOLDER = "tests/acceptance"
LIST = "criteria.txt"
_LINE = compile_re(r"\s*(?:[-*]\s+)?(\d+)\s*[.:)]\s*(?:<!--)?\s*(.+?)\s*(?:-->)?\s*")
_UNDECIDED = compile_re(r"(?:judge|human|none)\b[:\s]*(.*)", re.I)


class Deciders(Struct):
    """By criterion: those that something `decided` would decide, what is wrong with them, and which nothing can run."""

    decided: dict[int, Criterion] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    undecidable: dict[int, str] = field(default_factory=dict)


def list_open_criteria(spec: Spec) -> tuple[Criterion, ...]:
    """Return the criteria without a decider, which are left to a judge or a person."""
    return tuple(c for c in spec.criteria if c.kind == "judge" and can_annotate(spec, c.number))


def locate_folder(name: str) -> str:
    """Return where the tests of the feature called `name` are."""
    return f"{FOLDER}/{name}"


def read_deciders(text: str, criteria: Sequence[Criterion], files: Collection[str]) -> Deciders:
    """Return what the list says of these criteria: one that it leaves out is a fault. `files` are those of the tree."""
    known, found = {c.number: c for c in criteria}, Deciders()
    for line, (number, said) in enumerate(_list_entries(text), 1):
        if number not in known or number in found.decided:
            continue
        if undecided := _UNDECIDED.fullmatch(said):
            found.undecidable[number] = fold(undecided[1], 300) or "no reason given"
            continue
        try:
            annotation = parse_annotation(HtmlComment(0, 0, said), line)
        except AigonError as error:
            found.faults[number] = f"its line cannot be read: {error.what}"
            continue
        if annotation is None or annotation.kind not in COMMAND_KINDS or not annotation.command:
            found.faults[number] = f"its line names no command: write `{number}. verify: COMMAND`"
            continue
        found.decided[number] = replace(known[number], kind=annotation.kind, command=annotation.command)
    for number in known.keys() - found.decided.keys() - found.faults.keys() - found.undecidable.keys():
        found.faults[number] = "nothing decides it yet"
    found.faults |= _find_faults(found.decided, files)
    return found


def _list_entries(text: str) -> Iterator[tuple[int, str]]:
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            yield int(match[1]), match[2]


def _find_faults(decided: dict[int, Criterion], files: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield what reading alone tells of commands."""
    folders = {path.rpartition("/")[0] for path in files}
    first: dict[str, int] = {}
    for number, criterion in decided.items():
        script = find_script(criterion.kind, criterion.command)
        if criterion.kind == "verify" and not can_fail(script):
            yield number, f"it cannot fail: {code_span(script, 200)} always exits with 0"
        elif (other := first.setdefault(str(criterion.command), number)) != number:
            yield number, f"the same command decides criterion {other}: give each a test of its own"
        elif absent := [p for p in absent_files(script, lambda path: path in files or path.rstrip("/") in folders)
                        if p.startswith(f"{FOLDER}/")]:  # fmt: skip
            yield number, f"{absent[0]} is not there: write tests in the folder that you were given"
