"""Files that decide besides tests and configuration: deciding commands read them on the base, and no product code does.

A golden file, a table of cases, an assertion helper, an oracle, a program that a command starts. Their base's versions
are laid over the tree, like those of tests.
"""

import json
import posixpath
import re
from collections.abc import Sequence
from functools import cached_property

from aigon.git import objects
from aigon.git.trusted import TrustedGit
from aigon.languages import extension, is_code
from aigon.observation import Observation
from aigon.profiles.protection import Protection, Rule
from aigon.proof.analysis import references
from aigon.proof.findings import FILES, Changed
from aigon.proof.inline_tests import list_test_modules
from aigon.text.patterns import compile_re

NAMED = "a test"
"""The reader of a file that no command was seen to read and that a test or a check names."""
MOST = 300
"""Files that are looked at to tell which of them decide, whether they changed or not."""
_COMPILED = frozenset(("go", "rs", "java", "kt", "kts", "cs", "swift", "scala", "dart", "groovy", "zig"))
"""Languages whose tests lie where everybody puts them: all other sources are the product's."""
_BY_MAIN = frozenset(("c", "cc", "cpp", "cxx", "m", "mm", "h", "hpp"))
"""Languages whose programs are compiled from a source with `main` that nothing includes."""
_MAIN = compile_re(r"\bmain\s*\(")
_CALL = r"\w+\s*\(\s*-?[\d\"'][^()\n]*\)"
_STATUS = r"(?:-?[01]\b|NULL\b|EOF\b|nullptr\b|true\b|false\b)"
_EXAMPLE = compile_re(
    rf"{_CALL}\s*[!=]=|[!=]=\s*{_CALL}|\w\s*\(\s*{_CALL}\s*,\s*-?[\d\"']|\w\s*\([^;{{}}\n]*\)\s*!=\s*(?!{_STATUS})\w"
)
"""A call that is set against what it should give: `add(2, 3) != 5`, `CHECK(add(2, 3), 5)`, `add(a, b) != c`."""
_SCRIPT = compile_re(r'"(?:\./)?([^"]+\.[cm]?js)"')
_MANIFESTS = ("package.json", "pyproject.toml", "go.mod")
_GO_MODULE = compile_re(r"(?m)^module\s+\"?([^\s\"]+)")
_GO_IMPORT = compile_re(r"(?m)^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([^\"\n]+)\"\s*$")
_ENTRIES = ("main", "bin", "module", "exports", "types", "browser")
"""Keys of package.json that name what others use."""


def find_inputs(
    git: TrustedGit, base: str, rows: Sequence[Changed], observed: Observation, protection: Protection
) -> dict[str, Rule]:
    """Return by path a rule on each input of deciding commands that a change touches and no other rule is about.

    It says which command reads the file.
    """
    open_ = [row for row in rows if protection.is_open(row.path)]
    if not open_:
        return {}
    sources = _BaseSources(git, base, observed, protection)
    readers = {row.path: sources.find_reader(row.path) if row.base else sources.find_lister(row.path) for row in open_}
    return {path: Rule((path,), "review", "tests", source=f"read by {who}") for path, who in readers.items() if who}


def list_inputs(
    git: TrustedGit, base: str, observed: Observation, protection: Protection
) -> dict[str, tuple[str, ...]]:
    """Return by command the inputs that it read on the base and that no rule is about, among at most MOST files."""
    open_ = [path for path in observed.list_readers() if protection.is_open(path)][:MOST]
    sources = _BaseSources(git, base, observed, protection) if open_ else None
    inputs = {path for path in open_ if sources and sources.find_reader(path)}
    read = {name: tuple(path for path in each.files if path in inputs) for name, each in observed.commands.items()}
    return {name: paths for name, paths in read.items() if paths}


def find_test_programs(
    git: TrustedGit, base: str, observed: Observation, protection: Protection, paths: Sequence[str]
) -> tuple[str, ...]:
    """Return those of these files of the base that are tests or decide as they do."""
    sources = _BaseSources(git, base, observed, protection)
    return tuple(path for path in paths if sources.is_test_program(path))


