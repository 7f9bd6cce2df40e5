"""One branch, one work tree: snapshot it, commit exactly that snapshot, park what does not go in.

Everything goes through aigon's own git (`aigon.git.trusted`) with a private index.
"""

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.atomic import write_atomic, write_whole
from aigon.files.system_errors import explain_git_error
from aigon.git import blind_spots
from aigon.git.blind_spots import find_obstacles, is_sparse, parse_hidden
from aigon.git.branch_ref import BranchRef
from aigon.git.locks import copy_index, lock_index
from aigon.git.person import UNDER_WAY, Checkout
from aigon.git.trusted import TrustedGit
from aigon.model.changes import FileChange

_NESTED = "warning: adding embedded git repository: "
_RESUME = "Run again with --resume"
MESSAGES = 1 << 20
"""Bytes that are read of what an agent says in the messages of its commits: words of people take a thousandth."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The branch as found after a turn: `parent` is what the next commit descends from, `ref` what the branch holds.

    They differ when the agent rewrote the branch: then `ref` is parked and the last checkpoint is the parent.
    """

    parent: str
    ref: str


class Workspace:
    """The work tree that an agent edits. `index` is aigon's private one; the checkout's is only ever replaced whole."""

    def __init__(self, checkout: Checkout, directory: Path, branch: str, objects: Path | None = None) -> None:
        self.root = checkout.root
        self.branch = branch
        self.trusted = TrustedGit(checkout, directory, objects)
        self._git = self.trusted.run
        self._index = Path(self.trusted.env["GIT_INDEX_FILE"])
        self._written = directory / "written"
        self._checkout_index = checkout.git_dir / "index"
        self._ref_file = checkout.common_dir / "refs" / "heads" / branch
        self.ref = BranchRef(self.trusted, branch)
        self._head_file = checkout.git_dir / "HEAD"
        self._own = checkout.git_dir / "aigon"
        self._sparse = is_sparse(checkout)
        self._left: dict[str, str] = {}
        self.take_over_index()

    @property
    def own(self) -> Path:
        """aigon's own folder in the git directory of the checkout."""
        return self._own

    def take_over_index(self) -> None:
        """Start from a copy of the checkout's index: its stat data, its sparse bits, and nothing hidden in it.

        A lock on the private index is what a git that was killed left: there is one aigon at a time in a checkout.
        """
        self._index.with_name("index.lock").unlink(missing_ok=True)
        if not copy_index(self._checkout_index, self._index, self.trusted.directory):
            self._index.unlink(missing_ok=True)
            tip = self.tip()
            self._git("read-tree", tip) if tip else self._git("read-tree", "--empty")
        self._look_everywhere()
        has_some = (self.root / ".gitmodules").is_file()
        self._submodules = blind_spots.list_submodules(self._git("ls-files", "--stage", "-z")) if has_some else ()

    def _look_everywhere(self) -> None:
        """Clear the bits by which git overlooks changes: a checkpoint is the work tree that was judged."""
        found = parse_hidden(self._git("ls-files", "-v", "-z"), sparse=self._sparse)
        for option, paths in (("--no-assume-unchanged", found.assumed), ("--no-skip-worktree", found.skipped)):
            if paths:
                self._git("update-index", option, "-z", "--stdin", stdin=b"\0".join(paths))

    def tip(self) -> str | None:
        """The commit that the branch names; read as a file where git keeps it in one."""
        with contextlib.suppress(OSError):
            text = self._ref_file.read_text().strip()
            if text and not text.startswith("ref:"):
                return text
        code, out = self.trusted.refs("rev-parse", "--verify", "-q", f"refs/heads/{self.branch}^{{commit}}")
        return out if code == 0 else None

    def on_branch(self) -> bool:
        """Whether HEAD still names the branch."""
        try:
            return self._head_file.read_text().strip() == f"ref: refs/heads/{self.branch}"
        except (OSError, ValueError):
            return False

    def detached_commit(self) -> str | None:
        """The commit that HEAD holds by itself, outside of every branch's name; None when it names a branch."""
        with contextlib.suppress(OSError, ValueError):
            text = self._head_file.read_text().strip()
            if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
                return text
        return None

    def back_on_branch(self) -> None:
        """Point HEAD at the branch again; the files stay as they are."""
        if self.trusted.refs("symbolic-ref", "HEAD", f"refs/heads/{self.branch}")[0]:
            # To git a folder whose HEAD is not readable is no repository at all.
            write_atomic(self._head_file, f"ref: refs/heads/{self.branch}\n".encode())

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `descendant` contains `ancestor`."""
        return self.trusted.attempt("merge-base", "--is-ancestor", ancestor, descendant)[0] == 0

    def snapshot(self) -> tuple[str, ...]:
        """Stage the whole work tree in the private index; git's complaints about what it could not stage."""
        code, _, err = self.trusted.attempt("add", "-A", "--ignore-errors", "--sparse")
        lines = [line for line in err.decode(errors="replace").splitlines() if not line.startswith("hint:")]
        if code not in (0, 1):
            raise self.trusted.failed("The work tree cannot be staged", "\n".join(lines), code)
        if code and (
            lack := explain_git_error("The work tree cannot be staged", "\n".join(lines), self.trusted.places)
        ):
            raise lack  # what git left out for want of room is nobody's fault
        self._leave_out([path for path, blob in self._staged(self._left).items() if blob == self._left[path]])
        nested = [line.removeprefix(_NESTED) for line in lines if line.startswith(_NESTED)]
        nested = self._without_submodules(nested) if nested else []
        if nested:  # kept out, so that the next snapshot sees it again: a link to it would hold none of its files
            self._git("update-index", "--force-remove", "-z", "--stdin", stdin="\0".join(nested).encode())
        return (
            *(line for line in lines if line.startswith("error:")),
            *(f"{path} is a repository of its own, whose files no commit here can hold" for path in nested),
            *(f"the submodule {path} has work that no commit of its own holds" for path in self._unfinished()),
            *(f"a {what} was left unfinished: finish it, or git {what} --abort" for what in self._under_way()),
        )

    def _without_submodules(self, nested: list[str]) -> list[str]:
        """Those that `.gitmodules` does not name: a new submodule is a link, whose commit a person has to look at."""
        wanted = ("config", "--file", str(self.root / ".gitmodules"), "-z", "--get-regexp", r"^submodule\..*\.path$")
        listed = self.trusted.attempt(*wanted)[1].decode(errors="surrogateescape").split("\0")
        named = {entry.partition("\n")[2].rstrip("/") for entry in listed}
        new = [path for path in nested if path.rstrip("/") in named]
        self._submodules = tuple(dict.fromkeys((*self._submodules, *new)))
        return [path for path in nested if path not in new]

    def _under_way(self) -> list[str]:
        return [what for mark, what in UNDER_WAY.items() if (self._head_file.parent / mark).exists()]

    def _unfinished(self) -> Iterator[str]:
        for path in self._submodules:
            if blind_spots.has_unfinished_work(self.trusted.program, self.trusted.env, self.root, path):
                yield path

    def empty_tree(self) -> str:
        """The tree that holds nothing: what a repository without commits is compared with."""
        return self._git("hash-object", "-w", "-t", "tree", "--stdin", stdin=b"").decode().strip()

    def tree(self) -> str:
        """The tree of the snapshot."""
        return self._git("write-tree").decode().strip()

    def changes(self, since: str) -> tuple[FileChange, ...]:
        """The files in which the snapshot differs from the commit `since`."""
        out = self._git("diff-index", "--cached", "--numstat", "-z", "--no-renames", "--no-ext-diff", since)
        return tuple(_parse_change(entry) for entry in out.decode(errors="replace").split("\0") if entry)

    def content(self, base: str, without: frozenset[str]) -> "Content":
        """What the snapshot holds beyond the commit `base`, aigon's own files left out."""
        out = self._git("diff-index", "--cached", "--raw", "--abbrev=64", "-z", "--no-renames", base)
        fields = out.decode(errors="surrogateescape").split("\0")
        entries = zip(fields[1::2], fields[0::2], strict=False)
        return Content(base, {path: raw.split(" ", 1)[1] for path, raw in entries if path not in without})

    def tracked(self) -> tuple[str, ...]:
        """The paths in the private index."""
        return _split_paths(self._git("ls-files", "-z"))

    def paths_changed(self, old: str, new: str) -> tuple[str, ...]:
        """The paths in which two commits differ."""
        return _split_paths(self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new))

    def untracked(self) -> tuple[str, ...]:
        """Files that no .gitignore of the tree names and that the snapshot does not hold."""
        return _split_paths(self._git("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"))

    def left_over(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Paths that differ from the snapshot by now, and paths that are not in it: what checks wrote."""
        options = ("--modified", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
        lines = self._git("ls-files", "-z", "-t", *options).decode(errors="replace").split("\0")
        others = {line[2:] for line in lines if line.startswith("? ")}
        changed = {line[2:] for line in lines if line} - others
        return tuple(sorted(changed)), tuple(sorted(others))

    def note_left(self, within: Sequence[str]) -> None:
        """Note what checks left at these paths (folders end in `/`): `snapshot` leaves it out until it changes.

        It is in the work tree when the agent's next turn begins, and is not the agent's work.
        """
        others = _split_paths(self._git("ls-files", "-z", "--others", "--exclude-standard")) if within else ()
        wanted = {path for path in within if not path.endswith("/")}
        folders = tuple(path for path in within if path.endswith("/"))
        files = [path for path in others if (path in wanted or path.startswith(folders)) and self._is_plain(path)]
        named = os.fsencode("".join(f"{path}\n" for path in files))
        blobs = self._git("hash-object", "--stdin-paths", stdin=named).decode().split() if files else []
        self._left = dict(zip(files, blobs, strict=True))

    def _is_plain(self, path: str) -> bool:
        target = self.root / path
        return "\n" not in path and target.is_file() and not target.is_symlink()

    def leave_out_rewritten(self, changed: Collection[str]) -> tuple[str, ...]:
        """Leave out those of the changed paths that checks had left before; return them.

        Somebody changed them since, so that they came into the snapshot, and now the checks wrote them anew.
        """
        return self._leave_out([path for path in changed if path in self._left])

    def _leave_out(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Take paths out of the snapshot that the branch does not hold; return them."""
        tip = self.tip() if paths else None
        held = set(_split_paths(self._git("ls-tree", "-r", "-z", "--name-only", tip))) if tip else set()
        gone = tuple(path for path in paths if path not in held)
        if gone:
            self._git("update-index", "--force-remove", "-z", "--stdin", stdin=os.fsencode("\0".join(gone)))
        return gone

    def _staged(self, paths: Collection[str]) -> dict[str, str]:
        """Return the blobs that the snapshot has at those of the paths that it holds."""
        listed = self._git("ls-files", "--stage", "-z").split(b"\0") if paths else []
        entries = (os.fsdecode(line).split("\t", 1) for line in listed if line)
        return {path: head.split()[1] for head, path in entries if path in paths}

    def stage(self, paths: Sequence[str]) -> None:
        """Hold these files in the snapshot as they are in the work tree now."""
        self._git("update-index", "--remove", "-z", "--stdin", stdin=os.fsencode("\0".join(paths)))

    def commit(self, files: Mapping[str, bytes], parent: str, message: str) -> str:
        """A commit of the snapshot plus `files` (written to the work tree too) on `parent`; no ref moves."""
        self._about_to_write(files)
        for path, data in files.items():
            self.write(path, data)
        if files:
            self._git("update-index", "--add", "--replace", "--", *files)
        return self.commit_tree(self.tree(), parent, message)

    def _about_to_write(self, files: Mapping[str, bytes]) -> None:
        """Note it before: no journal knows of these files yet, should this process be killed in between."""
        self._written.write_text("".join(f"{_fingerprint_file(path, data)}\n" for path, data in files.items()))

    def wrote(self, path: str, data: bytes) -> bool:
        """Whether `data` is what a `commit` wrote at `path` last, or was about to, in this process or one before it."""
        with contextlib.suppress(OSError, ValueError):
            return _fingerprint_file(path, data) in self._written.read_text().splitlines()
        return False

    def write(self, path: str, data: bytes | None) -> None:
        """Make a file of the work tree hold `data`, or be absent; whatever stands there gives way, links included."""
        target = self.root / path
        for parent in [*reversed(target.relative_to(self.root).parents)][1:]:
            if not is_real_folder(self.root / parent):
                self._displace(self.root / parent)
        if target.is_symlink() or not target.is_file():
            self._displace(target)
        if data is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, data, (self._own, self.root / ".aigon" / "runs"))

    def _displace(self, obstacle: Path) -> Path:
        """Move what stands where another file belongs into git's own folder: it may hold what no commit does."""
        place = self._own / "displaced" / f"{time.time_ns()}-{obstacle.name}"
        if os.path.lexists(obstacle):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(obstacle, place)
        return place

    def commit_tree(self, tree: str, parent: str, message: str) -> str:
        """A commit object; no ref moves."""
        return self._git("commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode()).decode().strip()

    def publish(self, commit: str, old: str) -> None:
        """Move the branch from `old` to `commit` and make the checkout's index agree with it.

        Raises AigonError (exit 7) when the branch moved meanwhile (nothing is lost: both commits stay), git could not
        move it, or another git holds the index for longer than 10 s (before the branch moves).
        """
        with lock_index(self._checkout_index, self._index) as lock:
            code, said = self.ref.move(commit, old)
            if code and self.tip() != commit:  # what is killed after that has moved it
                raise self._refused(commit, old, said or f"git ended with {code}")
            lock.rename(self._checkout_index)

    def _refused(self, commit: str, old: str, said: str) -> AigonError:
        where = said.splitlines()[0] if said else ""
        own = self.ref.remove_own_lock(commit)
        if (self.tip() or "0" * len(old)) == old:
            if lack := explain_git_error(f"git could not move the branch {self.branch}", said, self.trusted.places):
                return lack
            what = f"git could not move the branch {self.branch} to the checkpoint"
            return environment(what, where=where, hint=_RESUME if own else self._in_the_way())
        kept = self.keep(f"{self.branch}/{commit[:12]}", commit)
        return environment(
            f"The branch {self.branch} moved while aigon was working; both commits are kept, ours as {kept}",
            where=where,
            hint="Look at both with `git log --oneline --all`, then run again with --resume",
        )

    def _in_the_way(self) -> str:
        lock = self.ref.lock if self.ref.lock.exists() else "what is in the way"
        return f"Remove {lock} (a lock only once no git runs that holds it), then run again with --resume"

    def history(self, base: str) -> list[tuple[str, str]]:
        """Hash and subject of the branch's commits since `base`, newest first; at most 50."""
        tip = self.tip()
        out = self._git("log", "-z", "--format=%H %s", "-50", f"{base}..{tip}") if tip else b""
        entries = (entry.partition(" ") for entry in out.decode(errors="replace").split("\0") if entry)
        return [(commit, subject) for commit, _, subject in entries]

    def messages(self, old: str, new: str, own: Collection[str] = ()) -> list[str]:
        """The messages of the commits between two, but for `own`; newest first, at most 200 and `MESSAGES` bytes."""
        out = self.trusted.beginning("log", "-z", "--format=%H %B", "-200", f"{old}..{new}", most=MESSAGES)
        entries = (entry.partition(" ") for entry in out.decode(errors="replace").split("\0"))
        return [text for commit, _, text in entries if text and commit not in own]

    def file_at(self, commit: str, path: str, root: Path) -> bytes | None:
        """A file of the work tree as `commit` has it; None where it has none.

        Read from the work tree when git sees no difference, so that line endings and filters are as checked out.
        """
        if self.trusted.attempt("cat-file", "-e", f"{commit}:{path}")[0]:
            return None
        same = self.trusted.attempt("diff-index", "--quiet", commit, "--", path)[0] == 0
        if same and (root / path).is_file():
            return (root / path).read_bytes()
        return self._git("cat-file", "--filters", f"{commit}:{path}")

    def hand_over_index(self) -> None:
        """Make the checkout's index equal to the private one."""
        with lock_index(self._checkout_index, self._index) as lock:
            lock.rename(self._checkout_index)

    def keep(self, name: str, commit: str) -> str:
        """Park a commit under `refs/aigon/parked/<name>`, numbered where that is taken; the ref."""
        self.ref.write_out()
        for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
            ref = f"refs/aigon/parked/{name}{suffix}"
            code, said = self.trusted.refs("update-ref", ref, commit, "")
            if code == 0:
                return ref
            if "exists" not in said and "unable to resolve" not in said and "reference already" not in said:
                break
        lack = explain_git_error("Work could not be parked", said, self.trusted.places)
        raise lack or environment("Work could not be parked", where=ref, hint=said)

    def obstacles(self, commit: str) -> tuple[str, ...]:
        """What the snapshot does not hold and a `restore` of `commit` has to move away."""
        return find_obstacles(self._git, self.root, commit)

    def restore(self, commit: str) -> tuple[Path, ...]:
        """Make the work tree equal to `commit`: what the snapshot holds beyond it is removed. Park it first.

        What the snapshot does not hold either stays, or is moved where it is in the way: to the places given back.
        """
        moved = tuple(self._displace(self.root / path) for path in self.obstacles(commit))
        self._git("read-tree", "--reset", "-u", commit)
        self.hand_over_index()
        return moved


def _fingerprint_file(path: str, data: bytes) -> str:
    return hashlib.sha256(b"%s\0%s" % (os.fsencode(path), data)).hexdigest()


def is_real_folder(path: Path) -> bool:
    """Whether `path` is a folder itself and not a link to one."""
    return path.is_dir() and not path.is_symlink()


@dataclass(frozen=True, slots=True)
class Content:
    """What a snapshot holds beyond a base commit: path -> modes, objects and status, by git's raw format."""

    base: str
    entries: Mapping[str, str]

    def key(self, paths: tuple[str, ...] = ()) -> str:
        """A name for this content, or for the part of it under `paths`: equal names, equal files."""
        chosen = sorted(
            f"{path}\0{raw}"
            for path, raw in self.entries.items()
            if not paths or any(path == p or path.startswith(p.rstrip("/") + "/") for p in paths)
        )
        return hashlib.sha256("\n".join([self.base, *chosen]).encode("utf-8", "surrogateescape")).hexdigest()


def _split_paths(out: bytes) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in out.split(b"\0") if path)


def _parse_change(entry: str) -> FileChange:
    added, removed, path = entry.split("\t", 2)
    return FileChange(path, int(added) if added != "-" else -1, int(removed) if removed != "-" else -1)
