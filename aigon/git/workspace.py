"""One branch, one work tree: snapshot it, commit exactly that snapshot, save aside what does not go in.

Everything goes through aigon's own git (`aigon.git.trusted`) with a private index.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, environment
from aigon.files.atomic import write_atomic, write_in_place, write_whole
from aigon.files.system_errors import explain_git_error
from aigon.git.blind_spots import find_obstacles
from aigon.git.branch_ref import BranchRef
from aigon.git.commits import write_commit
from aigon.git.file_state import NOTHING, read_mark
from aigon.git.index_entries import IndexEntries
from aigon.git.listings import RawChange, split_paths
from aigon.git.locks import lock_index
from aigon.git.objects import Changes, TreeWriter, has_loose_object, name_object, write_object
from aigon.git.person import Checkout
from aigon.git.private_index import PrivateIndex
from aigon.text.patterns import compile_re

_RESUME = "Run again with --resume"
MESSAGES = 1 << 20
"""Bytes that are read of the messages of an agent's commits: people write a thousandth of that."""
_CONVERTING = compile_re(rb"filter|ident|encoding|\[attr\]")
"""What is in a file of attributes by which git stores a file otherwise than it is."""
_LARGEST = 1 << 16
"""Bytes of such a file; a larger one is git's to read."""


class Tip(Struct, frozen=True):
    """The branch after a turn: `parent` is what the next commit descends from, `ref` what the branch holds.

    They differ if the agent rewrote the branch: then `ref` is saved aside and the last iteration commit is the parent.
    """

    parent: str
    ref: str


