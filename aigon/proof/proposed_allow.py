"""Propose what a spec should allow by its own words: files that decide and that it asks to change. Before any turn.

Nothing is allowed by itself: a person adds the line to the frontmatter. Read are the sentences outside of code blocks
and comments. Of texts in quotes those count that go (`instead of "A"`, "`a` is renamed"), of files and package scripts
any sentence that says that they change.

And names that its words give to something that is there: "`calc.add` is renamed to `calc.plus`". Where the base's tests
fail, aigon itself writes the new name into them, in code and never in a text. The author of the spec chose the names,
and no agent, so what passes then needs no person.
"""

import builtins
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.checks.wording import Wording, read_wording
from aigon.languages import bare, is_code, words
from aigon.model.criteria import Spec
from aigon.proof.analysis.sightings import find_pattern, list_patterns
from aigon.spec import markdown
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

if TYPE_CHECKING:  # a spec without such words needs no rules
    from aigon.profiles.protection import Protection

_MOST_FILES, _MOST_BYTES = 3000, 16_000_000
"""Files, and bytes of them, that are searched for a text; tests come first."""
_MOST_HOLDERS = 20
"""Files that may hold a text. One that more hold is a part of the language that the tests are written in."""
_SHORTEST = 3
"""Characters of a text that is searched for."""
_RULE = "proposed-allow"
_COMMENT = compile_re(r"<!--.*?-->", re.DOTALL)
_SENTENCE = compile_re(r"[.;!?](?:\s+|$)")
_MARK = compile_re(r"§\d+")
_FILE = compile_re(r"(?!\.\./)[\w.-]+(?:/[\w-][\w.-]*)+\.\w+")


def _find(name: str) -> re.Pattern[str]:
    return find_pattern(_RULE, name)


class AllowProposal(Struct, frozen=True):
    """A file or folder that the spec should allow, and why."""

    path: str
    why: str


class _Sentence(Struct, frozen=True):
    """A sentence of a spec: its line, and its words with `§N` for the Nth of `literals`."""

    line: int
    words: str
    literals: Mapping[str, str]

    def list_paths(self) -> Iterator[str]:
        """Yield the quoted texts that are paths of files."""
        yield from (text for mark in _MARK.findall(self.words) if _FILE.fullmatch(text := self.literals[mark]))

    def list_old(self) -> Iterator[str]:
        """Yield the quoted texts that the sentence says will go."""
        if "§" not in self.words:
            return
        old = (match["old"] for pattern in list_patterns(_RULE, "old") for match in pattern.finditer(self.words))
        marks = (mark for listed in old for mark in _MARK.findall(listed))
        yield from (self.literals[mark] for mark in dict.fromkeys(marks))


def propose_allow(
    spec: Spec, protection: "Protection", root: Path, list_tracked: Callable[[], Sequence[str]]
) -> tuple[AllowProposal, ...]:
    """Return what the words of the spec ask to change of what decides, among the tracked files; nothing twice."""
    sentences = list_changing_sentences(spec)
    if not sentences:
        return ()
    tracked = list_tracked()
    deciding = [path for path in tracked if any(rule.level != "note" for rule in protection.rules_of(path))]
    tests = [path for path in deciding if protection.part(path) == "tests"]
    data = [path for path in tracked if protection.is_open(path) and protection.part(path) == "other"]
    found: dict[str, str] = {}
    for sentence in sentences:
        about = f"line {sentence.line} of the spec"
        named = list(_list_named(sentence, [*deciding, *data], tests))
        found |= {path: f"{about} names it" for path in named if path not in found}
        if named and not set(named) <= set(tests):  # what it says of settings is about what they name, too
            found |= {
                path: f"{about} names it with {named[0]}" for path in sentence.list_paths() if path not in tracked
            }
        for command in _list_scripts(sentence, protection, deciding):
            found.setdefault(command[0], f"{about} names {code_span(command[1])}, which it defines")
    wanted = {text: sentence.line for sentence in sentences for text in sentence.list_old() if len(text) >= _SHORTEST}
    for text, holders in _find_holders(wanted, root, [*tests, *data], read_renames(spec)).items():
        for path in holders:
            why = f"line {wanted[text]} of the spec replaces {code_span(fold(text, 80))}, which it holds"
            found.setdefault(path, why)
    if free := found.keys() & set(data):  # data is only a test's if a test or a command names it
        from aigon.proof.analysis.references import mentions

        readers = [*_read_files(root, tests).values(), *(c.command or "" for c in spec.criteria)]
        found = {p: why for p, why in found.items() if p not in free or any(mentions(text, p) for text in readers)}
    return tuple(AllowProposal(path, why) for path, why in sorted(found.items()))


def list_changing_sentences(spec: Spec) -> list[_Sentence]:
    """Return the sentences that ask for a change of something that is there: without any, nothing is proposed."""
    changing = (each for each in _list_sentences(spec) if _find("changes").search(each.words) or any(each.list_old()))
    return [each for each in changing if not _find("stays").search(each.words)]


