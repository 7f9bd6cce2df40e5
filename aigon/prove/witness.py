"""The throwaway implementation that turns tests green, the trees in which it is laid over them, and mutants of it."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from aigon.files.atomic import write_atomic
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.job.bookkeeping import open_own_git
from aigon.profiles.protection import Protection
from aigon.prove.acceptance import BASE
from aigon.syntax import Edit, Node, Source, apply_edits, parse
from aigon.text.patterns import compile_re

FILE = "witness.json"
MOST = 24
"""Mutants in all; of more, they are taken evenly over the files."""
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===", "+": "-", "-": "+",
    "*": "+", "/": "*", "//": "*", "%": "*", "**": "*", "and": "or", "or": "and", "&&": "||", "||": "&&",
    "in": "not in",
}  # fmt: skip
_OPERATIONS = ("Compare", "BinOp", "BoolOp", "AugAssign")
"""Python's nodes with operators; the other grammars say which leaf is one."""
_BRANCHES = ("If", "IfExp", "While", "if_statement", "if_expression", "while_statement", "ternary_expression")
_WORDS = {"True": "False", "False": "True", "true": "false", "false": "true"}
_TEXT = compile_re(r"'[^'].*'|\"[^\"].*\"|''|\"\"")
_NOTHING = {"Return": "None", "return_statement": "null"}
"""What is returned instead of a value."""


class WitnessFile(Struct, frozen=True, array_like=True):
    """One file that an implementation changed: its mode and content, and what was there before; None for no file."""

    mode: str
    after: bytes | None
    before: bytes | None = None


class Witness(Struct, frozen=True):
    """The changes of an implementation, by path. `stamp` names the tests it was made for; `cost` is in US dollars."""

    files: Mapping[str, WitnessFile]
    stamp: str
    cost: float | None

    def lay_over(self, git: TrustedGit, tree: str, path: str = "", data: bytes = b"") -> str:
        """Return the name of the tree with this implementation, in which the file `path` holds `data`."""
        contents = {name: file.after for name, file in self.files.items()} | ({path: data} if path else {})
        entries = {
            name: None if content is None else (self.files[name].mode, objects.write_blob(git, content))
            for name, content in contents.items()
        }
        return objects.write_tree_with(git, tree, entries)

    def drop_tests(self, protection: Protection) -> "Witness":
        """Return the same without what a proof lays the base's version over: tests, and what configures them."""
        product = {
            path: file for path, file in self.files.items() if not protection.relaid(path, new=file.before is None)
        }
        return replace(self, files=product)

    def list_texts(self) -> dict[str, tuple[str, str]]:
        """Return its files as text, as they were and as it left them."""
        return {
            path: ((file.before or b"").decode("utf-8", "replace"), file.after.decode("utf-8", "replace"))
            for path, file in self.files.items()
            if file.after is not None
        }


def read_witness(built: Checkout, without: Sequence[str], stamp: str, cost: float | None) -> Witness:
    """Return what was built in a copy of the project, but for the folders in `without`."""
    git = open_own_git(built)
    before, after = (objects.list_entries(git, str(built.commit_of(name))) for name in (BASE, "HEAD"))
    paths = [
        path
        for path in {**before, **after}
        if before.get(path) != after.get(path) and not path.startswith(tuple(f"{folder}/" for folder in without))
    ]
    files = {path: [entry if entry and entry.is_file else None for entry in (before.get(path), after.get(path))]
             for path in paths}  # fmt: skip
    blobs = objects.read_blobs(git, [entry.sha for both in files.values() for entry in both if entry])
    return Witness(
        {
            path: WitnessFile(new.mode if new else "", blobs[new.sha] if new else None, blobs[old.sha] if old else None)
            for path, (old, new) in files.items()
        },
        stamp,
        cost,
    )


def save_witness(place: Path, witness: Witness) -> None:
    """Keep it for a resume, in aigon's records."""
    write_atomic(place / FILE, dump_with_sum(to_builtins(witness)))


def load_witness(place: Path) -> Witness | None:
    """Return the one that an earlier call made, or None. Raises AigonError (exit 7) if it is damaged."""
    try:
        return convert(load_with_sum((place / FILE).read_bytes()), Witness)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise damage_error("The record of a throwaway implementation", str(place / FILE)) from None


class Mutant(Struct, frozen=True):
    """One file with one place altered."""

    name: str
    path: str
    data: bytes


def list_mutants(files: Mapping[str, tuple[str, str]]) -> tuple[Mutant, ...]:
    """Return mutants of these files, each as it was and as the implementation left it."""
    found = [mutant for path, (before, after) in sorted(files.items()) for mutant in _alter_file(path, before, after)]
    step = max(1.0, len(found) / MOST)
    return tuple(found[int(number * step)] for number in range(min(MOST, len(found))))


def _alter_file(path: str, before: str, after: str) -> Iterator[Mutant]:
    source = parse(path, after)
    if source is None or source.errors:
        return
    added, seen = _find_added(before, after), set[Edit]()
    for edit, line in _list_edits(source, source.root, ""):
        if line in added and edit not in seen:
            seen.add(edit)
            data = apply_edits(source.data, [edit])
            shown = data.splitlines()[line - 1].decode("utf-8", "replace").strip()
            yield Mutant(f"{path}:{line}: {shown}", path, data)


def _find_added(before: str, after: str) -> frozenset[int]:
    """Return the numbers of the lines that are new."""
    lines = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    spans = (range(start + 1, end + 1) for tag, _, _, start, end in lines.get_opcodes() if tag in ("insert", "replace"))
    return frozenset(line for span in spans for line in span)


def _list_edits(source: Source, node: Node, parent: str) -> Iterator[tuple[Edit, int]]:
    """Yield other operators, conditions, numbers, texts and truths, and nothing in place of what is returned."""
    said = source.text(node) if not node.children else ""
    if parent == "Expr" and node.kind == "Constant":
        return  # a docstring
    if (node.field == "operator" or parent in _OPERATIONS) and said in _OPERATORS and node.kind == said:
        yield (node.start, node.end, _OPERATORS[said]), node.line
    elif said in _WORDS:
        yield (node.start, node.end, _WORDS[said]), node.line
    elif said.isdecimal():
        yield (node.start, node.end, str(int(said) + 1)), node.line
    elif node.kind in ("string_fragment", "string_content", "interpreted_string_literal_content"):
        yield (node.end, node.end, "_zq"), node.line
    elif node.kind == "Constant" and _TEXT.fullmatch(said):
        yield (node.end - 1, node.end - 1, "_zq"), node.line
    elif node.field in ("test", "condition") and parent in _BRANCHES:
        negation = "not " if source.language == "python" else "!"
        yield (node.start, node.end, f"({negation}({source.text(node)}))"), node.line
    elif other := _NOTHING.get(node.kind):
        value = next((c for c in node.children if c.kind not in ("return", ";", "comment")), None)
        if value and source.language != "go" and source.text(value) not in ("None", "null", "undefined"):
            yield (value.start, value.end, other), node.line
    for child in node.children:
        yield from _list_edits(source, child, node.kind)
