"""Files that are put back when an agent has touched them: aigon's configuration, validation scripts, by rule others."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from aigon.files.atomic import make_real_folders, move_aside, write_atomic
from aigon.files.home import is_runtime
from aigon.git.trusted import TrustedGit
from aigon.git.workspace import Workspace
from aigon.profiles.protection import Protection, Rule
from aigon.proof import protected_keys
from aigon.proof.frozen import LARGEST, LEFT, LINK, Guarded
from aigon.spec.features import INBOX, ROOT

OWN = ".aigon"
"""Everything in here is aigon's and people's; new files of an agent have no business in it."""
MODES = 0o777


def record_protected(root: Path, names: Iterable[str], protection: Protection) -> dict[str, Guarded]:
    """Return the files that are to be put back, among the tracked `names` and all of `.aigon/`, as they are now."""
    paths = sorted({path for path in (*names, *_list_own(root)) if _find_rule(protection, path)})
    recorded = {path: _read(root / path) for path in paths}
    return {path: each for path, each in recorded.items() if each and (each.whole or path.startswith(f"{OWN}/"))}


def _find_rule(protection: Protection, path: str) -> Rule | None:
    return protection.rule(path, lambda rule: rule.level == "restore")


def _list_own(root: Path) -> Iterator[str]:
    """Yield what is in `.aigon/` beside aigon's runtime files."""
    for folder, below, files in os.walk(root / OWN):
        here = Path(folder).relative_to(root).as_posix()
        below[:] = [name for name in below if not is_runtime(f"{here}/{name}/")]
        yield from (path for name in files if not is_runtime(path := f"{here}/{name}"))


def _read(path: Path) -> Guarded | None:
    if path.is_symlink():
        return Guarded(os.fsencode(path.readlink()), LINK)
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > LARGEST:
        return Guarded(b"", LEFT)
    return Guarded(path.read_bytes(), path.stat().st_mode & MODES)


def find_touched(root: Path, guarded: Mapping[str, Guarded], protection: Protection) -> list[str]:
    """Return those that are not as recorded, and what is new in `.aigon/`."""
    changed = [path for path, each in guarded.items() if not _is_as_recorded(root, path, each, protection)]
    new = [path for path in _list_own(root) if path not in guarded and _find_rule(protection, path)]
    return [*changed, *new]


def _is_as_recorded(root: Path, path: str, wanted: Guarded, protection: Protection) -> bool:
    place = root / path
    if place.parent.resolve() != place.parent:
        return False
    if wanted.mode == LEFT:
        return True  # it could not be put back
    now, rule = _read(place), _find_rule(protection, path)
    if now and now.whole and rule and rule.keys:
        return protected_keys.have_equal_keys(_decode(wanted.data), _decode(now.data), path, rule.keys)
    return now == wanted


def find_other_features(
    workspace: Workspace, since: str, own: Collection[str], protection: Protection
) -> Mapping[str, bytes | None]:
    """Return what a turn changed in the specs and logs of other features, each as it was in the commit `since`.

    None stands for a file that was not there. New specs of the inbox are left: they steer nothing yet.
    """

    def is_theirs(path: str, is_new: bool) -> bool:
        return path not in own and not protection.is_allowed(path) and not (is_new and path.startswith(INBOX))

    return _find_changed(workspace, since, ROOT, is_theirs)


def find_outside(workspace: Workspace, since: str, own: Collection[str], folder: str) -> Mapping[str, bytes | None]:
    """Return what a turn changed outside of `folder`, each as it was in the commit `since`; None: it was not there."""
    return _find_changed(workspace, since, ".", lambda path, _: path not in own and not path.startswith(f"{folder}/"))


def _find_changed(
    workspace: Workspace, since: str, below: str, is_meant: Callable[[str, bool], bool]
) -> Mapping[str, bytes | None]:
    added, changed = workspace.added_and_changed(since, below)
    found: dict[str, bytes | None] = {path: None for path in added if is_meant(path, True)}
    return found | {path: workspace.file_at(since, path, workspace.root) for path in changed if is_meant(path, False)}


def restore_files(
    workspace: Workspace, paths: Iterable[str], guarded: Mapping[str, Guarded], protection: Protection
) -> None:
    """Make these files what they were; what is new is taken away. Save the snapshot aside first."""
    for path in paths:
        wanted = guarded.get(path)
        ordinary = wanted if wanted and wanted.whole else None
        workspace.write(path, _choose_bytes(workspace.root, path, ordinary, protection) if ordinary else None)
        if ordinary:
            (workspace.root / path).chmod(ordinary.mode)
        elif wanted:
            (workspace.root / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace.root / path).symlink_to(os.fsdecode(wanted.data))


def _choose_bytes(root: Path, path: str, wanted: Guarded, protection: Protection) -> bytes:
    """Return the recorded bytes; if only keys are protected, the file as it is with those keys."""
    rule, now = _find_rule(protection, path), _read(root / path)
    if rule and rule.keys and now and now.whole:
        text = protected_keys.copy_keys(_decode(wanted.data), _decode(now.data), path, rule.keys)
        return text.encode() if text is not None else wanted.data
    return wanted.data


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class MainsOwn(Struct):
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
        recorded = record_protected(self.main, (), self.protection)
        self._kept = {path: each for path, each in recorded.items() if each.whole and self.right.get(path) == each}
        self._other = frozenset(recorded).difference(self._kept)

    def after_turn(self) -> Iterator[str]:
        """Put back what was changed, and take away what is new, but for what a commit says; a sentence each."""
        for path in find_touched(self.main, self._kept, self.protection):
            if path not in self._other and not self._is_committed(path):
                self._put_back(path)
                yield f"{path} of the main checkout was changed; it was put back"

    def _is_committed(self, path: str) -> bool:
        """Return whether it is as the main checkout's own commit has it: people switch branches."""
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
