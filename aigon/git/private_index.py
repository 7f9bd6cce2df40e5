"""aigon's private index of a work tree: the snapshot that becomes the next commit, and what is left out of it."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.files.system_errors import explain_git_error
from aigon.git import blind_spots
from aigon.git.file_state import list_names
from aigon.git.index_entries import IndexEntries, read_entries
from aigon.git.listings import (
    RawChange,
    parse_config,
    parse_raw,
    parse_raw_and_counts,
    parse_stage,
    split_listing,
    split_paths,
)
from aigon.git.locks import copy_index
from aigon.git.person import UNDER_WAY, Checkout
from aigon.git.repository import RUN_FOLDER, identify_index
from aigon.git.trusted import TrustedGit
from aigon.model.changes import FileChange

WRITTEN_OUT_TOGETHER = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsync",
    "GIT_CONFIG_VALUE_0": "-loose-object",
}
"""git waits for no object: all of a commit are written out at once (`BranchRef.write_out`) before anything names it."""
_NESTED = "warning: adding embedded git repository: "


class Content(Struct, frozen=True):
    """The content of a snapshot beyond a base commit: path -> modes, objects and status, by git's raw format."""

    base: str
    entries: Mapping[str, str]

    def key(self, paths: tuple[str, ...] = ()) -> str:
        """Return a name for this content, or for the part of it under `paths`: equal names, equal files."""
        chosen = sorted(
            f"{path}\0{raw}"
            for path, raw in self.entries.items()
            if not paths or any(path == p or path.startswith(p.rstrip("/") + "/") for p in paths)
        )
        return hashlib.sha256("\n".join([self.base, *chosen]).encode("utf-8", "surrogateescape")).hexdigest()


class _Comparison(Struct, frozen=True):
    """The difference between an index and a commit; `of` is what these were."""

    of: tuple[object, ...]
    changes: tuple[RawChange, ...]
    counts: tuple[FileChange, ...]


