"""Text that is meant for whoever judges the change: orders, forged verdicts, delimiters that would end the evidence.

The judge gets repository text as data, so this should change nothing, but an honest change has no reason to try.
`review` for one sign that means nothing else (an order to ignore instructions, "mark AC1 as met", a note to the judge)
or two weaker ones of different kinds in one text (a forged verdict, a line of a chat, an unopened closing tag, a claim
that all criteria are met or that somebody approved); three kinds if they are spread over texts. A single weak sign is
ordinary: commit messages claim things, and programs use such JSON. What the base had already in the changed files and
in the tests is what the project is about. Characters that cannot be seen count if they could carry text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from aigon.model.changes import Concern, Edit, Edits, hash_change
from aigon.proof.analysis.languages import LONGEST, is_code
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

RULE = "judge-talk"
_ENOUGH = 2
_SPREAD = 3
_WHY = (
    "Text in the repository is evidence and never an instruction. "
    "Take out what is addressed to a judge or looks like its verdict, and let the checks show what works."
)


class Sign(Struct, frozen=True):
    """One sign: its kind, what it counts, the words, and where they begin in the prose (-1: in its raw text)."""

    kind: str
    weight: int
    words: str
    at: int


class Prose(Struct, frozen=True):
    """Added text: `words` on one line, `starts` the offset in it at which each of the `lines` (numbers) begins."""

    words: str
    raw: str
    starts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()

    def line(self, offset: int) -> int:
        """Return the number of the line that a word is on; 0 for what is no line of a file."""
        return next((n for s, n in zip(reversed(self.starts), reversed(self.lines), strict=True) if s <= offset), 0)


class Source(Struct, frozen=True):
    """One text with its signs."""

    name: str
    paths: tuple[str, ...]
    prose: Prose
    signs: tuple[Sign, ...]


def look(edits: Edits) -> Iterator[Concern]:
    """Report each text that talks to a judge, or all of them if only together they do."""
    sources = [source for source in (*_read_files(edits), *_read_messages(edits)) if source.signs]
    texts = [*(edit.before or "" for edit in edits.files), *edits.tests.values()] if sources else []
    base = (sign for text in texts for sign in _find_signs(_read_prose(text[:200_000].split("\n")), text))
    known = {(sign.kind, sign.weight) for sign in base}
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


def _weigh(signs: Sequence[Sign]) -> int:
    return sum({sign.kind: sign.weight for sign in sorted(signs, key=lambda sign: sign.weight)}.values())


def _report(source: Source, signs: Sequence[Sign]) -> Concern:
    first = max(signs, key=lambda sign: sign.weight)
    line = source.prose.line(first.at) if first.at >= 0 else 0
    where = f"{source.name}:{line}" if line else source.name
    shown = ", ".join(code_span(each, 100) for each in dict.fromkeys(sign.words for sign in signs[:4]))
    what = f"{where} talks to whoever judges the change: {shown}. {_WHY}"
    return Concern(RULE, "review", what, source.paths, hash_change([RULE, *source.paths, source.prose.raw]))


def _read_files(edits: Edits) -> Iterator[Source]:
    """Yield what each file has more of than before. Lines that only moved to another file are left out."""
    lost: Counter[str] = Counter()
    for edit in edits.files:
        lost += Counter(_list_lines(edit.before)) - Counter(_list_lines(edit.after))
    for edit in edits.files:
        if edit.after:
            prose = _read_added(edit, lost)
            signs = tuple(_find_signs(prose, edit.before or ""))
            if edit.before is None:
                name = _read_prose([re.sub(r"[_\-./]+", " ", edit.path)])
                signs += tuple(replace(sign, at=-1) for sign in _find_signs(name))
            yield Source(fold(edit.path), (edit.path,), prose, signs)


def _read_added(edit: Edit, lost: Counter[str]) -> Prose:
    known = Counter(_list_lines(edit.before)) + lost
    taken, numbers, starts, at = [], [], [], 0
    for number, line in enumerate(_list_lines(edit.after), 1):
        if known[line] > 0:
            known[line] -= 1
        elif line:
            taken.append(line)
            numbers.append(number)
            starts.append(at)
            at += len(_clean(line)) + 1
    return Prose(" ".join(map(_clean, taken)), "\n".join(taken), tuple(starts), tuple(numbers))


def _read_messages(edits: Edits) -> Iterator[Source]:
    for message in edits.messages:
        prose = Prose(_clean(message), message)
        yield Source("The message of a commit", (), prose, tuple(_find_signs(prose)))


def _read_prose(lines: Sequence[str]) -> Prose:
    return Prose(" ".join(_clean(line.strip()) for line in lines), "\n".join(lines))


def _list_lines(text: str | None) -> list[str]:
    return [line.strip() for line in (text or "")[:LONGEST].split("\n")]


_MARKS = compile_re(r"^(?:<!--|[\s#*/;%!>|\-\"'`+])+")
_UNSEEN = compile_re("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u00ad\U000e0000-\U000e007f]")
_ALIKE = str.maketrans("АВЕКМНОРСТХІЅЈаеорсухіјѕԁɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν", "ABEKMHOPCTXISJaeopcyxijsdgABEZHIKMNOPTYXoiv")


@lru_cache(maxsize=4096)
def _clean(line: str) -> str:
    """Return the words of a line without comment marks, in letters that look as they are."""
    line = _MARKS.sub("", line)
    if not line.isascii():
        line = unicodedata.normalize("NFKC", _UNSEEN.sub("", line)).translate(_ALIKE)
    return " ".join(line.split())


_DONE = r"(?:met|satisfied|passed|passing|fulfilled|completed?|done|true|verified|proven|green)"
_MODEL = (
    r"(?:judge|grader|evaluator|verifier|arbiter|llm|language[ _]model|ai[ _]model|ai[ _]reviewer|reviewer[ _]model"
    r"|(?:review|reviewing|judging|grading|evaluating|evaluation)[ _]model)"
)
_EARLIER = r"(?:previous|prior|above|earlier|preceding|former|foregoing|existing|original)"
_VERB = r"(?:mark|rate|grade|judge|consider|treat|label|score|count|declare|deem|regard)"
_FORGET = r"\b(?:ignore|disregard|forget)\b"
_SAY = r"\b(?:output|reply|respond|answer)\b"
_SIGNS: dict[tuple[str, int], tuple[str, ...]] = {
    ("order", 2): (
        rf"{_FORGET} (?:\w+ ){{0,4}}?{_EARLIER} (?:\w+ ){{0,2}}?(?:instruction|prompt|guideline)",
        rf"{_FORGET} (?:all|any|every|your)(?: of)?(?: the| your)? (?:instruction|prompt|guideline)s?\b",
        r"\b(?:ignorier|missacht|vergiss)\w*\b.{0,40}\b(?:anweisung|instruktion)\w*",
        r"\bignore[zr]?\b.{0,30}\binstructions? pr[eé]c[eé]dentes?|\bignora\b.{0,30}\binstrucciones (?:ant|prev)",
        r"忽略.{0,10}(?:指令|指示|说明)|以前の指示を無視",
        rf"\b{_VERB}\b[^.;]{{0,60}}?\bAC[-\s]?\d+\b[^.;]{{0,60}}?\b{_DONE}\b",
        rf"\b{_VERB}\b (?:\w+ ){{0,3}}?(?:acceptance )?criteri(?:on|a) (?:\w+ )?(?:as|to be|to|=) {_DONE}\b",
        r"\b(?:output|reply|respond|answer|return|say|print)\b (?:\w+ ){0,2}?\W?"
        r"(?:met ?[=:] ?true|all (?:criteria )?met)",
        rf"{_SAY} (?:\w+ ){{0,2}}?\W?\{{ ?\"(?:criteria|verdicts?|met|id)\"",
        rf"\b(?:the )?(?:verdict|answer|reply) (?:must|should|shall|has to) be \W?(?:{_DONE})\b",
    ),
    ("order", 1): (
        rf"\b(?:ignore|disregard|forget|override|bypass)\b (?:\w+ ){{0,3}}?{_EARLIER} (?:rule|direction|message|order)",
    ),
    ("address", 2): (
        rf"(?:\bnote|\bmessage|\binstructions?|\bhint|\bmemo)[\s_:-]{{1,3}}(?:to|for)[\s_-]+(?:the[\s_-]+)?{_MODEL}(?![a-z])",
        rf"(?:\bdear|\bhello|\bhey|\battention)[\s_,:-]{{1,3}}(?:the[\s_-]+)?{_MODEL}(?![a-z])",
        r"\bto the (?:reviewing|judging|grading|evaluating|verifying|scoring) (?:model|llm|ai|agent|assistant)\b",
    ),
    ("address", 1): (
        r"\bif you are (?:an? |the )?(?:llm|ai|judge|language model|\w+ model)\b"
        r"|\byou are (?:now )?(?:an? |the )?(?:judge|grader)\b",
        r"(?:^|[.!?:*] |\s)(?:judge|grader|evaluator|verifier|llm) ?[:,] ",
    ),
    ("chat", 1): (
        r"(?-i:(?:^|\s|[\"'])(?:SYSTEM|ASSISTANT|DEVELOPER|HUMAN)(?: [A-Z]+)? ?:(?= ?[A-Z]))",
        r"<\|(?:im_start|im_end|system|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<</?SYS>>|\[SYSTEM\]",
        r"</?system(?:[-_](?:reminder|prompt|message))?>|###? ?(?:System|Instruction) ?:",
    ),
    ("verdict", 1): (
        r"['\"](?:met|satisfied|is_met|criteria_met|all_met)['\"] ?: ?(?:true|1\b)|\bmet ?= ?(?:true|yes)\b",
        r"['\"](?:status|verdict|result|outcome)['\"] ?: ?['\"](?:met|satisfied)['\"]"
        r"|\bverdict ?[:=] ?['\"]?(?:met|satisfied)\b",
        r"\bAC[-\s]?\d+ ?(?::|=|->|→|-) ?(?:met\b|PASS(?:ED)?\b|satisfied\b|verified\b|✓|✅)",
    ),
    ("claim", 1): (
        rf"\ball (?:of the |the |\d+ )?(?:acceptance )?criteria (?:\w+ ){{0,3}}?{_DONE}\b|all_criteria_(?:are_)?met",
        rf"\bAC\d+ ?(?:-|to|–|through) ?(?:AC)?\d+ (?:\w+ ){{0,3}}?{_DONE}\b",
    ),
    ("authority", 1): (
        r"\b(?:approved|verified|reviewed|signed off|confirmed)\b (?:\w+ ){0,3}?by (?:a |the |our )?(?:\w+ )?"
        r"(?:human|team|maintainer|person)",
        r"\bhuman (?:reviewer|maintainer|judge) (?:has )?(?:already )?(?:approved|confirmed)|\balready approved by\b",
        r"\bthe (?:evaluation|review|judgement|judging|grading) (?:above |below )?(?:is|has been) (?:now )?"
        r"(?:complete|over|finished)\b",
        r"\bno (?:further|additional|more) (?:review|verification|checking|evaluation) (?:is )?"
        r"(?:needed|required|necessary)\b",
    ),
}
_PATTERNS = [(*sign, compile_re(pattern, re.IGNORECASE)) for sign, patterns in _SIGNS.items() for pattern in patterns]
_CLOSES = compile_re(
    r"</((?:diff|evidence|data|criteri(?:a|on)|instructions?|spec|patch|untrusted|documents?|file_content|repository"
    r"|prompt|tool_result|function_results|judge\w*|verdict|evaluation)(?:[-_:][\w-]{1,64})?)\s*>",
    re.IGNORECASE,
)


def _find_signs(prose: Prose, opened: str = "") -> Iterator[Sign]:
    """Yield all signs of a text. `opened` is other text in which a closing tag may have been opened."""
    for kind, weight, pattern in _PATTERNS:
        if match := pattern.search(prose.words):
            yield Sign(kind, weight, prose.words[match.start() : match.end() + 60], match.start())
    for match in _CLOSES.finditer(prose.raw):
        name = match[1].lower()
        if f"<{name}" not in prose.raw[: match.start()].lower() and f"<{name}" not in opened.lower():
            yield Sign("delimiter", 2 if re.search(r"[-_:]\w*\d", name) else 1, match[0], -1)


_CARRIERS = compile_re("[\U000e0020-\U000e007e]{4}|[\u200b\u200c\u200d\u2060\ufeff]{8}")
_TURNS = compile_re("[\u202d\u202e\u2066-\u2068]")


def _find_hidden(text: str, is_code: bool) -> str:
    """Return what could carry text that nobody sees. Flags are made of such characters, too, but of few."""
    flags = re.sub("\U0001f3f4[\U000e0020-\U000e007f]{1,7}", "", text)
    if _CARRIERS.search(flags):
        return "characters that cannot be seen"
    return "characters that change the order in which code is shown" if is_code and _TURNS.search(text) else ""
