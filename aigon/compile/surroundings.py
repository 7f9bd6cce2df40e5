"""What a project has, looked up on disk for the rules that propose: files, tests, modules, programs. Nothing is run."""

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence

from aigon.checks.coverage_command import coverage
from aigon.checks.execution import render_command
from aigon.checks.manifests import node_runner
from aigon.compile.own_programs import entries
from aigon.compile.proposals import Surroundings
from aigon.model.checks import Check, Project

_TEST_FILE = re.compile(
    r"(?:^|/)(?:test_[^/]*\.py|[^/]*_test\.py|[^/]*[._-](?:test|spec)\.[mc]?[jt]sx?|[^/]*_test\.go)$|/__tests__/[^/]*\.[mc]?[jt]sx?$"
)
_MODULE = re.compile(r"(?P<src>src/)?(?P<path>(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*)\.py")
_NO_MODULES = re.compile(
    r"(?:^|/)(?:tests?|docs|examples|scripts|benchmarks|setup|conftest|noxfile|test_\w+|\w+_test)(?:[/.]|$)"
)
_DEFINED = re.compile(rb"(?m)^(?:async )?(?:def|class) (\w+)")
MOST = 400
"""Files of one sort that are read: more would take longer than a person waits."""
_LARGEST = 300_000
"""Characters of a test file that are searched."""


def surroundings(project: Project, checks: Sequence[Check], path: str, texts: Iterable[str]) -> Surroundings:
    """What `project` has; `path` is the PATH that its commands will get, `texts` those of the criteria."""
    # Specs and their logs hold the words of the criteria, and prove none of them.
    files = [file for file in project.glob("**") if not file.startswith("docs/specs/")]
    python = next((name for name in ("python", "python3") if shutil.which(name, path=path)), "")
    modules = _modules(files)
    tests = {name: _text(project, name) for name in [f for f in files if _TEST_FILE.search(f)][:MOST]}
    runners = _runners(project, checks, tests, python)
    return Surroundings(
        checks={check.name: check.role for check in checks},
        shown={check.name: render_command(check) for check in checks},
        files=tuple(files),
        tests=tests,
        runners=runners,
        modules=modules,
        functions=_functions(project, files),
        entries=entries(project, modules, python),
        programs=frozenset(word for word in _first_words(texts) if shutil.which(word, path=path)),
        python=python,
        coverage=coverage(project, python, modules, runners),
    )


def _text(project: Project, path: str) -> str:
    return (project.read(path) or b"")[:_LARGEST].decode("utf-8", "replace")


def _modules(files: Sequence[str]) -> dict[str, str]:
    """The importable modules, and what stands before a command that imports them."""
    found: dict[str, str] = {}
    for file in files:
        if (match := _MODULE.fullmatch(file)) and not _NO_MODULES.search(match["path"]):
            name = match["path"].removesuffix("/__init__").replace("/", ".")
            found.setdefault(name, "PYTHONPATH=src " if match["src"] else "")
            for parent in _parents(name):  # a folder without __init__.py can be imported too
                found.setdefault(parent, found[name])
    return {name: before for name, before in found.items() if not name.endswith("__main__")}


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def _functions(project: Project, files: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """In which modules each top-level function and class is defined."""
    found: dict[str, tuple[str, ...]] = {}
    for file in [f for f in files if f.endswith(".py")][:MOST]:
        match = _MODULE.fullmatch(file)
        if match and not _NO_MODULES.search(match["path"]):
            module = match["path"].removesuffix("/__init__").replace("/", ".")
            for name in _DEFINED.findall(project.read(file) or b""):
                found[name.decode()] = (*found.get(name.decode(), ()), module)
    return found


def _runners(project: Project, checks: Sequence[Check], tests: Mapping[str, str], python: str) -> dict[str, str]:
    """The command that runs each test file by itself; none for those of a kind that nothing is known to run."""
    by_pytest = any(c.parser == "pytest" for c in checks) or (
        any(t.endswith(".py") for t in tests) and project.module("pytest")
    )
    node = node_runner(project)
    found: dict[str, str] = {}
    for path, text in tests.items():
        quoted = shlex.quote(path)
        if path.endswith(".py") and python:
            by_unittest = not by_pytest and re.search(r"(?m)^\s*(?:import|from) unittest\b", text)
            runner = "pytest" if by_pytest else "unittest" if by_unittest else ""
            found |= {path: f"{python} -m {runner} {quoted}"} if runner else {}
        elif path.endswith(".go"):
            found[path] = f"go test ./{shlex.quote(path.rpartition('/')[0])}"
        elif re.search(r"\.[mc]?[jt]sx?$", path) and (run := _of_node(node, text)):
            found[path] = f"{run} {quoted}"
    return found


def _of_node(runner: str, text: str) -> str:
    if re.search(r"""['"]node:test['"]""", text):
        return "node --test"
    return f"npx --no-install {runner}{' run' if runner == 'vitest' else ''}" if runner else ""


def _first_words(texts: Iterable[str]) -> set[str]:
    spans = (span for text in texts for span in re.findall(r"`([^`]+)`|(\S+ --?h\w*)", text))
    words = (part.split()[0] for span in spans for part in span if part.strip())
    return {word for word in words if re.fullmatch(r"[\w.+-]+", word)}
