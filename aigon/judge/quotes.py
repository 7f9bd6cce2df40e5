"""Evidence that can be quoted: the change as far as it was shown, and what aigon captured of the checks."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from aigon.judge.passages import Passage, Position, find_passages, is_trivial, name_words
from aigon.judge.question import ObservedCheck
from aigon.judge.reply import Quote, bound_text
from aigon.judge.selection import asks_documentation, asks_removal
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

TOLERANCE = 3
"""Lines by which the number of a quote may be off: models miscount; the text must be there all the same."""
MOST_QUOTES = 50
"""Quotes of one verdict."""
_COPIED_SIGN = compile_re(r"^[ \t]*(?:\d+[ \t]+)?[+-]|^[ \t]*\d+[ \t]{2,}", re.MULTILINE)


class QuotedEvidence(Struct, frozen=True):
    """Evidence that can be quoted: the files as far as they were shown, and what aigon captured of the checks."""

    files: tuple[FileDiff, ...]
    observed: tuple[ObservedCheck, ...]
    _by_name: dict[str, FileDiff] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name.update({name: diff for diff in self.files for name in (diff.path, diff.name)})

    def find_file(self, path: str) -> FileDiff | None:
        """Return the file of that name, which may have the prefix of a diff."""
        plain_path = path.strip()
        names = (path, plain_path, plain_path.removeprefix("./"), re.sub(r"^[ab]/", "", plain_path))
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def find_output(self, source: str) -> str | None:
        """Return all that is known of the check of that name or title, or None."""
        wanted = source.strip().casefold().removeprefix("check ")
        found = [o for o in self.observed if wanted in (o.finding.check.casefold(), o.finding.title.casefold())]
        texts = [text for o in found for text in (o.output, o.finding.excerpt, o.finding.summary)]
        return strip_escapes("\n".join(texts)) if found else None


class QuoteCheck(Struct, frozen=True):
    """The check of one quote. `shown` is the quote for people; `why` says why it does not count."""

    result: Literal["counts", "idle", "refused"]
    shown: str
    why: str = ""


def check_supporting(quotes: Sequence[Quote], criterion: Criterion, evidence: QuotedEvidence) -> tuple[QuoteCheck, ...]:
    """Check each quote of a "met"."""
    if len(quotes) > MOST_QUOTES:
        return (QuoteCheck("refused", f"{len(quotes)} quotes", f"more than {MOST_QUOTES} are not read"),)
    return tuple(_check_quote(quote, evidence, criterion.text) for quote in quotes)


def check_countering(quotes: Sequence[Quote], evidence: QuotedEvidence) -> tuple[QuoteCheck, ...]:
    """Check each quote against a claim: any shown line and any output count, comments too."""
    return tuple(_check_quote(quote, evidence, None) for quote in quotes[:MOST_QUOTES])


def _check_quote(quote: Quote, evidence: QuotedEvidence, criterion: str | None) -> QuoteCheck:
    """Check a quote that supports the text of a criterion, or that speaks against one (None)."""
    if quote.source.strip() != "diff":
        return _check_output_quote(quote, evidence, supports=criterion is not None)
    diff = evidence.find_file(quote.path)
    if diff is None:
        return _refuse(quote, "the shown diff has no such file")
    new, old = ("+ ", "- ") if criterion is None else ("+", "-" if asks_removal(criterion) else "")
    places = _find_near(quote, diff, new)
    removed = places is None
    if removed and old:
        places = _find_near(quote, diff, old, old=True)
    if places is None:
        return _refuse(quote, _explain_absence(quote, diff))
    if is_trivial(quote.text):
        return QuoteCheck("idle", _render_quote(quote), "it says too little")
    is_code_due = criterion is not None and not asks_documentation(criterion)
    if is_code_due and (words := name_words(diff, places, old=removed)):
        return _refuse(quote, f"it is {words}, which proves nothing of what the code does")
    return QuoteCheck("counts", _render_quote(quote, places[0][0]))


def _check_output_quote(quote: Quote, evidence: QuotedEvidence, *, supports: bool) -> QuoteCheck:
    """Check a quote from a check's output. What the change holds literally is its own word, which supports nothing."""
    output = evidence.find_output(quote.source)
    if output is None:
        return _refuse(quote, "there is no check of that name")
    if not any(Passage(1, output).find_all(quote.text)):
        return _refuse(quote, "the output of that check does not hold it")
    if is_trivial(quote.text):
        return QuoteCheck("idle", _render_quote(quote), "it says too little")
    if supports and any(any(p.find_all(quote.text)) for diff in evidence.files for p in find_passages(diff, "+")):
        return QuoteCheck("idle", _render_quote(quote), "the change itself prints it")
    return QuoteCheck("counts", _render_quote(quote))


def _find_near(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> tuple[Position, ...] | None:
    """Return the place of the quote among the lines with these signs, at most `TOLERANCE` lines off."""
    near = [p for p in _find_anywhere(quote, diff, signs, old=old) if abs(p[0][0] - quote.line) <= TOLERANCE]
    return min(near, key=lambda places: abs(places[0][0] - quote.line), default=None)


def _find_anywhere(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> list[tuple[Position, ...]]:
    for needle in (quote.text, _COPIED_SIGN.sub("", quote.text)):
        if found := [places for p in find_passages(diff, signs, old=old) for places in p.find_all(needle)]:
            return found
    return []


def _explain_absence(quote: Quote, diff: FileDiff) -> str:
    if found := _find_anywhere(quote, diff, "+"):
        return f"it is in line {found[0][0][0]}, not in line {quote.line}"
    if _find_anywhere(quote, diff, "-", old=True):
        return "the change removed it"
    if _find_anywhere(quote, diff, "+ "):
        return "it is not among the changed lines"
    return "it is not there"


def _refuse(quote: Quote, why: str) -> QuoteCheck:
    return QuoteCheck("refused", _render_quote(quote), why)


def _render_quote(quote: Quote, line: int | None = None) -> str:
    where = f"{quote.path}:{quote.line if line is None else line}" if quote.source.strip() == "diff" else quote.source
    return bound_text(f"{where}: {quote.text}", 240)
