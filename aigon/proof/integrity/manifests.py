"""Read package manifests: dependencies, and programs that run when a package is installed or built.

Dependencies are a `note`, as features need libraries and upgrades are ordinary work. `review` if a tool that decides (a
test runner, a linter, a type checker) is taken from a file, a folder or an address instead of its registry, or under
another name, and if the registry itself changes: then what is called pytest need not be pytest.

Scripts are a `review`: features hardly ever need one, they run on other people's machines and in the proof, and can
change anything that is installed with them. Setting up git hooks with husky and its like is ordinary and a `note`, as
are build hooks that only work out a version.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.sightings import find_pattern, list_words, report_file
from aigon.text.quoting import code_span, fold

RULE = "manifests"
DEPENDENCIES, SCRIPTS = "dependencies", "install-scripts"
Wants = dict[str, str]
"""By name: what is wanted of it, as written."""

_TOOLS = find_pattern(DEPENDENCIES, "tool", re.IGNORECASE)
_ELSEWHERE, _REGISTRY = find_pattern(DEPENDENCIES, "elsewhere"), find_pattern(DEPENDENCIES, "registry")
_ORDINARY = find_pattern(SCRIPTS, "ordinary")
_LISTS, _RUNS = find_pattern(RULE, "lists"), find_pattern(RULE, "runs")
_END_OF_NAME = find_pattern(RULE, "end_of_name")
_AT_INSTALL = list_words(RULE, "at_install")
_NODE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions")
_BUILD_HOOKS = (("hatch", "build", "hooks"), ("setuptools", "cmdclass"), ("poetry", "build"))
_WHY = "That runs before any check. Let the code do its work when it is used, or let a person look at this."


def look(edits: Edits) -> Iterator[Concern]:
    """Report what manifests ask for and did not."""
    yield from _find_dependencies(edits)
    yield from _find_scripts(edits)


def _find_dependencies(edits: Edits) -> Iterator[Concern]:
    """Report each manifest that asks for something else."""
    for edit in edits.files:
        before, after = _read_dependencies(edit.path, edit.before), _read_dependencies(edit.path, edit.after)
        if before == after:
            continue
        new = [name for name in after if after[name] != before.get(name)]
        gone = [name for name in before if name not in after]
        strange = [after[name] for name in new if _is_strange(name, after[name])]
        parts = [f"wants {', '.join(new[:12])}"] if new else []
        parts += [f"no longer wants {', '.join(gone[:12])}"] if gone else []
        why = "See that the feature needs it and that it is what its name says."
        if strange:
            why = f"What decides would come from elsewhere: {fold(', '.join(strange), 200)}. Take it from the registry."
        what = fold(f"{fold(edit.path)} {' and '.join(parts)}.", 500)
        yield report_file(DEPENDENCIES, "review" if strange else "note", f"{what} {why}", edit)


def _find_scripts(edits: Edits) -> Iterator[Concern]:
    """Report each manifest that brings or changes one."""
    for edit in edits.files:
        before, after = _read_scripts(edit.path, edit.before), _read_scripts(edit.path, edit.after)
        if new := {name: command for name, command in after.items() if command != before.get(name)}:
            is_ordinary = all(map(_ORDINARY.fullmatch, new.values()))
            shown = ", ".join(f"{fold(name, 60)}: {code_span(command, 80)}" for name, command in list(new.items())[:5])
            what = f"{fold(edit.path)} runs something when the package is installed or built: {shown}. {_WHY}"
            yield report_file(SCRIPTS, "note" if is_ordinary else "review", what, edit)


def _is_strange(name: str, wanted: str) -> bool:
    if _REGISTRY.search(wanted):
        return True
    local = posixpath.basename(wanted).startswith("fake") or _ELSEWHERE.search(wanted) is not None
    return local and _TOOLS.match(name.removeprefix("./")) is not None


def _read_dependencies(path: str, text: str | None) -> Wants:
    """Return what a manifest asks for; of one that is not understood, its lines."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        document = _load(json.loads, text.removeprefix("\ufeff"))
        return {n: str(v) for group in _NODE for n, v in _dig(document, group).items()}
    if name in ("pyproject.toml", "Cargo.toml"):
        return dict(_list_toml(_load_toml(text)))
    if not _LISTS.search(path):
        return {}
    lines = [line.strip() for line in text.split("\n")[:5000]]
    if name in ("setup.py", "setup.cfg", "pom.xml"):
        lines = [line for line in lines if re.search(r"requires|[<>=~]=|<version>|<artifactId>", line)]
    entries = (line for line in lines if line and not line.startswith(("#", "//")))
    return {_END_OF_NAME.split(line, maxsplit=1)[0]: line for line in entries}


def _read_scripts(path: str, text: str | None) -> Wants:
    """Return what runs when the package is installed or built, by name."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        own = _dig(_load(json.loads, text.removeprefix("\ufeff")), "scripts")
        return {name: str(command) for name, command in own.items() if name in _AT_INSTALL}
    if name == "pyproject.toml":
        return dict(_list_build_hooks(_load_toml(text)))
    if name == "setup.py":
        lines = (line.strip() for line in _RUNS.findall(text))
        return {line: line for line in lines if not line.startswith("#")}
    return {path: text} if name in ("build.rs", "binding.gyp", "hatch_build.py", "build_hooks.py") else {}


def _list_toml(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    lists = [
        _dig(document, "project").get("dependencies"),
        *_dig(document, "project", "optional-dependencies").values(),
    ]
    lists += [*_dig(document, "dependency-groups").values(), _dig(document, "build-system").get("requires")]
    for each in (item for group in lists if isinstance(group, list) for item in group):
        yield _END_OF_NAME.split(str(each), maxsplit=1)[0], str(each)
    poetry = _dig(document, "tool", "poetry")
    tables = [_dig(document, key) for key in ("dependencies", "dev-dependencies", "build-dependencies", "patch")]
    tables += [_dig(poetry, "dependencies"), _dig(poetry, "dev-dependencies"), _dig(document, "tool", "uv", "sources")]
    tables += [_dig(poetry, "group", group, "dependencies") for group in _dig(poetry, "group")]
    for table in tables:
        yield from ((name, f"{name} {json.dumps(value, default=str)}") for name, value in table.items())


def _list_build_hooks(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    system = _dig(document, "build-system")
    if "backend-path" in system:
        yield "build-system.backend-path", str(system["backend-path"])
    for *above, last in _BUILD_HOOKS:
        value = _dig(document, "tool", *above).get(last)
        if isinstance(value, dict) and not set(value) <= {"vcs", "version"}:
            yield f"tool.{'.'.join([*above, last])}", json.dumps(value, default=str)


def _dig(document: Any, *keys: str) -> Mapping[str, Any]:
    """Return the table under these keys, or an empty one."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _load_toml(text: str) -> Mapping[str, Any]:
    import tomllib  # a run whose agent changes no such file does without

    return _load(tomllib.loads, text.replace("\r\n", "\n"))


def _load(parse: Any, text: str) -> Mapping[str, Any]:
    try:
        return _dig(parse(text))
    except (ValueError, RecursionError):
        return {}
