"""Whether what a judge quotes stands where it says, and whether it proves anything.

A quote of a "met" has to stand, white space folded, in lines of the shown diff that the change added, at the line it
names; or in a check's output. Lines that were removed count where the criterion asks for a removal. Words about the
code (comments, docstrings, prose) count where it asks for documentation. A quote that does not stand there, or that is
such words, is refused, and one refused quote is enough: who invents one piece of evidence is not believed the others.
What says too little, or what the change itself prints, is no proof and no offence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aigon.judge.bounded import bounded
from aigon.judge.evidence import Evidence
from aigon.judge.mere_words import says_little, words_only
from aigon.judge.passage import Place, fold, passage, passages
from aigon.judge.reply import Quote
from aigon.judge.words import is_documentation, is_removal
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion

TOLERANCE = 3
"""Lines by which the number of a quote may be off: models miscount; the text must stand there all the same."""
MOST = 50
"""Quotes of one verdict."""
_COPIED_SIGN = re.compile(r"^[ \t]*(?:\d+[ \t]+)?[+-]|^[ \t]*\d+[ \t]{2,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of one quote. `shown` is the quote for people; `why` says why it does not count."""

    result: Literal["counts", "idle", "refused"]
    shown: str
    why: str = ""


def standings(quotes: Sequence[Quote], criterion: Criterion, evidence: Evidence) -> tuple[Standing, ...]:
    """What became of each quote of a "met"."""
    if len(quotes) > MOST:
        return (Standing("refused", f"{len(quotes)} quotes", f"more than {MOST} are not read"),)
    return tuple(_supporting(quote, criterion.text, evidence) for quote in quotes)


def counters(quotes: Sequence[Quote], evidence: Evidence) -> tuple[Standing, ...]:
    """What became of each quote against a claim: any shown line and any output may speak, comments too."""
    return tuple(_speaking(quote, evidence) for quote in quotes[:MOST])


def _supporting(quote: Quote, criterion: str, evidence: Evidence) -> Standing:
    if quote.source.strip() != "diff":
        return _of_output(quote, evidence, printed=True)
    diff = evidence.file(quote.path)
    if diff is None:
        return _refused(quote, "the shown diff has no such file")
    removed = is_removal(criterion)
    found = _placed(quote, diff, "+") or (_placed(quote, diff, "-", old=True) if removed else None)
    if found is None:
        return _refused(quote, _absence(quote, diff))
    if says_little(quote.text):
        return Standing("idle", _shown(quote), "it says too little")
    words = words_only(diff, found, old=bool(removed and not _placed(quote, diff, "+")))
    if words and not is_documentation(criterion):
        return _refused(quote, f"it is {words}, which proves nothing of what the code does")
    return Standing("counts", _shown(quote, found[0][0]))


def _speaking(quote: Quote, evidence: Evidence) -> Standing:
    if quote.source.strip() != "diff":
        return _of_output(quote, evidence, printed=False)
    diff = evidence.file(quote.path)
    if diff is None:
        return _refused(quote, "the shown diff has no such file")
    found = _placed(quote, diff, "+ ") or _placed(quote, diff, "- ", old=True)
    if found is None:
        return _refused(quote, _absence(quote, diff))
    if says_little(quote.text):
        return Standing("idle", _shown(quote), "it says too little")
    return Standing("counts", _shown(quote, found[0][0]))


def _of_output(quote: Quote, evidence: Evidence, *, printed: bool) -> Standing:
    """A quote from a check's output. `printed`: what the change holds literally is the change's own word."""
    output = evidence.output(quote.source)
    needle = fold(quote.text)
    if output is None:
        return _refused(quote, "there is no check of that name")
    if not any(passage([(1, fold(output))]).found(needle)):
        return _refused(quote, "the output of that check does not hold it")
    if says_little(quote.text):
        return Standing("idle", _shown(quote), "it says too little")
    if printed and any(any(p.found(needle)) for diff in evidence.files for p in passages(diff, "+")):
        return Standing("idle", _shown(quote), "the change itself prints it")
    return Standing("counts", _shown(quote))


def _placed(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> tuple[Place, ...] | None:
    """Where the quote stands among the lines with these signs, at most `TOLERANCE` lines off."""
    near = [p for p in _anywhere(quote, diff, signs, old=old) if abs(p[0][0] - quote.line) <= TOLERANCE]
    return min(near, key=lambda places: abs(places[0][0] - quote.line), default=None)


def _anywhere(quote: Quote, diff: FileDiff, signs: str, *, old: bool = False) -> list[tuple[Place, ...]]:
    for needle in dict.fromkeys((fold(quote.text), fold(_COPIED_SIGN.sub("", quote.text)))):
        if found := [places for each in passages(diff, signs, old=old) for places in each.found(needle)]:
            return found
    return []


def _absence(quote: Quote, diff: FileDiff) -> str:
    if found := _anywhere(quote, diff, "+"):
        return f"it stands in line {found[0][0][0]}, not in line {quote.line}"
    if _anywhere(quote, diff, "-", old=True):
        return "the change removed it"
    if _anywhere(quote, diff, "+ "):
        return "it is not among the changed lines"
    return "it does not stand there"


def _refused(quote: Quote, why: str) -> Standing:
    return Standing("refused", _shown(quote), why)


def _shown(quote: Quote, line: int | None = None) -> str:
    where = f"{quote.path}:{quote.line if line is None else line}" if quote.source.strip() == "diff" else quote.source
    return bounded(f"{where}: {quote.text}", 240)
