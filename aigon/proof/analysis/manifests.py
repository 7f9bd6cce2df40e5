"""What package manifests say: dependencies, and programs that run when a package is installed or built."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Wants = dict[str, str]
"""By name: what is wanted of it, as written."""

_NODE = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions")
_LOCKS = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.lock"
    r"|uv\.lock|poetry\.lock"
    r"|pdm\.lock|Pipfile\.lock|pylock\.toml|Cargo\.lock|go\.sum|Gemfile\.lock|composer\.lock"
    r"|packages\.lock\.json"
    r"|Package\.resolved|mix\.lock|flake\.lock|pubspec\.lock|gradle\.lockfile|Podfile\.lock)$"
)
_LISTS = re.compile(
    r"(^|/)(requirements[\w.-]*\.(txt|in)|constraints[\w.-]*\.txt|Pipfile|environment\.ya?ml"
    r"|setup\.cfg|setup\.py|go\.mod|Gemfile"
    r"|[\w.-]+\.gemspec|composer\.json|pom\.xml|build\.gradle(\.kts)?|pubspec\.yaml|mix\.exs"
    r"|Package\.swift|[\w.-]+\.csproj"
    r"|Directory\.Packages\.props|deno\.jsonc?|\.npmrc|\.yarnrc(\.yml)?|pip\.conf|uv\.toml)$|(^"
    r"|/)requirements/[^/]+\.txt$"
)


def is_lock(path: str) -> bool:
    """Whether a tool writes it to pin what was resolved."""
    return _LOCKS.search(path) is not None


def dependencies(path: str, text: str | None) -> Wants:
    """What a manifest asks for; of one that is not understood, its lines."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        return {n: str(v) for group in _NODE for n, v in _table(_json(text).get(group)).items()}
    if name in ("pyproject.toml", "Cargo.toml"):
        return dict(_of_toml(_toml(text)))
    if _LISTS.search(path):
        kept = (line.strip() for line in text.split("\n")[:5000])
        return {re.split(r"[\s=<>~!@;\[]", line, maxsplit=1)[0]: line for line in kept if _is_entry(line, name)}
    return {}


def _is_entry(line: str, name: str) -> bool:
    if not line or line.startswith(("#", "//")):
        return False
    return name not in ("setup.py", "setup.cfg", "pom.xml") or bool(
        re.search(r"requires|[<>=~]=|<version>|<artifactId>", line)
    )


def scripts(path: str, text: str | None) -> Wants:
    """What runs when the package is installed or built, by name."""
    name = posixpath.basename(path)
    if not text:
        return {}
    if name == "package.json":
        own = _table(_json(text).get("scripts"))
        return {n: str(own[n]) for n in _AT_INSTALL if n in own}
    if name == "pyproject.toml":
        return dict(_of_build(_toml(text)))
    if name == "setup.py":
        runs = re.findall(
            r"[^\n]*\b(?:cmdclass|subprocess|os\.system|os\.popen|urllib|urlopen|exec|eval|__import__)\b[^\n]*", text
        )
        return {line.strip(): line.strip() for line in runs if not line.lstrip().startswith("#")}
    return {path: text} if name in ("build.rs", "binding.gyp", "hatch_build.py", "build_hooks.py") else {}


_AT_INSTALL = (
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "preprepare",
    "postprepare",
    "prepublish",
    "dependencies",
)


def _of_toml(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    groups = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    groups += [
        *_table(document.get("dependency-groups")).values(),
        _table(document.get("build-system")).get("requires"),
    ]
    for group in groups:
        for each in group if isinstance(group, list) else ():
            yield re.split(r"[\s=<>~!@;\[]", str(each), maxsplit=1)[0], str(each)
    poetry = _table(tool.get("poetry"))
    tables = [document.get(key) for key in ("dependencies", "dev-dependencies", "build-dependencies", "patch")]
    tables += [poetry.get("dependencies"), poetry.get("dev-dependencies"), _table(tool.get("uv")).get("sources")]
    tables += [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    for table in tables:
        yield from ((name, f"{name} {json.dumps(value, default=str)}") for name, value in _table(table).items())


def _of_build(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    system, tool = _table(document.get("build-system")), _table(document.get("tool"))
    for key in ("backend-path",):
        if key in system:
            yield f"build-system.{key}", str(system[key])
    for tool_name, keys in (("hatch", ("build", "hooks")), ("setuptools", ("cmdclass",)), ("poetry", ("build",))):
        value: Any = tool.get(tool_name)
        for key in keys:
            value = _table(value).get(key)
        if value and not set(_table(value)) <= {"vcs", "version"}:
            yield f"tool.{tool_name}.{'.'.join(keys)}", json.dumps(value, default=str)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Mapping[str, Any]:
    try:
        return _table(json.loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return {}


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError):
        return {}
