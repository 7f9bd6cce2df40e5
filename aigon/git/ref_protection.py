"""Branches, tags and other refs: remembered before an agent works, put back if it changed them without business."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.files.atomic import make_real_folders, move_aside, write_atomic
from aigon.git.refs import NOBODY, MovedRef, RefFiles, RefOutcome, Rivals, is_hash, parse_packed_refs
from aigon.git.trusted import TrustedGit

SaveAside = Callable[[str, str], str]
"""Saves an object aside under a ref made of a name; returns the ref."""


class RefProtection:
    """Protects the refs of a repository, except the run's own `branch` and those of `rivals`.

    While nothing changes, a look costs one `lstat` per loose ref and starts no program. New values are saved aside
    before old ones come back; refs move only by compare-and-swap, without hooks. Rubbish in place of refs goes to
    `displaced`. Call `put_back` after the configuration has been put back: it runs git on the person's refs.
    """

    def __init__(self, git: TrustedGit, branch: str, displaced: Path, rivals: Rivals = NOBODY) -> None:
        self._git, self._own, self._displaced, self._rivals = git, f"refs/heads/{branch}", displaced, rivals
        self._files = RefFiles(git.common_dir)
        self._before: dict[str, str] = {}
        self._elsewhere: frozenset[str] = frozenset()
        self._linked: frozenset[Path] = frozenset()
        self._packed = self._files.packed
        self._tip: str | None = None
        self._agents: set[str] = set()
        self._known: tuple[str, ...] | None = None

    def remember(self) -> None:
        """Remember all refs as they are now."""
        now = self._read(thorough=False)
        if self._known is not None:
            self._let_come(now)
        self._before = now
        if self._known is None:
            self._known = tuple(sorted({value for value in self._before.values() if is_hash(value)}))
        self._packed = self._files.packed
        self._elsewhere = list_checked_out_refs(self._git.common_dir, self._git.git_dir)
        self._linked = frozenset(folder for folder in self._folders() if folder.is_symlink())

    def known(self) -> tuple[str, ...]:
        """Return the objects that refs named at the first `remember`: what they contain is not the agent's."""
        return self._known or ()

    def put_back(self, park: SaveAside) -> tuple[MovedRef, ...]:
        """Put refs back that changed, if the agent had no business there; return what became of each."""
        after = self._sound()
        self._let_come(after)
        self._keep_theirs(after, park)
        both = {**self._before, **after}
        changed = [ref for ref in both if self._before.get(ref) != after.get(ref) and not self._free(ref)]
        if not changed:
            return ()
        situation = RefSituation(
            self._git, self._own, self._tip, self._elsewhere, self._before, after, self._remotes(changed)
        )
        verdicts = [(ref, *situation.verdict(ref)) for ref in sorted(changed)]
        verdicts.sort(key=lambda each: each[1] != "remove")  # what is in the way goes first
        moved = tuple(self._done(ref, after.get(ref, ""), what, why, park) for ref, what, why in verdicts)
        failed = {each.ref: each.before for each in moved if each.done == "failed"}
        self._agents |= {each.ref for each in moved if each.done == "left" and not each.before}
        self._before, self._packed = {**self._read(), **failed}, self._files.packed
        return moved

    def _free(self, ref: str) -> bool:
        """Whether anybody may move a ref."""
        return ref in self._agents or self._rivals.write(ref)

    def _let_come(self, now: Mapping[str, str]) -> None:
        """Leave new refs of rivals to them, unless they conflict with older refs."""
        new = [ref for ref in now if ref not in self._before and self._rivals.make(ref)]
        there = (self._own, *self._before)
        self._agents |= {ref for ref in new if not any(is_in_the_way(ref, other) for other in there)}

    def see_rivals(self) -> None:
        """Accept rivals' refs as they are now."""
        self._before |= {ref: value for ref, value in self._read().items() if self._rivals.write(ref)}

    def _keep_theirs(self, after: Mapping[str, str], park: SaveAside) -> None:
        """Restore rivals' deleted branches and save aside what moved ones left, unless another ref holds it.

        Their own loops may have ended.
        """
        theirs = {ref: value for ref, value in self._before.items() if is_hash(value) and self._rivals.write(ref)}
        for ref, value in theirs.items():
            if after.get(ref) == value or self._is_held(value):
                continue
            if ref in after or self._set(ref, value, ""):
                park(ref.removeprefix("refs/").replace("/", "-"), value)
        self._before |= {ref: value for ref, value in after.items() if self._rivals.write(ref)}

    def _is_held(self, commit: str) -> bool:
        code, out = self._git.refs("for-each-ref", "--count=1", f"--contains={commit}")
        return code == 0 and bool(out)

    def _read(self, *, thorough: bool = True) -> dict[str, str]:
        refs = self._files.read(thorough=thorough)
        tip = refs.pop(self._own, "")
        self._tip = tip if is_hash(tip) else None
        return refs

    def _folders(self) -> tuple[Path, ...]:
        return (self._files.folder, *(self._files.folder / name for name in ("heads", "tags", "replace", "aigon")))

    def _sound(self) -> dict[str, str]:
        """Repair the folders of refs and packed-refs, without which git sees no repository; return the refs."""
        for folder in self._folders():
            if folder.is_symlink() and folder not in self._linked:
                move_aside(folder, self._displaced)
        if not self._files.folder.is_dir():
            make_real_folders(self._files.folder, self._git.common_dir, self._displaced)
        after, packed = self._read(), self._files.packed
        if packed.data == self._packed.data and packed.mode == self._packed.mode:
            return after
        rubbish = packed.mode and parse_packed_refs(packed.data) is None
        if rubbish:
            move_aside(self._files.packed_file, self._displaced)
        if self._packed.mode and (rubbish or not packed.mode):
            write_atomic(self._files.packed_file, self._packed.data)
        self._salvage(packed.data)
        return self._read()

    def _salvage(self, rubbish: bytes) -> None:
        """Restore the run's own branch from packed-refs that git could not read: its commits are new."""
        found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(self._own.encode()) + rb"$", rubbish, re.M)
        if found and not self._files.path_of(self._own).exists():
            self._git.refs("update-ref", "--no-deref", self._own, found[1].decode())

    def _remotes(self, changed: list[str]) -> frozenset[str]:
        """Return the names of remote branches, if a new ref could be taken for one."""
        if all(ref in self._before for ref in changed):
            return frozenset()
        _, out = self._git.refs("for-each-ref", "--format=%(refname:lstrip=2)", "refs/remotes")
        return frozenset(out.splitlines())

    def _done(self, ref: str, after: str, what: str, why: str, park: SaveAside) -> MovedRef:
        before = self._before.get(ref, "")
        if what == "leave":
            return MovedRef(ref, before, after, "left", why=why)
        parked = self._save_aside(ref, after, park)
        said = self._remove(ref, after) if what == "remove" else self._set(ref, before, after)
        done: RefOutcome = "failed" if said else "removed" if what == "remove" else "put back"
        return MovedRef(ref, before, after, done, parked, said or why)

    def _save_aside(self, ref: str, value: str, park: SaveAside) -> str:
        """Save the new value aside and return the ref; "" if the object does not exist."""
        if not is_hash(value) or self._git.attempt("cat-file", "-e", value)[0]:
            return ""
        return park(ref.removeprefix("refs/").replace("/", "-"), value)

    def _remove(self, ref: str, value: str) -> str:
        """Return what git said if it failed."""
        if not is_hash(value):
            self._clear(ref)
            return ""
        code, said = self._git.refs("update-ref", "--no-deref", "-d", ref, value)
        return said if code else ""

    def _set(self, ref: str, before: str, after: str) -> str:
        """Return what git said if it failed."""
        if after and not is_hash(after):
            self._clear(ref)
        if before.startswith("ref: "):
            code, said = self._git.refs("symbolic-ref", ref, before.removeprefix("ref: "))
            return said if code else ""
        if not is_hash(before):
            return "git could not read it before either"
        old = (after,) if is_hash(after) else () if after else ("",)
        code, said = self._git.refs("update-ref", "--no-deref", "-m", "aigon", ref, before, *old)
        if code and self._cleared_way(ref):
            code, said = self._git.refs("update-ref", "--no-deref", "-m", "aigon", ref, before, *old)
        return said if code else ""

    def _clear(self, ref: str) -> None:
        place = self._files.path_of(ref)
        if os.path.lexists(place):
            move_aside(place, self._displaced)

    def _cleared_way(self, ref: str) -> bool:
        """Displace what is no ref and replaces the file or a folder above it; return whether there was any."""
        place = self._files.path_of(ref)
        above = [folder for folder in place.parents if folder.is_relative_to(self._files.folder)]
        found = [folder for folder in above if os.path.lexists(folder) and not folder.is_dir()]
        found += [place] if place.is_dir() else []
        for obstacle in found:
            move_aside(obstacle, self._displaced)
        return bool(found)


