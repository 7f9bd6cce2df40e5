"""Look up on disk what a project has, for proposals: files, modules, programs. Nothing is run."""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence

from aigon.checks.execution import render_command
from aigon.compile.proposals import Surroundings
from aigon.config.loading import open_work_tree
from aigon.git.person import Checkout
from aigon.model.checks import Check, ProjectReader
from aigon.text.patterns import compile_re

_MODULE = compile_re(r"(?P<src>src/)?(?P<path>(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*)\.py")
_NOT_OWN = compile_re(
    r"(?:^|/)(?:tests?|docs|examples|scripts|benchmarks|setup|conftest|noxfile|test_\w+|\w+_test)(?:[/.]|$)"
)
_MOST_WORDS, _MOST_RELATED, _LONGEST_EXCERPT = 20, 5, 3_000


def look_around(project: ProjectReader, checks: Sequence[Check], path: str, texts: Iterable[str]) -> Surroundings:
    """Return what `project` has; `path` is the PATH that its commands will get, `texts` those of the criteria."""
    # Specs and their logs hold the words of the criteria, and prove none of them.
    files = [file for file in project.glob("**") if not file.startswith("docs/specs/")]
    python = next((name for name in ("python", "python3") if shutil.which(name, path=path)), "")
    modules = {match["path"]: match["src"] or "" for file in files if (match := _MODULE.fullmatch(file))}
    own = {name: src for name, src in modules.items() if not _NOT_OWN.search(name)}
    spans = (part for text in texts for found in re.findall(r"`([^`]+)`|(\S+ --?h\w*)", text) for part in found)
    words = {span.split()[0] for span in spans if span.strip()}
    return Surroundings(
        checks={check.name: check.role for check in checks},
        shown={check.name: render_command(check) for check in checks},
        files=tuple(files),
        entries={**(_find_python_entries(project, own, python) if python else {}), **_find_node_entries(project)},
        programs=frozenset(w for w in words if re.fullmatch(r"[\w.+-]+", w) and shutil.which(w, path=path)),
        python=python,
    )


def _find_python_entries(project: ProjectReader, own: dict[str, str], python: str) -> dict[str, str]:
    """Return the command line that starts each of the project's Python programs without installing it, by name."""

    def start(path: str, src: str) -> str:
        return f"{'PYTHONPATH=src ' if src else ''}{python} -m {path.replace('/', '.')}"

    packages = {path.removesuffix("/__main__"): src for path, src in own.items() if path.endswith("/__main__")}
    entries = {path.replace("/", "."): start(path, src) for path, src in packages.items()}
    try:
        document = tomllib.loads((project.read("pyproject.toml") or b"").decode("utf-8", "replace"))
        scripts = dict(document.get("project", {}).get("scripts", {}))
    except (ValueError, TypeError, AttributeError, RecursionError):
        scripts = {}
    for name, target in scripts.items():
        path = str(target).partition(":")[0].replace(".", "/")
        top = path.partition("/")[0]
        src = next((own[each] for each in own if each.partition("/")[0] == top), None)
        if src is not None:
            entries[name] = entries.get(top) or start(path, src)
    return entries


def _find_node_entries(project: ProjectReader) -> dict[str, str]:
    try:
        package = json.loads(project.read("package.json") or b"{}")
        named = package.get("bin") or {}
        bins = {package.get("name"): named} if isinstance(named, str) else dict(named)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {str(name): f"node {shlex.quote(str(path).removeprefix('./'))}" for name, path in bins.items() if name}


def find_related_files(checkout: Checkout, text: str) -> Mapping[str, str]:
    """Return the beginning of the tracked files that share most words with a text, the rarer words before others."""
    weights: dict[str, float] = {}
    for word in [*dict.fromkeys(re.findall(r"[^\W\d_]{4,}", text.casefold()))][:_MOST_WORDS]:
        stem = word.removesuffix("s")
        found = checkout.ask("grep", "-I", "-i", "-l", "-z", "-F", "-e", stem, "--", ":/", ":(top,exclude)docs/specs")
        paths = [path for path in (found or "").split("\0") if path]
        for path in paths:
            weights[path] = weights.get(path, 0) + (2 if stem in path.casefold() else 1) / len(paths)
    read, excerpts = open_work_tree(checkout.root), {}
    for path in sorted(weights, key=lambda path: (-weights[path], path))[:_MOST_RELATED]:
        excerpts[path] = (read(path) or b"").decode("utf-8", "replace")[:_LONGEST_EXCERPT]
    return excerpts
