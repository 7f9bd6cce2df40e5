"""Which refs go back to what they were: those that an agent took away, rewrote, or moved to its own commits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.git.ref_files import is_hash
from aigon.git.trusted import TrustedGit

Verdict = tuple[Literal["put back", "remove", "leave"], str]
"""What to do, and why where that is not plain."""


@dataclass(frozen=True, slots=True)
class Situation:
    """`own` is the ref of the run's branch and `tip` what it holds now; `elsewhere` are refs that other worktrees had
    checked out, `before` and `after` all watched refs but `own`, `remotes` the short names of remote branches."""

    git: TrustedGit
    own: str
    tip: str | None
    elsewhere: frozenset[str]
    before: Mapping[str, str]
    after: Mapping[str, str]
    remotes: frozenset[str]

    def verdict(self, ref: str) -> Verdict:
        """What becomes of a ref that is not as it was."""
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

    def _new(self, ref: str) -> Verdict:
        if ref.startswith("refs/replace/"):
            return "remove", "git would show another object in place of the one that it names"
        if any(in_the_way(ref, other) for other in (self.own, *self.before)):
            return "remove", "no other ref can be beside one of this name"
        short = _short(ref)
        if short in self.remotes or any(short == _short(other) and other != ref for other in (self.own, *self.before)):
            return "remove", f"git would take it for the other {short}"
        return "leave", ""

    def _of_this_run(self, before: str, after: str) -> bool:
        """Whether the commits are on the run's branch, or go on from some that were only there."""
        if self.tip is None or self._contains(self.tip, after):
            return self.tip is not None
        return self._contains(after, self.tip) and not self._contains(before, self.tip)

    def _contains(self, commit: str, other: str) -> bool:
        return self.git.attempt("merge-base", "--is-ancestor", other, commit)[0] == 0


def in_the_way(ref: str, other: str) -> bool:
    """Whether git cannot have both: one would be a file where the other needs a folder."""
    return ref.startswith(f"{other}/") or other.startswith(f"{ref}/")


def _short(ref: str) -> str:
    """What people call a branch or a tag; nothing else can be taken for one."""
    return ref.split("/", 2)[2] if ref.startswith(("refs/heads/", "refs/tags/")) else ref


def checked_out(common_dir: Path, git_dir: Path) -> frozenset[str]:
    """The refs that other worktrees of the repository have checked out, or are rebasing."""
    folders = [common_dir, *_subfolders(common_dir / "worktrees")]
    return frozenset(ref for folder in folders if folder != git_dir for ref in _heads(folder))


def _subfolders(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _heads(git_dir: Path) -> Iterator[str]:
    for name, prefix in (("HEAD", "ref:"), ("rebase-merge/head-name", ""), ("rebase-apply/head-name", "")):
        try:
            text = (git_dir / name).read_text().strip()
        except (OSError, ValueError):
            continue
        if text.startswith(prefix):
            yield text.removeprefix(prefix).strip()
