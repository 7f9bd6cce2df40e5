"""Measure what a change hides from checkers: they run once more without its comments, and with wrong types planted.

What is reported then was hidden. What hides nothing is nothing, however many comments there are.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from aigon.checks.execution import CRITERION
from aigon.git import objects
from aigon.job.results import Result
from aigon.languages import is_code, line_at, list_comments
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check, Problem
from aigon.proof.analysis.plants import Planted, plant, plant_at_end
from aigon.proof.findings import Tree
from aigon.proof.new_tests import RunOnTree, measures_coverage
from aigon.syntax import parse
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

RULE, UNSEEN = "suppressions", "unseen-code"
SHOWN = 5
MOST_BROKEN = 50
"""Files of a change that are broken for a linter."""
_BROKEN = "\n)\n"
"""What no language has at the end of a file."""
_TYPE_CHECKER = compile_re(r"\b(?:based)?(?:mypy|pyright|pyre|pytype)\b")
"""Programs whose commands are those of a type checker for Python, whatever role they have."""
_IMPORTS = ("Import", "ImportFrom", "import_statement", "use_declaration", "import_declaration")

_KEPT = compile_re(r"#!/|/\*\*|//go:|//!|///|#.{0,40}coding[:=]")
"""What begins a comment that is no remark: an interpreter, documentation with types in it, a directive of Go's
compiler, the encoding of the file."""
_ATTRIBUTE = compile_re(r"(#!?\[\s*(?:cfg_attr\([^\n]{0,300},\s*)?)(allow|expect)\b[^\]]{0,1000}")
"""Rust's own way to tell a checker to look away, which is no comment."""


class _Measure(Struct, frozen=True):
    """One check without comments: what it reports then, and in which functions it sees nothing."""

    check: Check
    hidden: tuple[Problem, ...] = ()
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    summary: str = ""
    failed: bool = False


def find_hidden(
    tree: Tree, base: str, run: RunOnTree, checks: Sequence[Check], results: Mapping[str, Result], spec: str
) -> Iterator[Concern]:
    """Yield what comments hide, and code that no type checker sees. `checks` all passed on the tree itself.

    What the words of the `spec` name is allowed; what is hidden at an import is about other code.
    """
    changes = tree.read_changes("product", "other", "config")
    silent = {path: text for path, (before, after) in changes.items() if (text := silence(path, after, before))}
    typing = [check for check in checks if _checks_types(check)]
    planted = {
        path: made
        for path, (before, after) in changes.items()
        if typing and path.endswith(".py") and (made := plant(silent.get(path, after), before)).functions
    }
    others = [each for each in checks if each not in typing and silent and _can_be_silenced(each, results[each.name])]
    linting = [check for check in checks if check.role == "lint"]
    texts = {path: after for path, (_, after) in changes.items() if is_code(path)}
    for check in linting if texts else ():
        yield from _find_unlinted(tree, base, run, check, dict([*texts.items()][:MOST_BROKEN]))
    measures = [*_measure(tree, run, others, silent, {}, "without-comments")]
    if silent or planted:
        measures += _measure(tree, run, typing, silent, planted, "planted")
    for measure in measures:
        yield from _report_hidden(measure, {path: after for path, (_, after) in changes.items()}, spec)
        if measure.unseen:
            yield from _report_unseen(tree, base, run, measure)


def _checks_types(check: Check) -> bool:
    return check.role == "types" or bool(_TYPE_CHECKER.search(" ".join(check.argv)))


def _can_be_silenced(check: Check, result: Result) -> bool:
    """Return whether a comment can make it pass: tests cannot be told so, but what measures their coverage can."""
    is_own = check.role in ("lint", "build") or (check.source == CRITERION and not result.tests)
    return is_own or measures_coverage(check, result)


