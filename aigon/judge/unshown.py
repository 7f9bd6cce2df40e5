"""Which files of a change are named to a judge and not shown: nobody wrote them by hand, or they are no text.

A file that is not shown proves nothing, so an agent wins nothing by making its work look like one of these; the judge
is told which they are.
"""

import re

from aigon.model.changes import FileDiff

_LOCK_NAMES = (
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum go.work.sum packages.lock.json "
    "gradle.lockfile conda-lock.yml package.resolved deno.lock pixi.lock"
)
_LOCKS = frozenset(_LOCK_NAMES.split())
_LOCK_ENDINGS = (".lock", ".lockfile")
_GENERATED = re.compile(
    r"\.min\.(js|mjs|cjs|css)$|\.(js|mjs|cjs|css)\.map$|\.pb(\.gw)?\.(go|cc|h|swift|dart)$|_pb2(_grpc)?\.pyi?$"
    r"|[._]generated\.[^/]+$|\.g\.(dart|cs)$|\.freezed\.dart$|\.designer\.cs$|\.snap$|\.ambr$",
    re.IGNORECASE,
)
_VENDORED = {"vendor", "node_modules", "bower_components", "third_party", "dist", "__snapshots__", ".venv", "venv"}
_MARK = re.compile(
    r"@generated\b|\bDO NOT (EDIT|MODIFY)\b|^\W*auto(matically)?[ -]?generated (file|code)\b"
    r"|^\W*((this|the) (file|code) (is|was|has been) )?(code |automatically |auto-?)?generated"
    r" (by|from|with|using|automatically)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FIRST = 10
"""Lines at the top of a file in which a generator says that it wrote it (as linguist looks at the first few)."""

_TOP = 2_000
"""Characters of these lines that are looked at."""


def by_path(path: str) -> str:
    """Why a file of that name is not shown; "" when it is."""
    *folders, name = path.lower().split("/")
    if name in _LOCKS or name.endswith(_LOCK_ENDINGS):
        return "lock file"
    if not _VENDORED.isdisjoint(folders):
        return "vendored or built"
    return "generated" if _GENERATED.search(name) else ""


def is_listed(path: str) -> bool:
    """Whether the name alone says that a file is not shown, so that its text need not be asked for."""
    return bool(by_path(path))


def why(diff: FileDiff) -> str:
    """Why the text of this file is not shown; "" when it is."""
    if named := by_path(diff.path):
        return named
    for flag, word in ((diff.submodule, "submodule"), (diff.binary, "binary"), (diff.large, "too large")):
        if flag:
            return word
    if not diff.hunks:
        return "no text changed" if diff.status == "M" else "empty"
    return "generated" if _MARK.search(_top(diff)) else ""


def _top(diff: FileDiff) -> str:
    """The beginning of a file, without what the change wrote there itself: a mark must not make a file disappear."""
    lines = [line for hunk in diff.hunks for line in hunk.lines]
    written = {line.new for line in lines if line.sign == "+"} if diff.status != "A" else set()
    known = enumerate(diff.content.split("\n")[:_FIRST] if diff.content else [], 1)
    top = [text for number, text in known if number not in written]
    top += [line.text for line in lines if line.sign == "-" and line.old <= _FIRST]
    return "\n".join(top)[:_TOP]