class Workspace(PrivateIndex):
    """The work tree that an agent edits, and its branch."""

    def __init__(self, checkout: Checkout, directory: Path, branch: str, objects: Path | None = None) -> None:
        super().__init__(checkout, directory, branch, objects)
        self.ref = BranchRef(self.trusted, branch)
        self._trees = TreeWriter(self.trusted)
        self.own = checkout.git_dir / "aigon"
        """aigon's own folder in the git directory of the checkout."""
        self._written = directory / "written"
        self._runs = checkout.root / ".aigon" / "runs"

    def on_branch(self) -> bool:
        try:
            return self._head_file.read_text().strip() == f"ref: refs/heads/{self.branch}"
        except (OSError, ValueError):
            return False

    def detached_commit(self) -> str | None:
        with contextlib.suppress(OSError, ValueError):
            text = self._head_file.read_text().strip()
            if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
                return text
        return None

    def back_on_branch(self) -> None:
        """Point HEAD at the branch again; the files stay as they are."""
        if self.trusted.refs("symbolic-ref", "HEAD", f"refs/heads/{self.branch}")[0]:
            # Without a readable HEAD git takes a folder for no repository at all.
            write_atomic(self._head_file, f"ref: refs/heads/{self.branch}\n".encode())

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self.trusted.attempt("merge-base", "--is-ancestor", ancestor, descendant)[0] == 0

    def paths_changed(self, old: str, new: str) -> tuple[str, ...]:
        return split_paths(self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new))

    def commit(self, files: Mapping[str, bytes], parent: str, message: str) -> str:
        """Commit the snapshot plus `files`, which are written to the work tree too, on `parent`; no ref moves."""
        # Noted before: no journal knows of these files yet if this process is killed in between.
        write_in_place(self._written, "".join(f"{_fingerprint_file(*each)}\n" for each in files.items()).encode())
        for path, data in files.items():
            self.write(path, data)
        # Git is asked for the difference only if the index is another than when the changes were listed.
        entries = self._foresee(self.raw_changes(parent), files, len(parent))
        staged = self._stage_plain(parent, entries, files) if entries is not None else None
        # Trees are written while git stages the files. If it staged anything else, they are dropped.
        staging = self.trusted.running("update-index", "--add", "--replace", "--", *files)
        with staging if files and staged is None else contextlib.nullcontext():
            tree = "" if entries is None else self._trees.write(parent, entries)
        if entries is None or (staged is None and not self._has_staged(entries, files)):
            tree = ""
        commit = self.commit_tree(tree or self.tree(), parent, message)
        self._trees.of = commit if tree else ""
        self._note_committed(commit if tree else "", staged)
        if tree and entries is not None:
            blobs = [entry[1] for entry in entries.values() if entry]
            self.ref.write_out_commit(commit, parent, (*blobs, *self._trees.written))
        else:
            self.ref.write_out(commit)
        return commit

    def _stage_plain(self, parent: str, foreseen: Changes, files: Mapping[str, bytes]) -> IndexEntries | None:
        """Stage files that the index has, and that git would take as they are; None if git has to stage them.

        The index keeps its age: a file that was staged in the second in which it changed is looked at again.
        """
        read = self._read_since(parent) if files and not self._sparse else None
        entries = read[0] if read else None
        for path, data in files.items():
            new = foreseen[path]
            if entries is None or new is None or b"\r" in data or self._is_converted(path):
                return None
            entries = entries.replace_blob(path, *new, (self.root / path).lstat(), len(data))
        if entries is None or self._index.with_name("index.lock").exists():
            return None
        for data in files.values():
            write_object(self.trusted, "blob", data, len(parent))
        written = self._index.stat()
        write_in_place(self._index, entries.data)  # a torn one is made anew when a run begins
        os.utime(self._index, ns=(written.st_atime_ns, written.st_mtime_ns))
        return entries

    def _is_converted(self, path: str) -> bool:
        """Return whether attributes may say that git has other bytes for a file than its own, but for line ends."""
        parts = path.split("/")[:-1]
        folders = (f"{self.root}/{'/'.join(parts[:end])}" for end in range(len(parts) + 1))
        own = (f"{self.trusted.directory}/{name}" for name in ("attributes", "info/attributes"))
        for file in (*(f"{folder.rstrip('/')}/.gitattributes" for folder in folders), *own):
            mark = read_mark(file)
            if mark == NOTHING:
                continue
            if not stat.S_ISREG(mark[0]) or mark[1] > _LARGEST or _CONVERTING.search(Path(file).read_bytes()):
                return True
        return False

    def _foresee(self, changes: Iterable[RawChange], files: Mapping[str, bytes], digits: int) -> Changes | None:
        """Return what becomes of the parent's tree with these changes and `files`; None if only git can say."""
        entries: dict[str, tuple[str, str] | None] = {}
        for change in changes:
            name = change.objects[1]
            if change.status == "D":
                entries[change.path] = None
            elif change.status in ("A", "M", "T") and has_loose_object(self.trusted, name):
                entries[change.path] = change.modes[1], name
            else:  # git looks whether it is there
                return None
        for path, data in files.items():
            mode = "100755" if os.access(self.root / path, os.X_OK) else "100644"
            entries[path] = mode, name_object("blob", data, digits)
        return entries

    def _has_staged(self, entries: Changes, files: Iterable[str]) -> bool:
        """Return whether the index holds what was foreseen: a filter, or an index of another form, has other bytes."""
        index = self._index.read_bytes()
        for path in files:
            mode, name = entries[path] or ("0", "")
            place = os.fsencode(path)
            # The mode is before three numbers and the name.
            at = index.find(b"%s%s%s\0" % (bytes.fromhex(name), len(place).to_bytes(4)[2:], place))
            if at < 0 or int.from_bytes(index[at - 16 : at - 12]) != int(mode, 8):
                return False
        return True

    def wrote(self, path: str, data: bytes) -> bool:
        """Return whether `commit` wrote `data` at `path` last, or was about to, in this process or an earlier one."""
        with contextlib.suppress(OSError, ValueError):
            return _fingerprint_file(path, data) in self._written.read_text().splitlines()
        return False

    def write(self, path: str, data: bytes | None) -> None:
        """Make a file of the work tree hold `data`, or remove it; links and whatever else is there are moved away."""
        target, folder = self.root / path, os.fspath(self.root)
        for name in path.split("/")[:-1]:
            folder = f"{folder}/{name}"
            if not stat.S_ISDIR(read_mark(folder)[0]):
                self._displace(Path(folder))
        if not stat.S_ISREG(read_mark(os.fspath(target))[0]):
            self._displace(target)
        if data is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, data, (self.own, self._runs))

    def _displace(self, obstacle: Path) -> Path:
        """Move what is in the way into the git directory: it may hold what no commit does."""
        place = self.own / "displaced" / f"{time.time_ns()}-{obstacle.name}"
        if os.path.lexists(obstacle):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(obstacle, place)
        return place

    def commit_tree(self, tree: str, parent: str, message: str) -> str:
        """Write a commit object; no ref moves."""
        return write_commit(self.trusted, tree, parent, message)

    def publish(self, commit: str, old: str) -> None:
        """Move the branch from `old` to `commit` and make the checkout's index agree with it.

        Raises AigonError (exit 7) if the branch has moved (both commits are kept), if git could not move it, or
        if another git holds the index for longer than 10 s (before the branch moves).
        """
        with lock_index(self._checkout_index, self._index) as lock:
            code, said = self.ref.move(commit, old)
            if code and self.tip() != commit:  # a git that is killed after that has moved it
                raise self._refuse(commit, old, said or f"git ended with {code}")
            lock.rename(self._checkout_index)

    def _refuse(self, commit: str, old: str, said: str) -> AigonError:
        where = said.splitlines()[0] if said else ""
        removed = self.ref.remove_own_lock(commit)
        if (self.tip() or "0" * len(old)) == old:
            if lack := explain_git_error(f"git could not move the branch {self.branch}", said, self.trusted.places):
                return lack
            lock = self.ref.lock if self.ref.lock.exists() else "what is in the way"
            hint = f"Remove {lock} (a lock only once no git runs that holds it), then run again with --resume"
            what = f"git could not move the branch {self.branch} to the iteration commit"
            return environment(what, where=where, hint=_RESUME if removed else hint)
        kept = self.keep(f"{self.branch}/{commit[:12]}", commit)
        return environment(
            f"The branch {self.branch} moved while aigon was working; both commits are kept, ours as {kept}",
            where=where,
            hint="Look at both with `git log --oneline --all`, then run again with --resume",
        )

    def history(self, base: str) -> list[tuple[str, str]]:
        """Return hash and subject of the branch's commits since `base`, newest first; at most 50."""
        tip = self.tip()
        out = self._git("log", "-z", "--format=%H %s", "-50", f"{base}..{tip}") if tip else b""
        entries = (entry.partition(" ") for entry in out.decode(errors="replace").split("\0") if entry)
        return [(commit, subject) for commit, _, subject in entries]

    def messages(self, old: str, new: str, own: Collection[str] = ()) -> list[str]:
        """Return the messages of the commits between two, except `own`, newest first; at most 200, and `MESSAGES`."""
        out = self.trusted.beginning("log", "-z", "--format=%H %B", "-200", f"{old}..{new}", most=MESSAGES)
        entries = (entry.partition(" ") for entry in out.decode(errors="replace").split("\0"))
        return [text for commit, _, text in entries if text and commit not in own]

    def file_at(self, commit: str, path: str, root: Path) -> bytes | None:
        """Return a file of the work tree as `commit` has it; None if it has none."""
        return self.files_at(commit, [path], root)[path]

    def files_at(self, commit: str, paths: Sequence[str], root: Path) -> dict[str, bytes | None]:
        """Return files of the work tree as `commit` has them.

        They are read from the work tree if git sees no difference, so that line endings and filters are as checked out.
        """
        code, out, _ = self.trusted.attempt("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *paths)
        known = () if code else split_paths(out)
        compared = (
            self.trusted.attempt("diff-index", "-z", "--name-only", commit, "--", *known) if known else (1, b"", b"")
        )
        changed = known if compared[0] else split_paths(compared[1])

        def read(path: str) -> bytes:
            if path not in changed and (root / path).is_file():
                return (root / path).read_bytes()
            return self._git("cat-file", "--filters", f"{commit}:{path}")

        return {path: read(path) if path in known else None for path in paths}

    def hand_over_index(self) -> None:
        with lock_index(self._checkout_index, self._index) as lock:
            lock.rename(self._checkout_index)

    def keep(self, name: str, commit: str) -> str:
        """Save a commit aside as `refs/aigon/parked/<name>`, with a number if that is taken; return the ref."""
        self.ref.write_out()
        for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
            ref = f"refs/aigon/parked/{name}{suffix}"
            code, said = self.trusted.refs("update-ref", ref, commit, "")
            if code == 0:
                return ref
            if "exists" not in said and "unable to resolve" not in said and "reference already" not in said:
                break
        lack = explain_git_error("Work could not be saved aside", said, self.trusted.places)
        raise lack or environment("Work could not be saved aside", where=ref, hint=said)

    def obstacles(self, commit: str) -> tuple[str, ...]:
        """Return what the snapshot does not hold and a `restore` of `commit` has to move away."""
        return find_obstacles(self._git, self.root, commit)

    def restore(self, commit: str) -> tuple[Path, ...]:
        """Make the work tree equal to `commit`; save aside first what the snapshot holds beyond it.

        What the snapshot does not hold either stays, or is moved if it is in the way; return where to.
        """
        moved = tuple(self._displace(self.root / path) for path in self.obstacles(commit))
        self._git("read-tree", "--reset", "-u", commit)
        self.hand_over_index()
        return moved


def _fingerprint_file(path: str, data: bytes) -> str:
    return hashlib.sha256(b"%s\0%s" % (os.fsencode(path), data)).hexdigest()
