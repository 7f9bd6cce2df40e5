"""What people keep in the main checkout's `.aigon/`, put back after a turn in a worktree: later runs go by it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.atomic import make_real_folders, move_aside, write_atomic
from aigon.git.trusted import TrustedGit
from aigon.profiles.protection import Protection
from aigon.proof.frozen import Guarded
from aigon.proof.put_back import recorded, touched


@dataclass(slots=True)
class MainsOwn:
    """A watch over the files in the `.aigon/` of the checkout at `main`; edits go to the folder `displaced`.

    Only what is as `right`, the worktree's own copy from before any agent, says at the beginning of a turn is put back
    after it: another loop's agent may be at work, and what that one changed is its own loop's business.
    """

    main: Path
    git: TrustedGit
    displaced: Path
    right: Mapping[str, Guarded]
    protection: Protection
    _kept: dict[str, Guarded] = field(default_factory=dict)
    _other: frozenset[str] = frozenset()

    def before_turn(self) -> None:
        """Take what is there and right for what belongs there."""
        there = recorded(self.main, (), self.protection)
        self._kept = {path: each for path, each in there.items() if each.whole and self.right.get(path) == each}
        self._other = frozenset(there).difference(self._kept)

    def after_turn(self) -> Iterator[str]:
        """Put back what was changed, and take away what is new, but for what a commit says; a sentence each."""
        for path in touched(self.main, self._kept, self.protection):
            if path not in self._other and not self._committed(path):
                self._put_back(path)
                yield f"{path} of the main checkout was changed; it was put back"

    def _committed(self, path: str) -> bool:
        """Whether it is as the main checkout's own commit has it: people switch branches."""
        code, text = self.git.refs("cat-file", "blob", f"HEAD:{path}")
        try:
            return code == 0 and (self.main / path).read_text(errors="replace").strip() == text
        except OSError:
            return False

    def _put_back(self, path: str) -> None:
        place, wanted = self.main / path, self._kept.get(path)
        make_real_folders(place.parent, self.main, self.displaced)
        if place.is_symlink() or place.exists():
            move_aside(place, self.displaced)
        if wanted:
            write_atomic(place, wanted.data)
            place.chmod(wanted.mode)