def describe_proposals(proposals: Sequence[AllowProposal], spec_path: str) -> list[str]:
    """Return the line to add, then the reasons; nothing if nothing is proposed."""
    if not proposals:
        return []
    line = f"allow: [{', '.join(proposal.path for proposal in proposals)}]"
    return [
        f"The spec asks to change what decides. Unless the frontmatter of {spec_path} allows it, a person is asked:",
        f"  {line}",
        *(f"  ({proposal.path}: {proposal.why})" for proposal in proposals),
    ]


def _list_sentences(spec: Spec) -> Iterator[_Sentence]:
    for token in markdown.parse_page(spec.raw).tokens:
        if token.type != "inline":
            continue
        wording: Wording = read_wording(" ".join(_COMMENT.sub("", token.content).split()))
        literals = {f"§{number}": literal for number, literal in enumerate(wording.literals)}
        for clause in _SENTENCE.split(wording.skeleton):
            yield _Sentence(markdown.line_of(token), clause, literals)


def _list_named(sentence: _Sentence, files: Sequence[str], tests: Sequence[str]) -> Iterator[str]:
    """Yield the files, and folders of tests, that a sentence names as what changes."""
    named = [
        *_find("path").findall(sentence.words),
        *(sentence.literals[mark] for mark in _MARK.findall(sentence.words)),
    ]
    for name in (each.strip().removeprefix("./").rstrip(".").casefold() for each in named):
        below = name.rstrip("/")
        for path in files:
            known = path.casefold()
            changes = "changes_tests" if path in tests else "changes"
            if not _find(changes).search(sentence.words):
                continue
            if known == below or ("/" in below and known.endswith(f"/{below}")):
                yield path
            elif "/" in name and path in tests and known.startswith(f"{below}/"):
                yield path[: len(below)]


def _list_scripts(sentence: _Sentence, protection: "Protection", deciding: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each package.json and the command by which a sentence names a script of it that checks run."""
    marks = _MARK.findall(sentence.words) if _find("changes").search(sentence.words) else ()
    for literal in (sentence.literals[mark] for mark in marks):
        if script := _find("package_script").fullmatch(literal):
            for path in deciding:
                keys = (key for rule in protection.rules_of(path) if rule.level == "restore" for key in rule.keys)
                if f"scripts.{script[1]}" in keys:
                    yield path, literal


def _find_holders(
    texts: Mapping[str, int], root: Path, files: Sequence[str], renames: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return by text the files that hold it as a word of its own, if they are not many; not where tests follow it."""
    patterns = {text: re.compile(rf"(?<!\w){re.escape(text.removesuffix('()'))}(?!\w)") for text in texts}
    contents = _read_files(root, files) if patterns else {}
    contents = {path: follow_renames(renames, path, each) for path, each in contents.items()}
    held = {text: [p for p, each in contents.items() if pattern.search(each)] for text, pattern in patterns.items()}
    return {text: paths for text, paths in held.items() if len(paths) <= _MOST_HOLDERS}


def _read_files(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return what these files hold, as many as may be read."""
    contents: dict[str, str] = {}
    left = _MOST_BYTES
    for path in paths[:_MOST_FILES]:
        with suppress(OSError):
            contents[path] = (root / path).read_bytes()[:left].decode(errors="replace")
            left -= len(contents[path])
    return contents


_MARKUP = compile_re(r"[`*\"“”]|\(\)")
_COMMON = {*keyword.kwlist, *dir(builtins), *words("true false null undefined nil this void string number boolean")}
"""Names of the languages themselves: `str -> bytes` is about types."""


def read_renames(spec: Spec) -> dict[str, str]:
    """Return the new name by the old one, each without what it belongs to; nothing that has two new names."""
    found: dict[str, set[str]] = {}
    for token in markdown.parse_page(spec.raw).tokens:
        text = " ".join(_MARKUP.sub("", _COMMENT.sub("", token.content)).split()) if token.type == "inline" else ""
        for pattern in list_patterns("renames", "says") if text else ():
            for match in pattern.finditer(text):
                (owner, _, old), (new_owner, _, new) = (match[name].rpartition(".") for name in ("old", "new"))
                if old != new and new_owner in ("", owner) and not {old, new} & _COMMON:
                    old, new = (new, old) if token.content.count('Revert "') % 2 else (old, new)  # as git says it
                    found.setdefault(old, set()).add(new)
    return {old: new.pop() for old, new in found.items() if len(new) == 1}


def choose_made(renames: Mapping[str, str], product: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return those that a change makes: its code has the old name less often than before, and the new one more."""
    counts = [_count_names(path, *both) for path, both in product.items() if is_code(path)] if renames else []

    def grew(name: str) -> int:
        return sum(after.count(name) - before.count(name) for before, after in counts)

    return {old: new for old, new in renames.items() if grew(old) < 0 < grew(new)}


def _count_names(path: str, before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = (re.findall(r"\w+", bare(text, path)) for text in (before, after))
    return old, new


def follow_renames(renames: Mapping[str, str], path: str, text: str) -> str:
    """Return the text with the new names in its code, as it is if it is none."""
    if not renames or not is_code(path):
        return text
    names = compile_re(rf"(?<![\w$])(?:{'|'.join(map(re.escape, renames))})(?![\w$])")
    end, parts = 0, []
    for match in names.finditer(bare(text, path)):
        parts += [text[end : match.start()], renames[match[0]]]
        end = match.end()
    return "".join([*parts, text[end:]])
