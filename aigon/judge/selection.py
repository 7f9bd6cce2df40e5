"""Select the part of a change that a judge is shown: all of it or, if it is too long, what the criteria speak of."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct, convert
from msgspec.structs import replace

from aigon.files.resources import read_shipped
from aigon.model.changes import DiffLine, FileDiff, Hunk
from aigon.model.criteria import Criterion
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re, is_match

_NAMED = compile_re(r"`+([^`]+)`+")
_WORD = compile_re(r"[^\W_][\w.-]*[^\W_]|[^\W_]")
_NAMED_WEIGHT, _WORD_WEIGHT = 5, 1
_LOCK_ENDINGS = (".lock", ".lockfile")
_FIRST = 10
"""Lines at the top of a file in which a generator says that it wrote it (as linguist looks at the first few)."""
_TOP = 2_000
"""Characters of these lines that are looked at."""
BUDGET = 60_000
"""Characters of a diff that is shown whole: 4,000 would cut half of all real commits."""
PIECE = 6_000
"""Characters above which a hunk of a diff that is too long is divided: a new file would else be all or nothing."""


class ChangeWords(Struct, frozen=True, forbid_unknown_fields=True):
    """Words and patterns of templates/judged_changes.yaml, which says what each is."""

    small_words: frozenset[str]
    documentation: str
    removal: str
    generated_names: str
    vendored: frozenset[str]
    generated_marks: str
    prose_endings: tuple[str, ...]
    prose_names: str
    code_names: str
    keywords: frozenset[str]


@cache
def load_words() -> ChangeWords:
    """Return what is known of words and files."""
    return convert(parse_yaml(read_shipped("templates", "judged_changes.yaml"), "").value, ChangeWords)


@cache
def _list_locks() -> tuple[str, ...]:
    document = parse_yaml(read_shipped("profiles", "protection.yaml"), "protection.yaml")
    return document.pairs()["locks"].texts()


def asks_documentation(criterion: str) -> bool:
    """Return whether it asks for words for people, so that a comment, a docstring or prose can be what proves it."""
    return bool(re.search(load_words().documentation, criterion, re.IGNORECASE))


def asks_removal(criterion: str) -> bool:
    """Return whether it asks that something be gone, so that a removed line can be what proves it."""
    return bool(re.search(load_words().removal, criterion, re.IGNORECASE))


def weigh_words(criterion: str) -> Mapping[str, int]:
    """Return the words to look for in paths and hunks, in lower case; a word in backticks weighs most."""
    words = {word.lower() for word in _WORD.findall(criterion)}
    found = {word: _WORD_WEIGHT for word in words if len(word) > 2 and word not in load_words().small_words}
    for quoted in _NAMED.findall(criterion):
        found |= {part.lower(): _NAMED_WEIGHT for part in (quoted.strip(), *_WORD.findall(quoted)) if len(part) > 1}
    return found


def explain_hidden_name(path: str) -> str:
    """Return why a file of that name is not shown, so that its text need not be asked for; "" if it is."""
    known, (*folders, name) = load_words(), path.lower().split("/")
    if name.endswith(_LOCK_ENDINGS) or any(is_match(pattern, path) for pattern in _list_locks()):
        return "lock file"
    if not known.vendored.isdisjoint(folders):
        return "vendored or built"
    return "generated" if re.search(known.generated_names, name, re.IGNORECASE) else ""


def is_hidden_by_name(path: str) -> bool:
    """Return whether the name alone says that a file is not shown."""
    return bool(explain_hidden_name(path))


def explain_hidden(diff: FileDiff) -> str:
    """Return why the text of this file is not shown; "" if it is."""
    if named := explain_hidden_name(diff.path):
        return named
    for flag, word in ((diff.submodule, "submodule"), (diff.binary, "binary"), (diff.large, "too large")):
        if flag:
            return word
    if not diff.hunks:
        return "no text changed" if diff.status == "M" else "empty"
    # What the change wrote into the top itself does not count: a mark must not make a file disappear.
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    written = {line.new for line in lines if line.sign == "+"} if diff.status != "A" else set()
    known = enumerate(diff.content.split("\n")[:_FIRST] if diff.content else [], 1)
    top = [text for number, text in known if number not in written]
    top += [line.text for line in lines if line.sign == "-" and line.old <= _FIRST]
    marks = load_words().generated_marks
    return "generated" if re.search(marks, "\n".join(top)[:_TOP], re.IGNORECASE | re.MULTILINE) else ""


class ShownChange(Struct, frozen=True):
    """`files` hold only the hunks that are shown; `left` says of every other file or part why it is not."""

    files: tuple[FileDiff, ...]
    left: tuple[tuple[str, str], ...] = ()
    whole: bool = True


class _Part(Struct, frozen=True):
    """A hunk that could be shown. `file` is the number of its file; `text` and `path` are in lower case."""

    file: int
    hunk: Hunk
    text: str
    path: str

    def score(self, words: Mapping[str, int]) -> int:
        """Return how much it has to do with these words: a word of the path counts twice."""
        return sum(weight * ((word in self.text) + 2 * (word in self.path)) for word, weight in words.items())


def select_shown(diffs: Sequence[FileDiff], criteria: Sequence[Criterion], budget: int = BUDGET) -> ShownChange:
    """Return the whole change if its text fits into `budget` characters, else the hunks that the criteria speak of.

    The criteria take turns, so that each gets its share, and every call of an assessment shows the same.
    """
    reasons = [(diff, explain_hidden(diff)) for diff in diffs]
    files = [diff for diff, why in reasons if not why]
    left = [(diff.name, why) for diff, why in reasons if why]
    if sum(map(measure_diff, files)) <= budget:
        return ShownChange(tuple(files), tuple(left))
    parts = [
        _Part(number, piece, piece.text.lower(), diff.name.lower())
        for number, diff in enumerate(files)
        for hunk in diff.hunks
        for piece in _split_hunk(hunk)
    ]
    chosen = _choose_parts(parts, files, [weigh_words(criterion.text) for criterion in criteria], budget)
    by_file: dict[int, list[int]] = {}
    for index, part in enumerate(parts):
        by_file.setdefault(part.file, []).append(index)
    kept = []
    for number, diff in enumerate(files):
        own = by_file.get(number, [])
        hunks = tuple(parts[index].hunk for index in own if index in chosen)
        if hunks:
            kept.append(replace(diff, hunks=hunks))
        if len(hunks) < len(own):
            left.append((diff.name, f"{len(own) - len(hunks)} of {len(own)} parts, for want of room"))
    return ShownChange(tuple(kept), tuple(left), whole=False)


def measure_diff(diff: FileDiff) -> int:
    """Return the characters of a file's diff."""
    return _measure_head(diff) + sum(len(hunk.text) + 1 for hunk in diff.hunks)


