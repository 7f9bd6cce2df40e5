"""Why a test is red before the work: by an assertion, for want of what the spec names, or for no good reason."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from aigon.checks.evidence import has_run
from aigon.files.resources import find_resource
from aigon.job.results import Result
from aigon.model.criteria import Verdict
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold, strip_escapes

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