def _measure(
    tree: Tree,
    run: RunOnTree,
    checks: Sequence[Check],
    silent: Mapping[str, str],
    planted: Mapping[str, Planted],
    name: str,
) -> Iterator[_Measure]:
    if not checks:
        return
    texts = {**silent, **{path: made.text for path, made in planted.items()}}
    for check_name, result in run(tree.lay_over(texts), checks, name).items():
        check = next(each for each in checks if each.name == check_name)
        finding = result.finding
        if finding.status == "pass":
            missing = {path: tuple(made.functions.values()) for path, made in planted.items()}
            yield _Measure(check, (), missing)
            continue
        if finding.status != "fail":
            yield _Measure(check, summary=finding.summary, failed=True)
            continue
        located = [each for each in finding.problems if each.severity == "error"]
        seen = {(each.file, each.line) for each in located}
        unseen = {
            path: names
            for path, made in planted.items()
            if (names := tuple(n for line, n in made.functions.items() if (path, line) not in seen))
        }
        hidden = tuple(each for each in located if each.file not in planted or planted[each.file].find_line(each.line))
        yield _Measure(check, hidden, unseen if seen else {}, "" if located else finding.summary)


def _report_hidden(measure: _Measure, texts: Mapping[str, str], spec: str) -> Iterator[Concern]:
    if not measure.hidden and not measure.summary:
        return
    if measure.failed:
        what = f"What comments hide from {measure.check.title} could not be measured: {measure.summary}"
        yield Concern(RULE, "note", what, (), hash_change([RULE, what]))
        return
    open_ = [each for each in measure.hidden if not _is_allowed(each, texts, spec)]
    said = [f"{fold(p.file)}:{p.line} {fold(f'{p.rule} {p.message}'.strip(), 200)}" for p in open_ or measure.hidden]
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    named = "; ".join(said[:SHOWN]) + more or measure.summary
    what = f"Comments that the change adds hide from {measure.check.title}: {named}."
    key = hash_change([RULE, measure.check.name, measure.summary, *(f"{p.file} {p.rule} {p.message}" for p in open_)])
    paths = tuple(dict.fromkeys(each.file for each in measure.hidden))
    if open_ or measure.summary:
        yield Concern(RULE, "review", f"{what} Fix it, or let a person say that the checker is wrong.", paths, key)
    else:
        yield Concern(RULE, "note", what, paths, key)


def _is_allowed(problem: Problem, texts: Mapping[str, str], spec: str) -> bool:
    if problem.rule and re.search(rf"\b{re.escape(problem.rule)}\b", spec):
        return True
    source = parse(problem.file, texts.get(problem.file, ""))
    nodes = source.root.walk() if source else ()
    return any(n.kind in _IMPORTS and source and n.line <= problem.line <= source.last_line(n) for n in nodes)


def _report_unseen(tree: Tree, base: str, run: RunOnTree, measure: _Measure) -> Iterator[Concern]:
    """Yield a review for code that a checker does not see although it sees the base's code at that place."""
    at_base = Tree(tree.git, base, (), tree.part)
    beside = _read_beside(at_base, measure.unseen)
    planted = {other: plant_at_end(text) for other, text in beside.values()}
    if not planted:
        return
    there = at_base.lay_over({path: made.text for path, made in planted.items()})
    problems = run(there, [measure.check], "planted-base")[measure.check.name].finding.problems
    seen = {path for path, made in planted.items() for p in problems if p.file == path and p.line in made.functions}
    hidden = {path: measure.unseen[path] for path, (other, _) in beside.items() if other in seen}
    if hidden:
        functions = {path: ", ".join(dict.fromkeys(names[:SHOWN])) for path, names in [*hidden.items()][:SHOWN]}
        listed = "; ".join(f"{fold(path)} ({names})" for path, names in functions.items())
        what = f"{measure.check.title} does not check what the change adds in {listed}: it finds no wrong type there"
        key = hash_change([UNSEEN, measure.check.name, *(f"{path} {names}" for path, names in hidden.items())])
        yield Concern(UNSEEN, "review", f"{what}, and in the base's code it is.", tuple(hidden), key)