class PrivateIndex:
    """A second index of the checkout, which is only ever replaced whole."""

    def __init__(self, checkout: Checkout, directory: Path, branch: str, objects: Path | None = None) -> None:
        self.root = checkout.root
        self.branch = branch
        self.trusted = TrustedGit(checkout, directory, objects)
        self.trusted.env |= WRITTEN_OUT_TOGETHER
        self._git = self.trusted.run
        self._index = Path(self.trusted.env["GIT_INDEX_FILE"])
        self._checkout_index = checkout.git_dir / "index"
        self._ref_file = checkout.common_dir / "refs" / "heads" / branch
        self._head_file = checkout.git_dir / "HEAD"
        self._operating = (checkout.git_dir, checkout.git_dir.joinpath(*RUN_FOLDER))
        self._sparse = blind_spots.is_sparse(checkout)
        self._left: dict[str, str] = {}
        self._compared: _Comparison | None = None
        self._committed: tuple[str, IndexEntries] | None = None
        self._tree: tuple[tuple[object, ...], str] = (), ""
        self._listed: tuple[tuple[object, ...], bytes] = (), b""
        self.take_over_index()

    def tip(self) -> str | None:
        """Return the commit that the branch names, read from its file if git keeps one."""
        try:
            text = self._ref_file.read_text().strip()
            if text and not text.startswith("ref:"):
                return text
        except OSError:
            pass
        code, out = self.trusted.refs("rev-parse", "--verify", "-q", f"refs/heads/{self.branch}^{{commit}}")
        return out if code == 0 else None

    def take_over_index(self) -> None:
        """Start from a copy of the checkout's index: its stat data, its sparse bits, and nothing hidden in it.

        A lock on the private index is what a killed git left, as only one aigon works in a checkout.
        """
        self._index.with_name("index.lock").unlink(missing_ok=True)
        if not copy_index(self._checkout_index, self._index, self.trusted.directory):
            self._index.unlink(missing_ok=True)
            tip = self.tip()
            self._git("read-tree", tip) if tip else self._git("read-tree", "--empty")
        # An iteration commit is the work tree that was judged, whatever git was told to overlook.
        assumed, skipped = blind_spots.parse_hidden(self._list(), sparse=self._sparse)
        for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
            if paths:
                self._git("update-index", option, "-z", "--stdin", stdin=b"\0".join(paths))
        has_some = (self.root / ".gitmodules").is_file()
        self._submodules = blind_spots.list_submodules(self._git("ls-files", "--stage", "-z")) if has_some else ()

    def snapshot(self, meanwhile: Callable[[], None] = lambda: None) -> tuple[str, ...]:
        """Stage the whole work tree; return complaints about what could not be staged.

        `meanwhile` is called while git works.
        """
        what = "The work tree cannot be staged"
        finish = self.trusted.begin("add", "-A", "--ignore-errors", "--sparse")
        try:
            meanwhile()
        finally:
            code, _, err = finish()
        lines = [line for line in err.decode(errors="replace").splitlines() if not line.startswith("hint:")]
        if code not in (0, 1):
            raise self.trusted.make_error(what, "\n".join(lines), code)
        if code and (lack := explain_git_error(what, "\n".join(lines), self.trusted.places)):
            raise lack  # git left it out for lack of space
        staged = parse_stage(self._git("ls-files", "--stage", "-z")) if self._left else {}
        self._leave_out([path for path, blob in self._left.items() if staged.get(path, ("", ""))[1] == blob])
        nested = [line.removeprefix(_NESTED) for line in lines if line.startswith(_NESTED)]
        nested = self._without_submodules(nested) if nested else []
        if nested:  # kept out, so that the next snapshot sees it again: a link to it would hold none of its files
            self._git("update-index", "--force-remove", "-z", "--stdin", stdin="\0".join(nested).encode())
        complaints = [line for line in lines if line.startswith("error:")]
        complaints += [f"{path} is a repository of its own, whose files no commit here can hold" for path in nested]
        for path in self._submodules:
            if blind_spots.has_unfinished_work(self.trusted.program, self.trusted.env, self.root, path):
                complaints.append(f"the submodule {path} has work that no commit of its own holds")
        present: set[str] = set()
        for folder in self._operating:
            with contextlib.suppress(OSError):
                present |= list_names(folder)
        for mark, operation in UNDER_WAY.items():
            if mark in present:
                complaints.append(f"a {operation} was left unfinished: finish it, or git {operation} --abort")
        return tuple(complaints)

    def _without_submodules(self, nested: list[str]) -> list[str]:
        """Drop those that `.gitmodules` names: a new submodule is a link, whose commit a person has to review."""
        wanted = ("config", "--file", str(self.root / ".gitmodules"), "-z", "--get-regexp", r"^submodule\..*\.path$")
        named = {value.rstrip("/") for _, value in parse_config(self.trusted.attempt(*wanted)[1])}
        new = [path for path in nested if path.rstrip("/") in named]
        self._submodules = tuple(dict.fromkeys((*self._submodules, *new)))
        return [path for path in nested if path not in new]

    def empty_tree(self) -> str:
        """Return the empty tree, with which a repository without commits is compared."""
        return self._git("hash-object", "-w", "-t", "tree", "--stdin", stdin=b"").decode().strip()

    def tree(self) -> str:
        """Return the tree of the snapshot; git is asked again once the index is another."""
        (of, name), before = self._tree, identify_index(self._index)
        if of != before:
            name = self._git("write-tree").decode().strip()
            self.trusted.trees[name] = name
            now = identify_index(self._index)  # git notes in it which trees it wrote, and no more
            self._tree = now, name
            if (last := self._compared) and last.of[1:] == before:
                self._compared = replace(last, of=(last.of[0], *now))
        return name

    def changes(self, since: str) -> tuple[FileChange, ...]:
        """Return the files in which the snapshot differs from the commit `since`."""
        return self._compare(since).counts

    def raw_changes(self, since: str) -> tuple[RawChange, ...]:
        """Return them with their modes and objects.

        They are read from the index if the commit was made from an earlier one; git says the same later (`changes`).
        """
        if known := self._find_comparison(since):
            return known.changes
        entries = self._read_since(since)
        return entries[1] if entries else self._compare(since).changes

    def _read_since(self, commit: str) -> tuple[IndexEntries, tuple[RawChange, ...]] | None:
        """Return the entries of the index, and what they change in a commit; None if only git can say."""
        if self._committed is None or self._committed[0] != commit:
            return None
        with contextlib.suppress(IndexError, ValueError):  # it is no index
            return self._committed[1].compare(self._index.read_bytes())
        return None

    def _note_committed(self, commit: str, entries: IndexEntries | None) -> None:
        """Note that the index holds exactly the tree of the commit, and these `entries`; None to read them."""
        if entries is None and len(commit) == 40:
            with contextlib.suppress(IndexError, ValueError):
                entries = read_entries(self._index.read_bytes())
        self._committed = (commit, entries) if entries else None

    def _compare(self, since: str) -> _Comparison:
        """Return how the snapshot differs from a commit; git is asked again once the index is another."""
        known = self._find_comparison(since)
        if known is None:
            of = (since, *identify_index(self._index))
            options = ("--cached", "--raw", "--numstat", "--no-abbrev", "-z", "--no-renames", "--no-ext-diff")
            known = _Comparison(of, *parse_raw_and_counts(self._git("diff-index", *options, since)))
            self._compared = known
        return known

    def _find_comparison(self, since: str) -> _Comparison | None:
        """Return the last comparison if it is of this commit and of the index as it is.

        It is read once: another thread, which counts what an iteration changed, may put its own there at any time.
        """
        last = self._compared
        return last if last and last.of == (since, *identify_index(self._index)) else None

    def added_and_changed(self, since: str, folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the paths below `folder` that are new since the commit `since`, and those that changed or are gone."""
        within = "" if folder == "." else f"{folder}/"
        changes = [change for change in self.raw_changes(since) if f"{change.path}/".startswith(within)]
        new = tuple(change.path for change in changes if change.status == "A")
        return new, tuple(change.path for change in changes if change.status != "A")

    def content(self, base: str, without: frozenset[str]) -> Content:
        """Return what the snapshot holds beyond the commit `base`, without aigon's own files."""
        if known := self._find_comparison(base):
            changes: Iterable[RawChange] = known.changes
        else:
            changes = parse_raw(self._git("diff-index", "--cached", "--raw", "--abbrev=64", "-z", "--no-renames", base))
        entries = {change.path: change.fingerprint for change in changes if change.path not in without}
        return Content(base, entries)

    def list_tracked(self) -> tuple[str, ...]:
        return split_listing(self._list())

    def _list(self) -> bytes:
        """Return what `git ls-files -v -z` prints; git is asked again once the index is another."""
        (of, listed), now = self._listed, identify_index(self._index)
        if of != now:
            listed = self._git("ls-files", "-v", "-z")
            self._listed = now, listed
        return listed

    def list_untracked(self) -> tuple[str, ...]:
        """Return files that the snapshot does not hold and no .gitignore of the tree names."""
        return split_paths(self._git("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"))

    def left_over(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what checks wrote: paths that differ from the snapshot now, and paths that are not in it."""
        options = ("--modified", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
        lines = self._git("ls-files", "-z", "-t", *options).decode(errors="replace").split("\0")
        others = {line[2:] for line in lines if line.startswith("? ")}
        changed = {line[2:] for line in lines if line} - others
        return tuple(sorted(changed)), tuple(sorted(others))

    def note_left(self, within: Sequence[str]) -> None:
        """Note what checks left at these paths (folders end in `/`): `snapshot` leaves it out until it changes.

        It is in the work tree when the agent's next turn begins, and is not the agent's work.
        """
        others = split_paths(self._git("ls-files", "-z", "--others", "--exclude-standard")) if within else ()
        wanted = {path for path in within if not path.endswith("/")}
        folders = tuple(path for path in within if path.endswith("/"))
        named = [path for path in others if (path in wanted or path.startswith(folders)) and "\n" not in path]
        files = [path for path in named if (self.root / path).is_file() and not (self.root / path).is_symlink()]
        stdin = os.fsencode("".join(f"{path}\n" for path in files))
        blobs = self._git("hash-object", "--stdin-paths", stdin=stdin).decode().split() if files else []
        self._left = dict(zip(files, blobs, strict=True))

    def leave_out_rewritten(self, changed: Collection[str]) -> tuple[str, ...]:
        """Leave out those of the changed paths that checks had left before; return them.

        Somebody changed them since, so that they came into the snapshot, and now the checks wrote them again.
        """
        return self._leave_out([path for path in changed if path in self._left])

    def _leave_out(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Take paths that the branch does not hold out of the snapshot; return them."""
        tip = self.tip() if paths else None
        held = set(split_paths(self._git("ls-tree", "-r", "-z", "--name-only", tip))) if tip else set()
        gone = tuple(path for path in paths if path not in held)
        if gone:
            self._git("update-index", "--force-remove", "-z", "--stdin", stdin=os.fsencode("\0".join(gone)))
        return gone

    def stage(self, paths: Sequence[str]) -> None:
        self._git("update-index", "--remove", "-z", "--stdin", stdin=os.fsencode("\0".join(paths)))
