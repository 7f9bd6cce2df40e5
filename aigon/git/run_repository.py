"""A repository of the run's own, to which an agent commits: it borrows the person's objects, and nothing leads back.

In the sandbox the person's objects, refs and settings can only be read. This repository is mounted over `.git` for the
agent alone; in a worktree, where `.git` is a file, another that names it is. git finds it by itself, without variables.
Where nothing can be mounted, the file of the worktree itself names it while an agent works.

aigon takes over by hash what the agent committed: a pack that is made inside of the sandbox is indexed outside of it as
a stream, with every check of git's, and moves only if all that it names is there. The agent's store is hostile: no git
outside of the sandbox reads it, nor its settings.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from msgspec import Struct, field

from aigon.files.atomic import move_aside, open_plain, write_in_place, write_view, write_whole
from aigon.files.folders import discard_tree
from aigon.git.branch_ref import replace_ref
from aigon.git.foreign_objects import Confine, take_large_files, take_objects
from aigon.git.locks import copy_index
from aigon.git.refs import HELD, LONGEST, RefFiles, is_hash
from aigon.git.repository import LENT, LINK, RUN_FOLDER, find_lender, is_named
from aigon.git.workspace import Workspace
from aigon.text.patterns import compile_re

SaveAside = Callable[[str, str], str]
"""Saves an object aside under a ref made of a name; returns the ref."""
Plan = dict[str, tuple[bytes, int | None]]
Layout = dict[str, tuple[int, int, str]]
LARGEST_REFS, MOST_REFS = 16 << 20, 100_000
_TAKEN = ("refs/heads/", "refs/tags/", "refs/notes/", "refs/stash")
_OPAQUE = ("refs/stash", "refs/bisect/", "refs/worktree/", "refs/rewritten/", HELD)
"""Refs of the person's, and of one checkout's, that the agent does not get."""
_MADE = frozenset(
    ("HEAD", "config", "config.worktree", "hooks", "index", "info", "modules", "objects", "packed-refs", "refs",
     "shallow", "lfs", LENT, "commondir", "gitdir")
)  # fmt: skip
"""What is made anew for each turn. All else is kept as the agent left it, such as a rebase under way; no lock is."""
_PACKED = compile_re(r"^([0-9a-f]{40,64}) (refs/\S+)$", re.M)
_LENT = compile_re(r"refs/[^\s\udc80-\udcff]+")
"""Names of the person's refs that a packed-refs can hold, as text."""
_STASHED = compile_re(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) ", re.M)
_NAME = compile_re(r"refs(?:/[\w+-]+(?:\.(?!lock\b)[\w+-]+)*)+", re.A)
"""Names of refs that an agent gets back in its next turn, and that a message may hold."""


def put_back_link(root: Path) -> None:
    """Let `.git` in the worktree at `root` name the person's git directory again. No agent may be working there."""
    if lender := find_lender(root):
        _write_link(root, lender)
        with suppress(OSError):  # nobody added a submodule
            (lender / "modules").rmdir()


def find_lent_branch(git_dir: Path) -> str | None:
    """Return the branch of a turn that was killed while agents worked in this checkout; None if there is none.

    It is "" if a power cut emptied the note.
    """
    with suppress(OSError):
        return (git_dir / "aigon" / "lent").read_text().partition("\n")[0]
    return None


def _write_link(root: Path, git_dir: Path) -> None:
    kept = git_dir / "aigon" / "link"
    text = kept.read_bytes() if kept.is_file() else b"gitdir: %s\n" % os.fsencode(git_dir)
    write_whole(root / ".git", text, (git_dir / "aigon", root / ".aigon" / "runs"))