RefVerdict = tuple[Literal["put back", "remove", "leave"], str]
"""What to do, and why if that is not obvious."""


@dataclass(frozen=True, slots=True)
class RefSituation:
    """The watched refs `before` and `after`, except `own`, the run's branch, which holds `tip` now.

    `elsewhere` are refs that other worktrees had checked out, `remotes` the short names of remote branches.
    """

    git: TrustedGit
    own: str
    tip: str | None
    elsewhere: frozenset[str]
    before: Mapping[str, str]
    after: Mapping[str, str]
    remotes: frozenset[str]

    def verdict(self, ref: str) -> RefVerdict:
        """Return what becomes of a ref that has changed."""
        before, after = self.before.get(ref, ""), self.after.get(ref, "")
        if not before:
            return self._new(ref)
        if not after or ref.startswith(("refs/replace/", "refs/aigon/")):
            return "put back", ""
        if ref in self.elsewhere:
            return "leave", "it is checked out in another worktree"
        if not is_hash(after) or not self._contains(after, before):
            return "put back", "its old commits are not in the new ones"
        if self._of_this_run(before, after):
            return "put back", "the new commits are those of this run"
        return "leave", "the new commits may be a person's"

    def _new(self, ref: str) -> RefVerdict:
        if ref.startswith("refs/replace/"):
            return "remove", "git would show another object in place of the one that it names"
        if any(is_in_the_way(ref, other) for other in (self.own, *self.before)):
            return "remove", "no other ref can be beside one of this name"
        short = _shorten(ref)
        if short in self.remotes or any(
            short == _shorten(other) and other != ref for other in (self.own, *self.before)
        ):
            return "remove", f"git would take it for the other {short}"
        return "leave", ""

    def _of_this_run(self, before: str, after: str) -> bool:
        """Whether the commits are on the run's branch, or descend from commits that were only there."""
        if self.tip is None or self._contains(self.tip, after):
            return self.tip is not None
        return self._contains(after, self.tip) and not self._contains(before, self.tip)

    def _contains(self, commit: str, other: str) -> bool:
        return self.git.attempt("merge-base", "--is-ancestor", other, commit)[0] == 0


def is_in_the_way(ref: str, other: str) -> bool:
    """Whether git cannot have both refs: one would be a file and the other need a folder there."""
    return ref.startswith(f"{other}/") or other.startswith(f"{ref}/")


def _shorten(ref: str) -> str:
    """Return the short name of a branch or tag; other refs cannot be mistaken for one."""
    return ref.split("/", 2)[2] if ref.startswith(("refs/heads/", "refs/tags/")) else ref


def list_checked_out_refs(common_dir: Path, git_dir: Path) -> frozenset[str]:
    """Return the refs that other worktrees have checked out or are rebasing."""
    folders = [common_dir, *_list_subfolders(common_dir / "worktrees")]
    return frozenset(ref for folder in folders if folder != git_dir for ref in _read_heads(folder))


def _list_subfolders(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _read_heads(git_dir: Path) -> Iterator[str]:
    for name, prefix in (("HEAD", "ref:"), ("rebase-merge/head-name", ""), ("rebase-apply/head-name", "")):
        try:
            text = (git_dir / name).read_text().strip()
        except (OSError, ValueError):
            continue
        if text.startswith(prefix):
            yield text.removeprefix(prefix).strip()
