"""Objects of a repository, many at once: what trees hold, and writing them."""

import hashlib
import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress

from msgspec import Struct, field

from aigon.files.system_errors import explain_os_error
from aigon.git.listings import parse_batch
from aigon.git.trusted import TrustedGit

LARGEST_BLOB = 2 * 1024 * 1024
"""Bytes of a file that `read_blobs` returns; a larger one is empty."""
AT_ONCE = 32 << 20
"""Bytes of file contents that `read_beginnings` holds in memory at a time."""
_CHUNK = 500
"""Paths on one command line."""


class TreeEntry(Struct, frozen=True):
    """A file in a tree: git's mode, the object's name, and its path."""

    mode: str
    sha: str
    path: str

    @property
    def is_file(self) -> bool:
        """True if it is a plain file: no link, no submodule, no folder."""
        return self.mode.startswith("100")


def can_read(git: TrustedGit, name: str) -> bool:
    """Return whether an object is there and whole, by itself."""
    return git.attempt("rev-parse", "-q", "--verify", f"{name}^{{}}")[0] == 0


def list_entries(git: TrustedGit, tree: str, paths: Iterable[str] = ()) -> dict[str, TreeEntry]:
    """Return the files of a commit or tree by path; with `paths` only those at exactly these."""
    wanted = tuple(paths)
    entries: dict[str, TreeEntry] = {}
    for start in range(0, len(wanted) or 1, _CHUNK):
        out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *wanted[start : start + _CHUNK])
        for line in out.split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, _, sha = head.decode().split(" ")
            path = os.fsdecode(name)
            entries[path] = TreeEntry(mode, sha, path)
    return {path: entries[path] for path in wanted if path in entries} if wanted else entries


