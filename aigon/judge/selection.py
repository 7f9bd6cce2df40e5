"""Which part of a change is shown to a judge: all of it, or, where it is too long, what the criteria speak of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aigon.judge import unshown
from aigon.judge.words import weights
from aigon.model.changes import DiffLine, FileDiff, Hunk
from aigon.model.criteria import Criterion

BUDGET = 60_000
"""Characters of a diff that is shown whole: 4,000 would cut half of all real commits."""
PIECE = 6_000
"""Characters above which a hunk of a diff that is too long is divided: a new file would else be all or nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """`files` hold only the hunks that are shown; `left` says of every other file or part why it is not."""

    files: tuple[FileDiff, ...]
    left: tuple[tuple[str, str], ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True)
class _Part:
    """A hunk that could be shown. `file` is the number of its file."""

    file: int
    hunk: Hunk
    text: str
    path: str

    def score(self, words: dict[str, int]) -> int:
        """How much it has to do with these words: a word of the path counts twice."""
        return sum(w * ((word in self.text) + 2 * (word in self.path)) for word, w in words.items())


def shown(diffs: Sequence[FileDiff], criteria: Sequence[Criterion], budget: int = BUDGET) -> Shown:
    """The whole change where its text fits into `budget` characters, else the hunks that the criteria speak of.

    The criteria take turns, so that each gets its share, and every call of a look shows the same.
    """
    reasons = [(diff, unshown.why(diff)) for diff in diffs]
    files = [diff for diff, why in reasons if not why]
    left = tuple((diff.name, why) for diff, why in reasons if why)
    if sum(length(diff) for diff in files) <= budget:
        return Shown(tuple(files), left)
    parts = [_part(n, hunk, diff) for n, diff in enumerate(files) for whole in diff.hunks for hunk in _pieces(whole)]
    chosen = _chosen(parts, files, [dict(weights(criterion.text)) for criterion in criteria], budget)
    return _cut(files, parts, chosen, left)


def length(diff: FileDiff) -> int:
    """Characters of a file's diff."""
    return _head(diff) + sum(len(hunk.text) + 1 for hunk in diff.hunks)


def _head(diff: FileDiff) -> int:
    return 2 * len(diff.name) + 14


def _part(number: int, hunk: Hunk, diff: FileDiff) -> _Part:
    return _Part(number, hunk, hunk.text.lower(), diff.name.lower())


def _chosen(parts: list[_Part], files: list[FileDiff], wanted: list[dict[str, int]], budget: int) -> set[int]:
    """The numbers of the parts that are shown: each criterion in turn takes what speaks most of it and still fits."""
    orders = [sorted(range(len(parts)), key=lambda n: (-parts[n].score(words), n)) for words in wanted or [{}]]
    queues = [iter(order) for order in orders]
    chosen: set[int] = set()
    seen: set[int] = set()
    while queues:
        for queue in list(queues):
            taken = next((n for n in queue if n not in chosen and _cost(parts[n], files, seen) <= budget), None)
            if taken is None:
                queues.remove(queue)
                continue
            budget -= _cost(parts[taken], files, seen)
            chosen.add(taken)
            seen.add(parts[taken].file)
    return chosen


def _cost(part: _Part, files: list[FileDiff], seen: set[int]) -> int:
    return len(part.text) + 1 + (0 if part.file in seen else _head(files[part.file]))


def _cut(files: list[FileDiff], parts: list[_Part], chosen: set[int], left: tuple[tuple[str, str], ...]) -> Shown:
    kept, missing = [], list(left)
    parts_of: dict[int, list[int]] = {}
    for n, part in enumerate(parts):
        parts_of.setdefault(part.file, []).append(n)
    for number, diff in enumerate(files):
        mine = parts_of.get(number, [])
        hunks = tuple(parts[n].hunk for n in mine if n in chosen)
        if hunks:
            kept.append(replace(diff, hunks=hunks))
        if len(hunks) < len(mine):
            missing.append((diff.name, f"{len(mine) - len(hunks)} of {len(mine)} parts, for want of room"))
    return Shown(tuple(kept), tuple(missing), whole=False)


def _pieces(hunk: Hunk) -> list[Hunk]:
    """A long hunk in pieces, divided where a line is empty or, failing that, where it gets too long."""
    pieces, start, size, blank = [], 0, 0, 0
    for at, line in enumerate(hunk.lines):
        size += len(line.text) + 2
        if not line.text.strip():
            blank = at + 1
        if size > PIECE:
            end = blank if blank > start else max(at, start + 1)
            pieces.append((start, end))
            start, size = end, sum(len(each.text) + 2 for each in hunk.lines[end : at + 1])
    pieces.append((start, len(hunk.lines)))
    found = [hunk.lines[a:b] for a, b in pieces if b > a]
    return [hunk] if len(found) == 1 else [Hunk(_heading(lines), lines) for lines in found]


def _heading(lines: Sequence[DiffLine]) -> str:
    old, new = [line.old for line in lines if line.old], [line.new for line in lines if line.new]
    return f"@@ -{min(old, default=0)},{len(old)} +{min(new, default=0)},{len(new)} @@"
