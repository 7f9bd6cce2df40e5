"""What differs between two trees, as text that no attribute can hide.

git is asked for the text of everything (`--text`), by aigon's own git directory and its plumbing, so that neither
`.gitattributes` (`-diff`, `binary`, drivers, textconv, encodings) nor a configuration changes what is seen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from aigon.git.trusted import TrustedGit
from aigon.git.unified_diff import parsed
from aigon.model.changes import FileDiff, FileStatus

LARGEST = 1024 * 1024
"""Bytes of a file whose text is compared; a larger one is only named."""
TOGETHER = 16 * 1024 * 1024
"""Bytes of all files whose text is compared."""
_AT_ONCE = 60_000
"""Bytes of paths on one command line: the system's limit for all arguments is 128 KB at the least (Linux, macOS)."""
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=none", "-r")
_PATCH = (*_PLAIN, "--text", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "-U3", "--submodule=short", "-p")
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of git's raw format; `""` stands for the object of a side that has no file."""

    path: bytes
    modes: tuple[str, str]
    objects: tuple[str, str]
    status: FileStatus

    @property
    def blobs(self) -> tuple[str, ...]:
        """The objects that hold files."""
        sides = zip(self.modes, self.objects, strict=True)
        return tuple(name for mode, name in sides if name and mode != _SUBMODULE)


def file_diffs(
    git: TrustedGit, base: str, tree: str, without: frozenset[str], listed: Callable[[str], bool] = lambda _path: False
) -> tuple[FileDiff, ...]:
    """Every file in which `tree` differs from `base` (commits or trees), by path; renames are two files.

    `without` are paths to leave out, `listed` says of which only the name is wanted. Raises AigonError (exit 7) with
    git's words.
    """
    entries = [e for e in _entries(git, base, tree) if _text(e.path) not in without]
    wanted = [entry for entry in entries if not listed(_text(entry.path))]
    sizes = _sizes(git, {name for entry in wanted for name in entry.blobs})
    small = _small(wanted, sizes)
    contents = _contents(git, {name for entry in wanted if entry.path in small for name in entry.blobs})
    named = {entry.path: _named(entry, entry in wanted, entry.path in small, contents) for entry in entries}
    plain = [path for path in small if not named[path].binary and not named[path].submodule]
    patches = _patches(git, base, tree, plain)
    return tuple(_whole(found, patches.get(found.path)) for found in named.values())


def _entries(git: TrustedGit, base: str, tree: str) -> Iterator[_Entry]:
    fields = git.run("diff-tree", *_PLAIN, "--raw", "--no-abbrev", "-z", base, tree).split(b"\0")
    for raw, path in zip(fields[0::2], fields[1::2], strict=False):
        before, after, old, new, status = raw.decode().lstrip(":").split(" ")
        names = [name if name.strip("0") else "" for name in (old, new)]
        yield _Entry(path, (before, after), (names[0], names[1]), cast("FileStatus", status[:1]))


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _sizes(git: TrustedGit, names: set[str]) -> Mapping[str, int]:
    if not names:
        return {}
    out = git.run("cat-file", "--batch-check", stdin="\n".join(sorted(names)).encode() + b"\n")
    fields = (line.split() for line in out.decode().splitlines())
    return {parts[0]: int(parts[2]) for parts in fields if len(parts) == 3}


def _small(entries: Sequence[_Entry], sizes: Mapping[str, int]) -> list[bytes]:
    """The paths whose text is compared: each small enough, and all of them together."""
    chosen, left = [], TOGETHER
    for entry in entries:
        size = [sizes.get(name, LARGEST + 1) for name in entry.blobs]
        if all(each <= LARGEST for each in size) and sum(size) <= left:
            chosen.append(entry.path)
            left -= sum(size)
    return chosen


def _contents(git: TrustedGit, names: set[str]) -> Mapping[str, bytes]:
    if not names:
        return {}
    out = git.run("cat-file", "--batch", stdin="\n".join(sorted(names)).encode() + b"\n")
    found: dict[str, bytes] = {}
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode().split(" ")
        found[name] = out[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
    return found


def _named(entry: _Entry, wanted: bool, small: bool, contents: Mapping[str, bytes]) -> FileDiff:
    """The file without its hunks."""
    submodule = _SUBMODULE in entry.modes
    data = [contents.get(name, b"") for name in entry.blobs]
    binary = small and any(b"\0" in each for each in data)
    after = contents.get(entry.objects[1], b"") if small and not binary else b""
    return FileDiff(
        _text(entry.path),
        entry.status,
        binary=binary,
        large=wanted and not small,
        listed=not wanted,
        submodule=submodule,
        content=after.decode(errors="replace").replace("\r\n", "\n"),
    )


def _patches(git: TrustedGit, base: str, tree: str, paths: Sequence[bytes]) -> Mapping[str, FileDiff]:
    found: dict[str, FileDiff] = {}
    for some in _portions(paths):
        wanted = {_text(path) for path in some}
        # Paths are literal here (GIT_LITERAL_PATHSPECS), but a name that was a folder matches what was in it, too.
        out = git.run("diff-tree", *_PATCH, base, tree, "--", *sorted(wanted))
        found |= {diff.path: diff for diff in parsed(out) if diff.path in wanted}
    return found


def _portions(paths: Sequence[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for path in paths:
        if some and size + len(path) > _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(path)
        size += len(path) + 1
    if some:
        yield some


def _whole(found: FileDiff, patch: FileDiff | None) -> FileDiff:
    return replace(found, hunks=patch.hunks) if patch else found