def read_sizes(git: TrustedGit, names: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return type and size of the objects that exist."""
    stdin = join_lines(names)
    out = git.run("cat-file", "--batch-check", stdin=stdin).decode() if stdin else ""
    rows = [line.split(" ") for line in out.splitlines()]
    return {row[0]: (row[1], int(row[2])) for row in rows if len(row) == 3}


def read_objects(git: TrustedGit, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and raw bytes of objects, which have to exist."""
    stdin = join_lines(names)
    out = git.run("cat-file", "--batch", stdin=stdin) if stdin else b""
    yield from ((name.decode(), data) for name, _, data in parse_batch(out))


def join_lines(names: Iterable[str]) -> bytes:
    return os.fsencode("".join(f"{name}\n" for name in names))


def read_blobs(git: TrustedGit, shas: Iterable[str]) -> Mapping[str, bytes]:
    """Return blobs by name; one that is larger than LARGEST_BLOB, or no blob, is empty."""
    wanted = list(dict.fromkeys(shas))
    sizes = read_sizes(git, wanted)
    small = [sha for sha, (kind, size) in sizes.items() if kind == "blob" and size <= LARGEST_BLOB]
    return dict.fromkeys(wanted, b"") | dict(read_objects(git, small))


def read_beginnings(git: TrustedGit, names: Iterable[str], largest: int) -> Iterator[tuple[str, bytes]]:
    """Yield the first `largest` bytes of each blob that exists."""
    batch: list[str] = []
    total = 0
    for name, (kind, size) in read_sizes(git, sorted(set(names))).items():
        if kind != "blob":
            continue
        if size > largest:  # a file that is not read to its end is not held in memory either
            yield name, git.beginning("cat-file", "blob", name, most=largest)
            continue
        if batch and total + size > AT_ONCE:
            yield from read_objects(git, batch)
            batch, total = [], 0
        batch, total = [*batch, name], total + size
    yield from read_objects(git, batch)


def write_blob(git: TrustedGit, data: bytes) -> str:
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


Changes = Mapping[str, tuple[str, str] | None]
"""What becomes of paths of a tree: a mode and the name of an object, None for nothing."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_FOLDER = "40000"
"""The mode of a folder in a tree."""
_Row = tuple[str, str, bytes, bytes]
"""An entry of a tree: mode, name of the object, what git sorts it by, and the entry as it is written."""


class TreeWriter(Struct):
    """Writes trees that differ from one another in a few paths; git is asked only for folders that are not `known`.

    These are the folders of the tree `of`, each with its entries by name. `written` are the trees of the last one.
    """

    git: TrustedGit
    of: str = ""
    written: list[str] = field(default_factory=list)
    known: dict[str, dict[str, _Row]] = field(default_factory=dict)

    def write(self, tree: str, changes: Changes) -> str:
        """Write `tree` (a commit or a tree) with these changes, and return its name. Raises AigonError (exit 7)."""
        ways = [path.split("/") for path in changes]
        folders = {"", *("/".join(way[:end]) for way in ways for end in range(len(way)))}
        if self.of != tree:
            self.known = {}
        self.of, self.written = "", []  # until all of it is written
        self._read(tree, folders - self.known.keys())
        # Removals first: a file may replace a folder.
        for path, new in sorted(changes.items(), key=lambda change: change[1] is not None):
            self._put(path, new)
        for folder in sorted(folders - {""}, key=lambda folder: -folder.count("/")):
            if entries := self.known[folder]:
                self._put(folder, (_FOLDER, self._write_folder(entries, len(tree))))
            elif self._find(folder)[0] == _FOLDER:
                self._put(folder, None)
        self.of = self._write_folder(self.known[""], len(tree))
        return self.of

    def _read(self, tree: str, folders: Set[str]) -> None:
        plain = sorted(folder for folder in folders if "\n" not in folder)
        found = dict(zip(plain, self._ask(f"{tree}:{folder}" for folder in plain), strict=True))
        self.known |= {folder: _parse_tree(data, len(tree) // 2) for folder, data in found.items()}
        for folder in sorted(folders - {*plain}):  # the folder above comes first
            (found[folder],) = self._ask([self._find(folder)[1]])
            self.known[folder] = _parse_tree(found[folder], len(tree) // 2)
        for folder, data in found.items():  # what is lost is not taken for a folder that does not exist
            if data is None and (not folder or self._find(folder)[0] == _FOLDER):
                raise self.git.make_error("A tree could not be read", f"{tree}:{folder} is missing")

    def _ask(self, names: Iterable[str]) -> list[bytes | None]:
        """Return what these trees hold; None for what is no tree, or is not there."""
        stdin = join_lines(names)
        out = self.git.run("cat-file", "--batch", stdin=stdin) if stdin else b""
        return [data if kind == b"tree" else None for _, kind, data in parse_batch(out)]

    def _find(self, path: str) -> tuple[str, str]:
        above, _, name = path.rpartition("/")
        return self.known[above].get(name, ("", "0" * 40))[:2]

    def _put(self, path: str, new: tuple[str, str] | None) -> None:
        above, _, name = path.rpartition("/")
        if new:
            self.known[above][name] = _make_row(name, *new)
        else:
            self.known[above].pop(name, None)

    def _write_folder(self, entries: Mapping[str, _Row], digits: int) -> str:
        rows = sorted([(place, entry) for _, _, place, entry in entries.values()])
        self.written.append(write_object(self.git, "tree", b"".join([entry for _, entry in rows]), digits))
        return self.written[-1]


def _make_row(name: str, mode: str, sha: str) -> _Row:
    mode, raw = mode.lstrip("0"), os.fsencode(name)
    place = raw + (b"/" if mode == _FOLDER else b"")
    return mode, sha, place, b"%s %s\0%s" % (mode.encode(), raw, bytes.fromhex(sha))


def _parse_tree(data: bytes | None, size: int) -> dict[str, _Row]:
    """Return the entries by name of a tree whose names of objects have this `size`."""
    entries, at = {}, 0
    while data and at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        at = end + 1 + size
        text = os.fsdecode(name)
        entries[text] = _make_row(text, mode.decode(), data[end + 1 : at].hex())
    return entries


def write_tree_with(git: TrustedGit, tree: str, changes: Changes) -> str:
    """Write `tree` with other files by path, and without those that are None; nothing is asked of the files' objects.

    Raises AigonError (exit 7).
    """
    written = TreeWriter(git).write(tree, changes)
    git.trees[written] = written
    return written


def name_object(kind: str, data: bytes, digits: int) -> str:
    """Return the name of an object in a repository whose names have so many `digits`."""
    whole = f"{kind} {len(data)}\0".encode() + data
    return (hashlib.sha256(whole) if digits == 64 else hashlib.sha1(whole)).hexdigest()  # git's own choice


def has_loose_object(git: TrustedGit, name: str) -> bool:
    return os.path.isfile(f"{git.env['GIT_OBJECT_DIRECTORY']}/{name[:2]}/{name[2:]}")  # noqa: PTH113 - on the hot path


def write_object(git: TrustedGit, kind: str, data: bytes, digits: int, objects: str = "") -> str:
    """Write a loose object as git does, and return its name; nothing is flushed. Raises AigonError (exit 7).

    It goes to the folder `objects`, if another is meant than that of `git`.
    """
    name = name_object(kind, data, digits)
    folder = f"{objects or git.env['GIT_OBJECT_DIRECTORY']}/{name[:2]}"
    draft = f"{folder}/tmp_obj_{os.getpid()}-{threading.get_ident()}"  # git removes files of such names one day
    packed = zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1)
    try:
        try:
            handle = os.open(draft, _NEW, 0o444)
        except OSError:  # the folder is missing, or a killed process of that number has left a draft
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - on the hot path
            with suppress(FileNotFoundError):
                os.unlink(draft)  # noqa: PTH108 - as above
            handle = os.open(draft, _NEW, 0o444)
        with open(handle, "wb") as opened:  # noqa: PTH123 - buffered: a raw write may be short on a full disk
            opened.write(packed)
        os.replace(draft, f"{folder}/{name[2:]}")  # noqa: PTH105 - as above
    except OSError as error:
        raise explain_os_error(f"A {kind} could not be written", error) from error
    return name
