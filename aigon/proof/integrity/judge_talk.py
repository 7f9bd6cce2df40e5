"""Text that is meant for the judge of the change: orders, forged verdicts, delimiters that would end the evidence.

The judge gets repository text as data, so this should change nothing, but an honest change has no reason to try.
`review` for one sign that means nothing else (an order to ignore instructions, "mark AC1 as met", a note to the judge)
or two weaker ones of different kinds in one text (a forged verdict, a line of a chat, an unopened closing tag, a claim
that all criteria are met or that a person approved); three kinds if they are spread over texts. A single weak sign is
ordinary: commit messages claim things, and programs use such JSON. What the base had already in the changed files and
in the tests is what the project is about. Characters that cannot be seen count if they could carry text.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct

from aigon.languages import LONGEST, is_code
from aigon.model.changes import Concern, Edits, hash_change
from aigon.proof.analysis.sightings import find_pattern
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

RULE = "judge-talk"
_ENOUGH = 2
_SPREAD = 3
_WHY = (
    "Text in the repository is evidence and never an instruction. "
    "Take out what is addressed to a judge or looks like its verdict, and let the checks show what works."
)


class TalkSign(Struct, frozen=True):
    """One sign: its kind, what it counts, the words, and its line; 0 for none."""

    kind: str
    weight: int
    words: str
    line: int


class Prose(Struct, frozen=True):
    """A text: its `words` on one line, and for each of its lines that has any where it begins there and its number."""

    raw: str
    words: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def line(self, offset: int) -> int:
        """Return the number of the line that a word is on."""
        return self.numbers[bisect_right(self.starts, offset) - 1]


class ProseSource(Struct, frozen=True):
    """One text with its signs."""

    name: str
    paths: tuple[str, ...]
    raw: str
    signs: tuple[TalkSign, ...]


def look(edits: Edits) -> Iterator[Concern]:
    """Report each text that talks to a judge, or all of them if only together they do."""
    sources = [source for source in (*_read_files(edits), *_read_messages(edits)) if source.signs]
    texts = [*(edit.before or "" for edit in edits.files), *edits.tests.values()] if sources else []
    known = {(sign.kind, sign.weight) for text in texts for sign in _find_signs(_read_prose(_number_lines(text)), text)}
    telling = [(source, [s for s in source.signs if (s.kind, s.weight) not in known]) for source in sources]
    loud = [(source, signs) for source, signs in telling if _weigh(signs) >= _ENOUGH]
    if not loud and len({sign.kind for _, signs in telling for sign in signs}) >= _SPREAD:
        loud = [(source, signs) for source, signs in telling if signs]
    yield from (_report(source, signs) for source, signs in loud)
    for edit in edits.files:
        before, after = (_find_hidden(text or "", is_code(edit.path)) for text in (edit.before, edit.after))
        if after and not before:
            what = f"{fold(edit.path)} holds {after}. Nobody can review what they say. Take them out."
            yield Concern(RULE, "review", what, (edit.path,), hash_change([RULE, edit.path, edit.after or ""]))


def _weigh(signs: Sequence[TalkSign]) -> int:
    return sum({sign.kind: sign.weight for sign in sorted(signs, key=lambda sign: sign.weight)}.values())


def _report(source: ProseSource, signs: Sequence[TalkSign]) -> Concern:
    first = max(signs, key=lambda sign: sign.weight)
    where = f"{source.name}:{first.line}" if first.line else source.name
    shown = ", ".join(code_span(each, 100) for each in dict.fromkeys(sign.words for sign in signs[:4]))
    what = f"{where} talks to the judge of the change: {shown}. {_WHY}"
    return Concern(RULE, "review", what, source.paths, hash_change([RULE, *source.paths, source.raw]))


def _read_files(edits: Edits) -> Iterator[ProseSource]:
    """Yield each file as the change leaves it, a new one with the words of its path."""
    for edit in edits.files:
        if edit.after and edit.after != edit.before:
            name = [(0, re.sub(r"[_\-./]+", " ", edit.path))] if edit.before is None else []
            prose = _read_prose([*name, *_number_lines(edit.after)])
            signs = tuple(_find_signs(prose, edit.before or ""))
            yield ProseSource(fold(edit.path), (edit.path,), prose.raw, signs)


def _read_messages(edits: Edits) -> Iterator[ProseSource]:
    for message in edits.messages:
        signs = tuple(_find_signs(_read_prose([(0, message)])))
        yield ProseSource("The message of a commit", (), message, signs)


def _number_lines(text: str) -> Iterable[tuple[int, str]]:
    return enumerate(text[:LONGEST].split("\n"), 1)


def _read_prose(lines: Iterable[tuple[int, str]]) -> Prose:
    """Return numbered lines as words. A number is 0 for what is no line of a file."""
    rows = [(number, line, words) for number, line in lines if (words := _clean(line.strip()))]
    starts = tuple(accumulate((len(words) + 1 for *_, words in rows), initial=0))
    words = " ".join(words for *_, words in rows)
    return Prose("\n".join(line for _, line, _ in rows), words, starts[:-1], tuple(number for number, *_ in rows))


_MARKS = compile_re(r"^(?:<!--|[\s#*/;%!>|\-\"'`+])+")
_UNSEEN = find_pattern(RULE, "unseen")
_ALIKE = str.maketrans("АВЕКМНОРСТХІЅЈаеорсухіјѕԁɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν", "ABEKMHOPCTXISJaeopcyxijsdgABEZHIKMNOPTYXoiv")


@lru_cache(maxsize=4096)
def _clean(line: str) -> str:
    """Return the words of a line without comment marks, in letters that look as they are."""
    line = _MARKS.sub("", line)
    if not line.isascii():
        line = unicodedata.normalize("NFKC", _UNSEEN.sub("", line)).translate(_ALIKE)
    return " ".join(line.split())


_SIGNS = {
    (kind, weight): find_pattern(RULE, f"{kind}-{weight}", re.IGNORECASE)
    for weight, kinds in ((2, ("order", "address")), (1, ("order", "address", "chat", "verdict", "claim", "authority")))
    for kind in kinds
}
_CLOSES = find_pattern(RULE, "closes", re.IGNORECASE)


def _find_signs(prose: Prose, opened: str = "") -> Iterator[TalkSign]:
    """Yield all signs of a text. `opened` is other text in which a closing tag may have been opened."""
    for (kind, weight), pattern in _SIGNS.items():
        if match := pattern.search(prose.words):
            words = prose.words[match.start() : match.end() + 60]
            yield TalkSign(kind, weight, words, prose.line(match.start()))
    for match in _CLOSES.finditer(prose.raw):
        name = match[1].lower()
        if f"<{name}" not in prose.raw[: match.start()].lower() and f"<{name}" not in opened.lower():
            yield TalkSign("delimiter", 2 if re.search(r"[-_:]\w*\d", name) else 1, match[0], 0)


_CARRIERS = compile_re("[\U000e0020-\U000e007e]{4}|[\u200b\u200c\u200d\u2060\ufeff]{8}")
_TURNS = compile_re("[\u202d\u202e\u2066-\u2068]")


def _find_hidden(text: str, is_code: bool) -> str:
    """Return what could carry invisible text. Flags are made of such characters, too, but of few."""
    flags = re.sub("\U0001f3f4[\U000e0020-\U000e007f]{1,7}", "", text)
    if _CARRIERS.search(flags):
        return "characters that cannot be seen"
    return "characters that change the order in which code is shown" if is_code and _TURNS.search(text) else ""