def _find_unlinted(tree: Tree, base: str, run: RunOnTree, check: Check, texts: Mapping[str, str]) -> Iterator[Concern]:
    """Yield a review for files whose broken syntax a linter does not see, although it does so in their neighbours."""

    def find_seen(where: Tree, files: Mapping[str, str], name: str) -> set[str] | None:
        """Return the files that are reported once these are broken; None if that does not tell."""
        there = where.lay_over({path: text + _BROKEN for path, text in files.items()})
        finding = run(there, [check], name)[check.name].finding
        seen = {problem.file for problem in finding.problems}
        return seen if finding.status == "pass" or (finding.status == "fail" and seen) else None

    seen = find_seen(tree, texts, "broken")
    rest = {path: text for path, text in texts.items() if seen is not None and path not in seen}
    if seen and rest:  # or does it stop at the first broken file?
        again = find_seen(tree, rest, "broken-rest")
        rest = {path: text for path, text in rest.items() if again is not None and path not in again}
    at_base = Tree(tree.git, base, (), tree.part)
    beside = _read_beside(at_base, rest) if rest else {}
    seen_at_base = (find_seen(at_base, dict(beside.values()), "broken-base") if beside else None) or set()
    if hidden := sorted(path for path, (other, _) in beside.items() if other in seen_at_base):
        what = f"{check.title} does not look at {', '.join(map(fold, hidden[:SHOWN]))}: it finds no broken syntax there"
        key = hash_change([UNSEEN, check.name, *hidden])
        yield Concern(UNSEEN, "review", f"{what}, and in the base's code it does.", tuple(hidden), key)


def _read_beside(at_base: Tree, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return by path the file that it is compared with in the base, and its text."""
    entries = objects.list_entries(at_base.git, at_base.name)
    beside = {path: other for path in paths if (other := _find_beside(path, entries))}
    blobs = objects.read_blobs(at_base.git, [entries[other].sha for other in beside.values()])
    return {path: (other, blobs[entries[other].sha].decode("utf-8", "replace")) for path, other in beside.items()}


def _find_beside(path: str, entries: Mapping[str, object]) -> str:
    """Return the file itself in the base, else one of its kind in the nearest folder that has any; "" if none has."""
    if path in entries:
        return path
    folder, ending = path.rpartition("/")[0], posixpath.splitext(path)[1]
    while True:
        inside = f"{folder}/" if folder else ""
        if found := [each for each in sorted(entries) if each.endswith(ending) and each.startswith(inside)]:
            return found[0]
        if not folder:
            return ""
        folder = folder.rpartition("/")[0]


def silence(path: str, text: str, base: str) -> str | None:
    """Return the text with other letters in the comments of lines that `base` lacks; None if it has none there.

    A comment stays one of the same length: its line is no longer, and what has to be documented is documented.
    """
    now, before = Counter(text.split("\n")), Counter(base.split("\n"))
    new = {number for number, line in enumerate(text.split("\n"), 1) if now[line] > before[line]}

    def is_new(start: int, end: int) -> bool:
        first = line_at(text, start)
        return not new.isdisjoint(range(first, first + text.count("\n", start, end) + 1))

    changes = [
        (start, end, re.sub(r"[A-Za-z0-9@]", "z", text[start:end]))
        for start, end in list_comments(text, path)
        if is_new(start, end) and not _KEPT.match(text, start)
    ]
    for match in _ATTRIBUTE.finditer(text) if path.endswith(".rs") else ():
        if is_new(*match.span()):
            changes.append((*match.span(2), "warn".ljust(len(match[2]))))
    silenced = text
    for start, end, said in sorted(changes, reverse=True):
        silenced = silenced[:start] + said + silenced[end:]
    return silenced if silenced != text else None
