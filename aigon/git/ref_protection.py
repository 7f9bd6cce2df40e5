"""Branches, tags and other refs: remembered before an agent works, put back if it changed them without business."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from aigon.files.atomic import move_aside, write_atomic
from aigon.files.folders import make_real_folders
from aigon.git.objects import can_read
from aigon.git.refs import HELD, NOBODY, WATCHED, MovedRef, RefFiles, RefOutcome, Rivals, is_hash, parse_packed_refs
from aigon.git.trusted import TrustedGit

SaveAside = Callable[[str, str], str]
"""Saves an object aside under a ref made of a name; returns the ref."""
Verdict = tuple[Literal["put back", "remove", "leave"], str]
"""What to do with a ref that changed, and why if that is not obvious."""


class RefProtection:
    """Protects the refs of a repository, except the run's own `branch` and those of `rivals`.

    While nothing changes, a look costs one `lstat` per loose ref and starts no program. New values are saved aside
    before old ones come back; refs move only by compare-and-swap, without hooks. Rubbish in place of refs goes to
    `displaced`. Call `put_back` after the configuration has been put back: it runs git on the person's refs.
    """

    def __init__(self, git: TrustedGit, branch: str, displaced: Path, rivals: Rivals = NOBODY) -> None:
        self._git, self._own, self._displaced, self._rivals = git, f"refs/heads/{branch}", displaced, rivals
        self._files = RefFiles(git.common_dir)
        self._folders = (self._files.folder, *map(self._files.path_of, WATCHED))
        self._before: dict[str, str] = {}
        self._elsewhere: frozenset[str] = frozenset()
        """Refs that other worktrees have checked out."""
        self._linked: frozenset[Path] = frozenset()
        self._packed = self._files.packed
        self._tip: str | None = None
        """What the run's branch holds, None for no commit."""
        self._free: set[str] = set()
        """New refs that were left: anybody may move them."""
        self._known: tuple[str, ...] | None = None

    def remember(self) -> None:
        now = self._read()
        if self._known is None:
            self._known = tuple(sorted({value for value in now.values() if is_hash(value)}))
        else:
            self._accept_new(now)
        self._before, self._packed = now, self._files.packed
        self._elsewhere = frozenset(_list_checked_out_refs(self._git))
        self._linked = frozenset(folder for folder in self._folders if folder.is_symlink())

    def list_known_objects(self) -> tuple[str, ...]:
        """Return the objects that refs named at the first `remember`: what they contain is not the agent's."""
        return self._known or ()

    def see_rivals(self) -> None:
        """Accept rivals' refs as they are now."""
        self._before |= {ref: value for ref, value in self._read().items() if self._rivals.write(ref)}

    def put_back(self, save_aside: SaveAside) -> tuple[MovedRef, ...]:
        """Put refs back that changed, if the agent had no business there; return what became of each."""
        after = self._read_sound()
        self._accept_new(after)
        self._keep_theirs(after, save_aside)
        changed = [
            ref
            for ref in sorted({**self._before, **after})
            if self._before.get(ref) != after.get(ref) and ref not in self._free and not self._rivals.write(ref)
        ]
        if not changed:
            return ()
        remotes = self._list_remotes() if any(ref not in self._before for ref in changed) else frozenset()
        verdicts = [(ref, *self._judge(ref, after.get(ref, ""), remotes)) for ref in changed]
        verdicts.sort(key=lambda verdict: verdict[1] != "remove")  # what is in the way goes first
        moved = tuple(self._carry_out(ref, after.get(ref, ""), what, why, save_aside) for ref, what, why in verdicts)
        failed = {each.ref: each.before for each in moved if each.done == "failed"}
        self._free |= {each.ref for each in moved if each.done == "left" and not each.before}
        self._before, self._packed = {**self._read(), **failed}, self._files.packed
        return moved

    def _read(self) -> dict[str, str]:
        refs = {ref: value for ref, value in self._files.read().items() if not ref.startswith(HELD)}
        tip = refs.pop(self._own, "")
        self._tip = tip if is_hash(tip) else None
        return refs

    def _accept_new(self, now: Mapping[str, str]) -> None:
        """Leave new refs of rivals to them, unless they conflict with older refs."""
        older = (self._own, *self._before)
        new = [ref for ref in now if ref not in self._before and self._rivals.make(ref)]
        self._free |= {ref for ref in new if not any(_is_in_the_way(ref, other) for other in older)}

    def _keep_theirs(self, after: Mapping[str, str], save_aside: SaveAside) -> None:
        """Restore rivals' deleted branches and save aside what moved ones left, unless another ref holds it.

        Their own loops may have ended.
        """
        for ref, value in self._before.items():
            if not is_hash(value) or not self._rivals.write(ref) or after.get(ref) == value:
                continue
            code, held = self._git.refs("for-each-ref", "--count=1", f"--contains={value}")
            if (code or not held) and (ref in after or self._set_ref(ref, value, "")):
                save_aside(ref.removeprefix("refs/").replace("/", "-"), value)
        self._before |= {ref: value for ref, value in after.items() if self._rivals.write(ref)}

    def _read_sound(self) -> dict[str, str]:
        """Repair the folders of refs and packed-refs, without which git sees no repository; return the refs."""
        for folder in self._folders:
            if folder.is_symlink() and folder not in self._linked:
                move_aside(folder, self._displaced)
        if not self._files.folder.is_dir():
            make_real_folders(self._files.folder, self._git.common_dir, self._displaced)
        after, packed, place = self._read(), self._files.packed, self._files.packed_file
        if packed.data == self._packed.data and packed.mode == self._packed.mode:
            return after
        rubbish = packed.mode and parse_packed_refs(packed.data) is None
        if rubbish:
            move_aside(place, self._displaced)
        if self._packed.mode and (rubbish or not packed.mode):
            write_atomic(place, self._packed.data)
        # git may have packed the run's own branch into a file that nobody can read now: its commits are new.
        own = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(self._own.encode()) + rb"$", packed.data, re.M)
        if own and not self._files.path_of(self._own).exists():
            self._git.refs("update-ref", "--no-deref", self._own, own[1].decode())
        return self._read()

    def _list_remotes(self) -> frozenset[str]:
        _, out = self._git.refs("for-each-ref", "--format=%(refname:lstrip=2)", "refs/remotes")
        return frozenset(out.splitlines())

    def _judge(self, ref: str, after: str, remotes: frozenset[str]) -> Verdict:
        before, others = self._before.get(ref, ""), (self._own, *self._before)
        if not before:
            if ref.startswith("refs/replace/"):
                return "remove", "git would show another object in place of the one that it names"
            if any(_is_in_the_way(ref, other) for other in others):
                return "remove", "no other ref can exist next to one of this name"
            short = _shorten(ref)
            if short in remotes or any(short == _shorten(other) and other != ref for other in others):
                return "remove", f"git would take it for the other {short}"
            return "leave", ""
        if not after or ref.startswith(("refs/replace/", "refs/aigon/")):
            return "put back", ""
        if ref in self._elsewhere:
            return "leave", "it is checked out in another worktree"
        if not is_hash(after) or not self._contains(after, before):
            return "put back", "its old commits are not in the new ones"
        if self._is_of_this_run(before, after):
            return "put back", "the new commits are those of this run"
        return "leave", "the new commits may be a person's"

    def _is_of_this_run(self, before: str, after: str) -> bool:
        """Return whether the commits are on the run's branch, or descend from commits that were only there."""
        if self._tip is None or self._contains(self._tip, after):
            return self._tip is not None
        return self._contains(after, self._tip) and not self._contains(before, self._tip)

    def _contains(self, commit: str, other: str) -> bool:
        return self._git.attempt("merge-base", "--is-ancestor", other, commit)[0] == 0

    def _carry_out(self, ref: str, after: str, what: str, why: str, save_aside: SaveAside) -> MovedRef:
        before, saved = self._before.get(ref, ""), ""
        if what == "leave":
            return MovedRef(ref, before, after, "left", why=why)
        if is_hash(after) and can_read(self._git, after):
            saved = save_aside(ref.removeprefix("refs/").replace("/", "-"), after)
        error = self._remove(ref, after) if what == "remove" else self._set_ref(ref, before, after)
        done: RefOutcome = "failed" if error else "removed" if what == "remove" else "put back"
        return MovedRef(ref, before, after, done, saved, error or why)

    def _remove(self, ref: str, value: str) -> str:
        """Return what git said if it failed."""
        if not is_hash(value):
            self._clear(ref)
            return ""
        code, said = self._git.refs("update-ref", "--no-deref", "-d", ref, value)
        return said if code else ""

    def _set_ref(self, ref: str, before: str, after: str) -> str:
        if after and not is_hash(after):
            self._clear(ref)
        if before.startswith("ref: "):
            code, said = self._git.refs("symbolic-ref", ref, before.removeprefix("ref: "))
            return said if code else ""
        if not is_hash(before):
            return "git could not read it before either"
        old = (after,) if is_hash(after) else () if after else ("",)
        update = ("update-ref", "--no-deref", "-m", "aigon", ref, before, *old)
        code, said = self._git.refs(*update)
        if code and self._clear_way(ref):
            code, said = self._git.refs(*update)
        return said if code else ""

    def _clear(self, ref: str) -> None:
        place = self._files.path_of(ref)
        if os.path.lexists(place):
            move_aside(place, self._displaced)

    def _clear_way(self, ref: str) -> bool:
        """Displace what is no ref and replaces the file or a folder above it; return whether there was any."""
        place = self._files.path_of(ref)
        above = [folder for folder in place.parents if folder.is_relative_to(self._files.folder)]
        obstacles = [folder for folder in above if os.path.lexists(folder) and not folder.is_dir()]
        obstacles += [place] if place.is_dir() else []
        for obstacle in obstacles:
            move_aside(obstacle, self._displaced)
        return bool(obstacles)


def _is_in_the_way(ref: str, other: str) -> bool:
    return ref.startswith(f"{other}/") or other.startswith(f"{ref}/")


def _shorten(ref: str) -> str:
    """Return the short name of a branch or tag; other refs cannot be mistaken for one."""
    return ref.split("/", 2)[2] if ref.startswith(("refs/heads/", "refs/tags/")) else ref


def _list_checked_out_refs(git: TrustedGit) -> Iterator[str]:
    for folder in (git.common_dir, *git.common_dir.glob("worktrees/*")):
        for name, prefix in (("HEAD", "ref:"), ("rebase-merge/head-name", ""), ("rebase-apply/head-name", "")):
            with contextlib.suppress(OSError, ValueError):
                text = (folder / name).read_text().strip()
                if folder != git.git_dir and text.startswith(prefix):
                    yield text.removeprefix(prefix).strip()