class RunRepository(Struct):
    """The repository in `aigon/run` of the checkout's git directory.

    `confine` returns the program that runs a command line in the agent's sandbox; `rivals` are branches that the agent
    does not get; `over` is the folder over which the sandbox mounts it, None if the work tree's `.git` is a file. With
    `swaps` nothing is mounted over that file either.
    """

    workspace: Workspace
    confine: Confine
    rivals: frozenset[str] = frozenset()
    over: Path | None = None
    swaps: bool = False
    _theirs: dict[str, str] = field(default_factory=dict)
    """The person's refs as the agent got them."""
    _made: dict[str, str] = field(default_factory=dict)
    """Refs that the agent made in earlier turns, which it gets again."""
    _layout: tuple[dict[str, int | None], Layout] | None = None
    """The modes that were planned when the repository was made, and what it consisted of then."""
    _files: RefFiles | None = None
    _folder: Path | None = None
    _removal: Thread | None = None
    """Removes the repository of the turn before."""

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = self.workspace.own / RUN_FOLDER[1]
        return self._folder

    @property
    def _branch(self) -> str:
        return f"refs/heads/{self.workspace.branch}"

    def lend(self) -> None:
        """Make the repository as the branch is now, and let the work tree name it. Raises OSError."""
        tip, own = self.workspace.tip(), self.workspace.own
        if tip is None:
            return
        git = self.workspace.trusted
        if not replace_ref(git, HELD + self.workspace.branch, tip):
            git.refs("update-ref", HELD + self.workspace.branch, tip)
        self._theirs = {**self._read_persons(), self._branch: tip}
        packed = "".join(f"{value} {ref}\n" for ref, value in sorted((self._made | self._theirs).items()))
        files = self._plan_files(packed)
        (own.parent / "modules").mkdir(exist_ok=True)
        if not self._refresh(files):
            self._make(files)
        # Last of all: what was lent is compared with what is there, whenever a kill comes.
        write_view(own / "lent", f"{self.workspace.branch}\n{packed}")
        text = b"gitdir: %s\n" % os.fsencode(self.folder)
        if _read_plain(own / LINK, len(text) + 1) != text:
            (own / LINK).write_bytes(text)
        if self.swaps:
            if find_lender(git.root) is None:
                (own / "link").write_bytes((git.root / ".git").read_bytes())
            write_whole(git.root / ".git", text, (own, git.root / ".aigon" / "runs"))

    def _remove_old(self) -> None:
        if self._removal:
            self._removal.join()
        discard_tree(self.workspace.own / "run.old")

    def _read_persons(self) -> dict[str, str]:
        self._files = self._files or RefFiles(self.workspace.trusted.common_dir, ("refs",))
        refs = self._files.read()
        refs = {ref: refs.get(value.removeprefix("ref: "), value) for ref, value in refs.items()}
        hidden = {f"refs/heads/{name}" for name in self.rivals}
        return {
            ref: value
            for ref, value in refs.items()
            if is_hash(value) and _LENT.fullmatch(ref) and ref not in hidden and not ref.startswith(_OPAQUE)
        }

    def _plan_files(self, packed: str) -> Plan:
        """Return content and mode, None for the usual one, of the files to make but the index, by path."""
        git = self.workspace.trusted
        # Absolute: the reader of objects in git-lfs knows no relative paths.
        objects = (self.over / LENT if self.over else git.common_dir) / "objects"
        config = (git.common_dir / "config").read_bytes()
        hooks = [f"hooks/{name}" for name in _list_names(git.common_dir / "hooks") if not name.endswith(".sample")]
        return {
            "HEAD": (f"ref: {self._branch}\n".encode(), None),
            "packed-refs": (f"# pack-refs with: sorted\n{packed}".encode(), None),
            "objects/info/alternates": (b"%s\n" % os.fsencode(objects), None),
            "config": (config.rstrip(b"\n") + b"\n[core]\n\tbare = false\n", None),
            **_read_files(git.git_dir, ("config.worktree", "info/sparse-checkout")),
            **_read_files(git.common_dir, ("shallow", "info/exclude", "info/attributes", *hooks)),
        }

    def _refresh(self, files: Plan) -> bool:
        """Write anew what differs in the repository of the turn before; return False if more than that did.

        Making files and folders takes the disk longer than all else of a turn in which the agent ran no git. As no file
        has another name, all are written in place.
        """
        made, modes = self._layout, {name: mode for name, (_, mode) in files.items()}
        if made is None or made[0] != modes or _survey(self.folder, len(made[1])) != made[1]:
            return False
        for name, (data, _) in files.items():
            file = f"{self.folder}/{name}"
            if os.stat(file).st_size != len(data) or Path(file).read_bytes() != data:  # noqa: PTH116 - it may be large
                try:
                    write_in_place(file, data)
                except OSError:  # a hook may be read-only
                    return False
        self._copy_index()
        return True

    def _make(self, files: Plan) -> None:
        own, old = self.workspace.own, self.workspace.own / "run.old"
        self._remove_old()
        if os.path.lexists(self.folder):
            self.folder.chmod(0o700)
            self.folder.rename(old)
        for name in ("objects/info", "objects/pack", "refs/heads", "info", "hooks"):
            (self.folder / name).mkdir(parents=True)
        for name, (data, mode) in files.items():
            _write_new(self.folder / name, data, mode)
        self._copy_index()
        # Submodules have repositories of their own, which belong to this worktree alone.
        if self.over:
            for name in (f"{LENT}/objects", f"{LENT}/lfs", "modules"):
                # The agent's sandbox is prepared meanwhile, and may have made these mount points already.
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (self.folder / "modules").symlink_to(own.parent / "modules")
        for name in sorted(set(_list_names(old)) - _MADE):
            if not name.endswith(".lock"):
                (old / name).rename(self.folder / name)
        self._removal = Thread(target=discard_tree, args=(old,))
        self._removal.start()  # nobody waits for it
        self._layout = {name: mode for name, (_, mode) in files.items()}, _survey(self.folder)

    def _copy_index(self) -> None:
        if not copy_index(self.workspace.trusted.git_dir / "index", self.folder / "index", self.folder):
            (self.folder / "index").unlink(missing_ok=True)

    def take_back(self, save_aside: SaveAside) -> tuple[str, ...]:
        """Put the person's `.git` back, and take over what was committed; return a sentence for what is worth saying.

        The branch moves to the agent's last commit. What else the agent committed is saved aside. Every process of the
        agent has to be gone.
        """
        git, own, sentences = self.workspace.trusted, self.workspace.own, self._put_back()
        if not self.folder.is_dir() or not (own / "lent").is_file():
            return tuple(sentences)
        lent = {name: value for value, name in _PACKED.findall((own / "lent").read_text())}
        self.folder.chmod(0o700)
        if self._branch not in lent:
            return (*sentences, self._keep_commits("the note of what it got is lost, as after a power cut"))
        old, head, refs = lent[self._branch], *self._read_agents()
        new = {ref: value for ref, value in refs.items() if value != lent.get(ref)}
        if is_hash(head) and head not in new.values():
            new["HEAD"] = head
        for value in self._read_stashed():
            if value not in new.values():
                new[f"refs/stash-{len(new)}"] = value
        wanted = set(new.values()) - set(lent.values())
        objects = (self.over or self.folder) / "objects"
        if wanted and (why := take_objects(git, objects, wanted, self.confine, own / "incoming")):
            return (*sentences, self._keep_commits(why))
        if head not in (f"ref: {self._branch}", ""):
            sentences.append(f"HEAD had left the branch {self.workspace.branch}; it was put back")
        tip = new.pop(self._branch, old)
        if tip != old and (self.workspace.tip() != old or self.workspace.ref.move(tip, old)[0]):
            new[self._branch] = tip
        self._made = {ref: value for ref, value in refs.items() if ref not in self._theirs and _NAME.fullmatch(ref)}
        sentences += self._save_others({ref: value for ref, value in new.items() if value in wanted}, save_aside)
        sentences += take_large_files(self.folder / "lfs" / "objects", git.common_dir / "lfs" / "objects")
        (own / "lent").unlink()
        return tuple(sentences)

    def _keep_commits(self, why: str) -> str:
        """Move the repository aside, and return a sentence that says where it is."""
        own = self.workspace.own
        kept = move_aside(self.folder, own / "displaced")
        (own / "lent").unlink()
        return f"what was committed could not be taken over ({why}): the files stay, the commits are in {kept}"

    def _put_back(self) -> list[str]:
        root, git_dir = self.workspace.root, self.workspace.own.parent
        if find_lender(root) == git_dir:
            _write_link(root, git_dir)
        elif self.swaps and not is_named(git_dir, root):
            if os.path.lexists(root / ".git"):
                move_aside(root / ".git", self.workspace.own / "displaced")
            _write_link(root, git_dir)
            return [".git was changed; it was put back"]
        return []

    def _save_others(self, others: Mapping[str, str], save_aside: SaveAside) -> Iterator[str]:
        tip = self.workspace.tip()
        for ref, value in others.items():
            if tip is None or not self.workspace.is_ancestor(value, tip):
                name = ref.removeprefix("refs/").removeprefix("heads/")
                saved = save_aside(re.sub(r"[^\w-]+", "-", name)[:80], value)
                shown = name if _NAME.fullmatch(ref) or name == ref else "ref"
                yield f"the agent's {shown} has commits that are not on the branch; they are kept as {saved}"

    def _read_agents(self) -> tuple[str, dict[str, str]]:
        """Return what HEAD and the refs of the agent's say. Its files are only read if they are files."""
        text = _read_plain(self.folder / "packed-refs", LARGEST_REFS).decode(errors="replace")
        refs = {name: value for value, name in _PACKED.findall(text)}
        folders = ["refs"]
        for folder in folders:
            place = self.folder / folder
            if place.is_symlink() or len(folders) > MOST_REFS:
                continue
            with suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif not name.endswith(".lock"):
                        refs[name] = _read_plain(Path(entry.path), LONGEST).decode(errors="replace").strip()
        head = _read_plain(self.folder / "HEAD", LONGEST).decode(errors="replace").strip()
        return head, {ref: value for ref, value in refs.items() if ref.startswith(_TAKEN) and is_hash(value)}

    def _read_stashed(self) -> Iterator[str]:
        """Yield the commits of the agent's stash, of which only the newest is a ref."""
        log = _read_plain(self.folder / "logs" / "refs" / "stash", LARGEST_REFS)
        yield from dict.fromkeys(value.decode() for value in _STASHED.findall(log)[-100:])

    def close(self) -> None:
        """Remove the repository, unless a turn was broken off: then the next aigon takes over what is in it."""
        own = self.workspace.own
        self._remove_old()
        self._put_back()
        if (own / "lent").exists():
            return
        with suppress(OSError):
            (own.parent / "modules").rmdir()
        discard_tree(own / "run")
        for name in ("link", LINK):
            (own / name).unlink(missing_ok=True)
        self.workspace.trusted.refs("update-ref", "-d", HELD + self.workspace.branch)


