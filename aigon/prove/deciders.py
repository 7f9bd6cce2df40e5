"""Read how the agent that writes tests decides each criterion: one line each in a file next to its tests."""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import AigonError
from aigon.model.criteria import COMMAND_KINDS, Criterion, Spec
from aigon.proof.vacuity import absent_files, can_fail
from aigon.spec.annotation import HtmlComment, find_script, parse_annotation
from aigon.spec.document import can_annotate
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

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
