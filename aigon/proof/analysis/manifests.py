"""What package manifests say: dependencies, and programs that run when a package is installed or built."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from aigon.text.patterns import compile_re

Wants = dict[str, str]
"""By name: what is wanted of it, as written."""

_NODE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions")
_AT_INSTALL = [
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "preprepare",
    "postprepare",
    "prepublish",
    "dependencies",
]
_BUILD_HOOKS = (("hatch", "build", "hooks"), ("setuptools", "cmdclass"), ("poetry", "build"))
_LOCKS = compile_re(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.lock"
    r"|uv\.lock|poetry\.lock|pdm\.lock|Pipfile\.lock|pylock\.toml|Cargo\.lock|go\.sum|Gemfile\.lock|composer\.lock"
    r"|packages\.lock\.json|Package\.resolved|mix\.lock|flake\.lock|pubspec\.lock|gradle\.lockfile|Podfile\.lock)$"
)
_LISTS = compile_re(
    r"(^|/)(requirements[\w.-]*\.(txt|in)|constraints[\w.-]*\.txt|Pipfile|environment\.ya?ml"
    r"|setup\.cfg|setup\.py|go\.mod|Gemfile|[\w.-]+\.gemspec|composer\.json|pom\.xml|build\.gradle(\.kts)?"
    r"|pubspec\.yaml|mix\.exs|Package\.swift|[\w.-]+\.csproj|Directory\.Packages\.props|deno\.jsonc?|\.npmrc"
    r"|\.yarnrc(\.yml)?|pip\.conf|uv\.toml)$|(^|/)requirements/[^/]+\.txt$"
)
_RUNS = compile_re(r"[^\n]*\b(?:cmdclass|subprocess|os\.system|os\.popen|urllib|urlopen|exec|eval|__import__)\b[^\n]*")
_END_OF_NAME = compile_re(r"[\s=<>~!@;\[]")


def is_lock(path: str) -> bool:
    """Whether a tool writes it to pin what was resolved."""
    return _LOCKS.search(path) is not None


def read_dependencies(path: str, text: str | None) -> Wants:
    """Return what a manifest asks for; of one that is not understood, its lines."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        document = _load(json.loads, text.removeprefix("\ufeff"))
        return {n: str(v) for group in _NODE for n, v in _dig(document, group).items()}
    if name in ("pyproject.toml", "Cargo.toml"):
        return dict(_list_toml(_load(tomllib.loads, text.replace("\r\n", "\n"))))
    if not _LISTS.search(path):
        return {}
    lines = [line.strip() for line in text.split("\n")[:5000]]
    if name in ("setup.py", "setup.cfg", "pom.xml"):
        lines = [line for line in lines if re.search(r"requires|[<>=~]=|<version>|<artifactId>", line)]
    entries = (line for line in lines if line and not line.startswith(("#", "//")))
    return {_END_OF_NAME.split(line, maxsplit=1)[0]: line for line in entries}


def read_scripts(path: str, text: str | None) -> Wants:
    """Return what runs when the package is installed or built, by name."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        own = _dig(_load(json.loads, text.removeprefix("\ufeff")), "scripts")
        return {name: str(command) for name, command in own.items() if name in _AT_INSTALL}
    if name == "pyproject.toml":
        return dict(_list_build_hooks(_load(tomllib.loads, text.replace("\r\n", "\n"))))
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
    """Return the table under these keys; an empty one if there is none."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _load(parse: Any, text: str) -> Mapping[str, Any]:
    try:
        return _dig(parse(text))
    except (ValueError, RecursionError):
        return {}