def _list_names(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - names alone
    return []


def _read_files(source: Path, names: Iterable[str]) -> Plan:
    """Return content and mode of those of the files that exist."""
    files = {name: f"{source}/{name}" for name in names}
    plain = {name: file for name, file in files.items() if os.path.isfile(file)}  # noqa: PTH113 - on the hot path
    return {name: (Path(file).read_bytes(), os.stat(file).st_mode & 0o777) for name, file in plain.items()}  # noqa: PTH116


def _write_new(path: Path, data: bytes, mode: int | None) -> None:
    """Write a file that is no other's: an agent may have given this name to a file elsewhere."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    if mode is not None:
        path.chmod(mode)


def _survey(folder: Path, most: int | None = None) -> Layout:
    """Return mode, number of names and target of all in a folder, by path; of more than `most` only some."""
    found: Layout = {}
    folders = [""]
    with suppress(OSError):  # an agent may have closed a folder
        for above in folders:
            for entry in [*os.scandir(f"{folder}/{above}")]:
                state, name = entry.stat(follow_symlinks=False), f"{above}{entry.name}"
                kind = stat.S_IFMT(state.st_mode)
                if kind == stat.S_IFDIR:
                    folders.append(f"{name}/")
                target = os.readlink(entry.path) if kind == stat.S_IFLNK else ""  # noqa: PTH115 - a text
                found[name] = state.st_mode, 0 if kind == stat.S_IFDIR else state.st_nlink, target
            if most is not None and len(found) > most:
                break
    return found


def _read_plain(path: Path, largest: int) -> bytes:
    """Return a file's bytes; nothing for a link, a pipe or a device, or if it is too large."""
    with suppress(OSError), open_plain(path) as file:
        return file.read(largest) if os.fstat(file.fileno()).st_size <= largest else b""
    return b""