class _BaseSources:
    """The files of the base: what its sources refer to, and which of them decide."""

    def __init__(self, git: TrustedGit, base: str, observed: Observation, protection: Protection) -> None:
        self._protection, self._observed = protection, observed
        self._entries = entries = objects.list_entries(git, base)
        self._programs = {path for path, entry in entries.items() if entry.mode == "100755" or is_code(path)}
        ruled = [path for path in entries if (rule := protection.rule(path)) and rule.relaid]
        manifests = [path for path in entries if posixpath.basename(path) in _MANIFESTS]
        named = dict.fromkeys((*ruled, *manifests, *self._programs))
        wanted = [path for path in named if entries[path].mode.startswith("100")]
        blobs = objects.read_blobs(git, [entries[path].sha for path in wanted[:FILES]])
        texts = {path: blobs[entries[path].sha].decode("utf-8", "replace") for path in wanted[:FILES]}
        self._deciding = {path: texts[path] for path in ruled if path in texts}
        self._manifests = {path: texts[path] for path in manifests if path in texts}
        self._product = {path: text for path, text in texts.items() if path in self._programs and path not in ruled}
        self._decided: dict[str, bool] = {}
        # A command that reads no program judges what it reads: that is its subject.
        judged = {name for name, each in observed.commands.items() if not self._programs.isdisjoint(each.files)}
        readers = observed.list_readers().items()
        self._readers = {path: kept for path, names in readers if (kept := [name for name in names if name in judged])}

    def find_reader(self, path: str) -> str:
        """Return who reads this input; empty if it is the product's, or unread."""
        reader = next(iter(self._readers.get(path, ())), "")
        named = (references.mentions(text, path) for text in self._deciding.values())
        if not reader and (path in self._protection.compared or any(named)):
            reader = NAMED
        return reader if reader and self._is_input(path) else ""

    def find_lister(self, path: str) -> str:
        """Return who lists the folder of a new file among inputs; empty if none does."""
        folder = posixpath.dirname(path)
        lister = next((name for name, each in self._observed.commands.items() if folder in each.folders), "")
        if not lister or is_code(path):
            return ""
        beside = (p for p in self._entries if posixpath.dirname(p) == folder and self._protection.is_open(p))
        return lister if any(self.find_reader(each) for each in beside) else ""

    def is_test_program(self, path: str) -> bool:
        """Return whether a source is a test, or an input by itself."""
        return self._protection.part(path) == "tests" or self._is_input(path)

    def _is_input(self, path: str) -> bool:
        if path not in self._decided:
            self._decided[path] = False  # sources that import each other
            self._decided[path] = self._decide_program(path) if path in self._programs else self._decide_data(path)
        return self._decided[path]

    def _decide_data(self, path: str) -> bool:
        """Return whether data is not the product's: none of its sources names it, and it lies apart from them."""
        if any(references.mentions(text, path) and not self._is_input(each) for each, text in self._product.items()):
            return False
        above = _list_above(path)
        apart = not any(posixpath.dirname(each) in above and not self._is_input(each) for each in self._product)
        return apart or any(references.mentions(text, path) for text in self._deciding.values())

    def _decide_program(self, path: str) -> bool:
        """Return whether a program decides: no source of the product imports it, and it is not one of its entries."""
        text, end = self._product.get(path), extension(path)
        if end == "rs" and text is not None:
            # An example beside the sources, with a main that asserts, decides as a test does.
            is_program = "src" not in path.split("/") and _MAIN.search(text) and references.asserts(path, text)
            return bool(is_program) or posixpath.splitext(posixpath.basename(path))[0] in self._rust_tests
        if end == "go" and text is not None:
            return self._decide_in_go(posixpath.dirname(path))
        if text is None or end in _COMPILED or self._is_declared(path):
            return False
        importers = [each for each in (*self._product, *self._deciding) if each != path and self._imports(each, path)]
        testers = [each for each in importers if each in self._deciding or self._is_input(each)]
        if len(testers) < len(importers):
            return False
        if testers:
            return self._is_helper(path, testers) or self._is_companion(path, testers)
        if end in _BY_MAIN:
            return _MAIN.search(text) is not None and (
                references.asserts(path, text) or _EXAMPLE.search(text) is not None
            )
        tests = (each for each in self._deciding if self._protection.part(each) == "tests")
        if any(references.mentions(self._deciding[each], path) for each in tests):
            return False  # a test starts it: it is what is tested
        if references.asserts(path, text):
            return True
        refers = (
            references.mentions(text, each) or self._imports(path, each) or references.compares(text, each)
            for each in self._product
            if each != path
        )
        return any(refers) and not self._is_among_product(path)

    def _decide_in_go(self, folder: str) -> bool:
        """Return whether tests of other packages alone import a package, and it asserts or is an oracle of theirs."""
        sources = {path: text for path, text in {**self._product, **self._deciding}.items() if path.endswith(".go")}
        beside = [path for path in sources if posixpath.dirname(path) == folder]
        importers = [path for path in sources if path not in beside and folder in self._list_go_imports(path)]
        if not importers or not self._deciding.keys() >= set(importers):
            return False
        own = {posixpath.dirname(path) for path in sources if path in self._product}
        is_oracle = self._deciding.keys().isdisjoint(beside) and own >= set(map(posixpath.dirname, importers))
        return is_oracle or any('"testing"' in self._product.get(path, "") for path in beside)

    def _list_go_imports(self, path: str) -> set[str]:
        """Return the folders of the packages that a Go file imports, among those that the project holds."""
        found = set()
        for imported in _GO_IMPORT.findall(self._read(path)):
            module = max((m for m in self._go_modules if f"{imported}/".startswith(f"{m}/")), key=len, default="")
            place = posixpath.join(self._go_modules[module], imported[len(module) + 1 :]) if module else imported
            found |= {place.rstrip("/"), f"vendor/{imported}"}
        return found

    @cached_property
    def _go_modules(self) -> dict[str, str]:
        """The folders of Go's modules by the modules' paths."""
        named = ((_GO_MODULE.search(text), path) for path, text in self._manifests.items() if path.endswith("go.mod"))
        return {found[1]: posixpath.dirname(path) for found, path in named if found}

    def _is_helper(self, path: str, testers: Sequence[str]) -> bool:
        """Return whether it makes the assertions of tests that import it, and gives them no value that they look at."""
        uses = [found for each in testers if (found := references.find_uses(each, self._read(each), path))]
        above = any(self._imports(path, each) for each in self._product if each != path)
        if not uses:
            return above and references.asserts(path, self._read(path))
        if any(each.looks_at for each in uses):
            return False
        asked, handed = any(each.asks for each in uses), any(each.hands for each in uses)
        return handed or (above and asked) or (not asked and references.asserts(path, self._read(path)))

    def _is_companion(self, path: str, testers: Sequence[str]) -> bool:
        """Return whether it is an oracle: it lies apart, and no test uses it without something of the product."""
        if any(self._imports(path, each) for each in self._product if each != path):
            return False
        others = [each for each in self._product if _find_top(each) != _find_top(path)]

        def is_established(other: str) -> bool:
            others = (each for each in (*self._deciding, *self._product) if each not in testers and each != other)
            return self._is_declared(other) or any(self._imports(each, other) for each in others)

        return all(any(self._imports(test, each) and is_established(each) for each in others) for test in testers)

    def _imports(self, path: str, target: str) -> bool:
        return references.imports(path, self._read(path), target)

    def _read(self, path: str) -> str:
        return self._product.get(path) or self._deciding.get(path, "")

    def _is_among_product(self, path: str) -> bool:
        """Return whether it lies in a folder whose sources others of the product import."""
        folder = posixpath.dirname(path)
        beside = (each for each in self._product if each != path and posixpath.dirname(each) == folder)
        return bool(folder) and any(
            self._imports(other, each) for each in beside for other in self._product if other not in (each, path)
        )

    def _is_declared(self, path: str) -> bool:
        """Return whether a manifest names it, or what it belongs to, as something that others use."""
        stem = posixpath.splitext(path.removeprefix("src/"))[0]
        dotted = stem.removesuffix("/__init__").replace("/", ".")
        named = any(re.search(rf"(?<![\w.]){re.escape(dotted)}(?![\w.])", text) for text in self._declarations)
        # A file of types is declared with what it describes; without a word of package.json, its index is the entry.
        typed = path.replace(".d.ts", ".js")
        exact = any(f'"{each}"' in text for text in self._declarations for each in (typed, f"./{typed}", path))
        return named or exact or _cut_ends(path) in self._built

    @cached_property
    def _built(self) -> frozenset[str]:
        """The scripts that package.json names and git does not hold, without their top folder: `cli` of dist/cli.js."""
        named = (path for text in self._declarations for path in _SCRIPT.findall(text))
        return frozenset(_cut_ends(path) for path in named if "/" in path and path not in self._entries)

    @cached_property
    def _rust_tests(self) -> frozenset[str]:
        return list_test_modules([text for path, text in self._product.items() if path.endswith(".rs")])

    @cached_property
    def _declarations(self) -> tuple[str, ...]:
        found = []
        for path, text in self._manifests.items():
            try:
                if posixpath.basename(path) == "package.json":
                    document = json.loads(text)
                    entries = {key: document[key] for key in _ENTRIES if key in document}
                    found.append(json.dumps(entries if {"main", "exports"} & entries.keys() else [entries, "index.js"]))
                elif posixpath.basename(path) == "pyproject.toml":
                    import tomllib

                    project = tomllib.loads(text).get("project", {})
                    keys = ("name", "scripts", "gui-scripts", "entry-points")
                    found.append(json.dumps({key: project.get(key) for key in keys}))
            except (ValueError, AttributeError):
                continue
        return tuple(found)


def _cut_ends(path: str) -> str:
    """Return a path without its top folder and its extension."""
    return posixpath.splitext(path.partition("/")[2])[0]


def _list_above(path: str) -> set[str]:
    """Return the folders that a file lies in, without the root."""
    parts = posixpath.dirname(path).split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)} - {""}


def _find_top(path: str) -> str:
    return posixpath.splitext(path.removeprefix("src/").removeprefix("lib/").partition("/")[0])[0]
