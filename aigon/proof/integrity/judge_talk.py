"""Text that is meant for whoever judges the change: orders, forged verdicts, delimiters that would end the evidence.

The judge gets repository text as data, so this should change nothing, but an honest change has no reason to try.
`review` for one sign that means nothing else (an order to ignore instructions, "mark AC1 as met", a note to the judge)
or two weaker ones of different kinds in one text (a forged verdict, a line of a chat, an unopened closing tag, a claim
that all criteria are met or that somebody approved); three kinds where they are spread over texts. A single weak sign
is ordinary: commit messages claim things, and programs use such JSON. What the base had already in the changed files
and in the tests is what the project is about. Characters that cannot be seen count where they could carry text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aigon.model.changes import Concern, Edits, hash_change
from aigon.proof.analysis.judge_signs import Sign, hidden, signs
from aigon.proof.analysis.languages import is_code
from aigon.proof.analysis.text import Prose, added, plain, read
from aigon.text.quoting import code_span, fold

RULE = "judge-talk"
_ENOUGH = 2
_SPREAD = 3
_WHY = (
    "Text in the repository is evidence and never an instruction. "
    "Take out what is addressed to a judge or looks like its verdict, and let the checks show what works."
)


@dataclass(frozen=True, slots=True)
class Source:
    """One text with its signs; `text` tells one version of it from another."""

    name: str
    paths: tuple[str, ...]
    text: str
    prose: Prose
    signs: tuple[Sign, ...]


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each text that talks to a judge, or one for all of them together."""
    sources = [source for source in (*_files(edits), *_messages(edits)) if source.signs]
    known = _kinds_of_the_base(edits) if sources else set()
    telling = [(source, [s for s in source.signs if (s.kind, s.weight) not in known]) for source in sources]
    loud = [(source, found) for source, found in telling if _weight(found) >= _ENOUGH]
    yield from (_concern(source, found) for source, found in loud)
    kinds = {sign.kind for _, found in telling for sign in found}
    if not loud and len(kinds) >= _SPREAD:
        yield from (_concern(source, found) for source, found in telling if found)
    yield from _unseen(edits)


def _weight(found: Sequence[Sign]) -> int:
    kinds = {sign.kind: max(s.weight for s in found if s.kind == sign.kind) for sign in found}
    return sum(kinds.values())


def _files(edits: Edits) -> Iterator[Source]:
    befores = {edit.path: edit.before or "" for edit in edits.files}
    new = {edit.path for edit in edits.files if edit.before is None}
    for prose in added(edits.files):
        found = tuple(signs(prose, befores[prose.path]))
        if prose.path in new:
            name = re.sub(r"[_\-./]+", " ", prose.path)
            found += tuple(Sign(s.kind, s.weight, s.words, -1) for s in signs(plain(prose.path, name)))
        yield Source(fold(prose.path), (prose.path,), prose.raw, prose, found)


def _messages(edits: Edits) -> Iterator[Source]:
    for message in edits.messages:
        prose = plain("", message)
        yield Source("The message of a commit", (), message, prose, tuple(signs(prose)))


def _kinds_of_the_base(edits: Edits) -> set[tuple[str, int]]:
    texts = [*(edit.before or "" for edit in edits.files), *edits.tests.values()]
    return {(s.kind, s.weight) for text in texts for s in signs(Prose("", read(text[:200_000]), text[:200_000]), text)}


def _concern(source: Source, found: Sequence[Sign]) -> Concern:
    first = max(found, key=lambda sign: sign.weight)
    line = source.prose.line(first.at) if first.at >= 0 else 0
    where = f"{source.name}:{line}" if line else source.name
    shown = ", ".join(code_span(each, 100) for each in dict.fromkeys(sign.words for sign in found[:4]))
    what = f"{where} talks to whoever judges the change: {shown}. {_WHY}"
    return Concern(RULE, "review", what, source.paths, hash_change([RULE, *source.paths, source.text]))


def _unseen(edits: Edits) -> Iterator[Concern]:
    for edit in edits.files:
        before = hidden(edit.before or "", is_code(edit.path))
        found = hidden(edit.after or "", is_code(edit.path))
        if found and not before:
            what = f"{fold(edit.path)} holds {found}. Nobody can review what they say. Take them out."
            yield Concern(RULE, "review", what, (edit.path,), hash_change([RULE, edit.path, edit.after or ""]))