def _measure_head(diff: FileDiff) -> int:
    return 2 * len(diff.name) + 14


def _choose_parts(
    parts: Sequence[_Part], files: Sequence[FileDiff], wanted: Sequence[Mapping[str, int]], budget: int
) -> set[int]:
    """Return the numbers of the parts that are shown: each criterion in turn takes what speaks most of it and fits."""
    orders = [sorted(range(len(parts)), key=lambda n: (-parts[n].score(words), n)) for words in wanted or [{}]]
    queues = [iter(order) for order in orders]
    chosen: set[int] = set()
    begun: set[int] = set()

    def cost(part: _Part) -> int:
        return len(part.text) + 1 + (0 if part.file in begun else _measure_head(files[part.file]))

    while queues:
        for queue in list(queues):
            taken = next((n for n in queue if n not in chosen and cost(parts[n]) <= budget), None)
            if taken is None:
                queues.remove(queue)
                continue
            budget -= cost(parts[taken])
            chosen.add(taken)
            begun.add(parts[taken].file)
    return chosen


def _split_hunk(hunk: Hunk) -> list[Hunk]:
    """Return a long hunk in pieces, divided where a line is empty or, failing that, where it gets too long."""
    ends, start, size, blank = [], 0, 0, 0
    for at, line in enumerate(hunk.lines):
        size += len(line.text) + 2
        if not line.text.strip():
            blank = at + 1
        if size > PIECE:
            start = blank if blank > start else max(at, start + 1)
            ends.append(start)
            size = sum(len(each.text) + 2 for each in hunk.lines[start : at + 1])
    pieces = [hunk.lines[a:b] for a, b in zip([0, *ends], [*ends, len(hunk.lines)], strict=True) if b > a]
    return [hunk] if len(pieces) == 1 else [Hunk(_describe_lines(lines), lines) for lines in pieces]


def _describe_lines(lines: Sequence[DiffLine]) -> str:
    """Return the heading of a hunk with these lines."""
    old, new = [line.old for line in lines if line.old], [line.new for line in lines if line.new]
    return f"@@ -{min(old, default=0)},{len(old)} +{min(new, default=0)},{len(new)} @@"
