"""Put back what an agent has no business to write: git's own files and refs, aigon's records, protected files.

Looked at after the agent's turn and again after the checks, which run its code.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from aigon.files.atomic import move_aside, write_atomic, write_view
from aigon.files.folders import make_real_folders
from aigon.files.home import is_runtime
from aigon.git.file_protection import FileProtection, ProtectedPaths
from aigon.git.held_objects import HeldObjects
from aigon.git.locks import GitLocks
from aigon.git.protected_paths import list_global_config, make_opinion, watch_git_paths
from aigon.git.ref_protection import RefProtection
from aigon.git.refs import NOBODY, Rivals
from aigon.git.run_repository import RunRepository
from aigon.git.trusted import TrustedGit
from aigon.git.workspace import Workspace
from aigon.job.world import Attendant
from aigon.model.changes import Concern, hash_change
from aigon.profiles.protection import Protection, Rule
from aigon.proof.analysis import protected_keys
from aigon.proof.frozen import LARGEST, LEFT, LINK, Guarded
from aigon.spec.features import INBOX, ROOT

OWN = ".aigon"
"""Everything in here is aigon's and people's; new files of an agent have no business in it."""
MODES = 0o777
Park = Callable[[str, str], str]
"""Keeps an object under a ref made of the name given; the ref."""


def record_protected(root: Path, names: Iterable[str], protection: Protection) -> dict[str, Guarded]:
    """Return the files that are to be put back, among the tracked `names` and all of `.aigon/`, as they are now."""
    paths = sorted({path for path in (*names, *_list_own(root)) if _find_rule(protection, path)})
    recorded = {path: _read(root / path) for path in paths}
    return {path: each for path, each in recorded.items() if each and (each.whole or path.startswith(f"{OWN}/"))}


def _find_rule(protection: Protection, path: str) -> Rule | None:
    return protection.rule(path, lambda rule: rule.level == "restore")


def _list_own(root: Path) -> Iterator[str]:
    """Yield what is in `.aigon/` apart from aigon's runtime files."""
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

    None means a file that was not there. New specs of the inbox are left: they steer nothing yet.
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


class Watch(Struct, Attendant):
    """`git` are git's own files, `records` aigon's, `refs` branches and tags, `mains` what people keep in `.aigon/`
    outside of a worktree, `locks` those of git; `lost` is what could not be put back. The file `note` says what `git`
    was, while an agent works: if it is there when a run is opened, the last turn was killed, and aigon has not looked
    at what it did there.
    """

    git: FileProtection
    records: FileProtection
    refs: RefProtection
    lost: list[Concern] = field(default_factory=list)
    mains: MainsOwn | None = None
    note: Path | None = None
    own: Path = Path()
    locks: GitLocks | None = None
    run: RunRepository | None = None
    """What agents commit to; None if they commit to the person's repository."""
    held: HeldObjects | None = None
    """Git's objects under a second name; None if no agent and no check can delete one."""

    def begin(self) -> tuple[str, ...]:
        """Take everything as it is before any agent runs for right, but what a turn that was killed did to git.

        That is put back; a sentence each.
        """
        deleted = self._hold(believe=not (self.note and self.note.exists()))
        try:
            self.git.recall(self.note.read_bytes() if self.note else b"{}", self.own)
        except (OSError, ValueError, TypeError):
            restored: tuple[str, ...] = ()
        else:
            restored = tuple(each.sentence for each in self.git.put_back())
        self.git.remember()
        self.refs.remember()
        if self.locks:
            self.locks.remember()
        return (*deleted, *restored)

    def before_turn(self) -> None:
        """Take aigon's own records as they are now for right."""
        if self.note:
            write_view(self.note, self.git.render_note().decode())
        self.refs.see_rivals()
        if self.locks:
            self.locks.remember()
        if self.mains:
            self.mains.before_turn()
        self._hold(quick=True)
        if self.run:
            self.run.lend()
        # As late as can be: what was written just now proves nothing by its times, and all of it is read again.
        self.records.remember()

    def after_turn(self, park: Park) -> tuple[str, ...]:
        """Put back what the agent changed; a sentence each. Every process of it has to be gone."""
        taken = self.run.take_back(park) if self.run else self._hold()
        stale = self.locks.move_stale() if self.locks else ()
        found = [*self.git.put_back(), *self.records.put_back()]
        if self.note:
            self.note.unlink(missing_ok=True)
        mains = self.mains.after_turn() if self.mains else ()
        if self.run and taken:
            self.refs.remember()
        return (*taken, *stale, *(each.sentence for each in found), *mains, *self._restore_refs(park))

    def after_checks(self, park: Park) -> tuple[str, ...]:
        """The same for what the checks ran, while aigon writes its own records."""
        stale = self.locks.move_stale() if self.locks else ()
        return (*self._hold(), *stale, *(each.sentence for each in self.git.put_back()), *self._restore_refs(park))

    def before_proof(self) -> tuple[str, ...]:
        """Put back every object that was overwritten, also those that the last looks passed over; a sentence each."""
        return self._hold(whole=True)

    def close(self) -> None:
        if self.run:
            self.run.close()

    def own_refs_moved(self) -> None:
        """aigon itself wrote refs (something was saved aside): they are right as they are now."""
        self.refs.remember()

    def _hold(self, **how: bool) -> tuple[str, ...]:
        return self.held.hold(self.refs.list_known_objects(), **how) if self.held else ()

    def _restore_refs(self, park: Park) -> Iterator[str]:
        for moved in self.refs.put_back(park):
            if moved.done == "failed":
                key = hash_change([moved.ref, moved.before, moved.after])
                self.lost.append(Concern("lost-ref", "review", moved.sentence, (), key, mendable=False))
            yield moved.sentence


def watch(
    workspace: Workspace,
    hooks_path: str,
    home: Path,
    records: tuple[Path, ...],
    journal: Path,
    rivals: Rivals = NOBODY,
) -> Watch:
    """A watch over a checkout; `records` are files of aigon's, which appends to `journal`.

    What other loops of the repository write, `rivals` says.
    """
    git, displaced = workspace.trusted, workspace.own / "displaced"
    theirs = list_global_config(os.environ)
    own = ProtectedPaths((home, workspace.root), files=(*records, journal), growing=(journal,))
    return Watch(
        FileProtection(
            watch_git_paths(git, hooks_path, lambda: ProtectedPaths((), theirs)),
            displaced,
            make_opinion(git, shared=rivals != NOBODY),
        ),
        FileProtection(lambda: own, displaced),
        RefProtection(git, workspace.branch, displaced, rivals),
        own=git.directory,
        locks=GitLocks(git.root, git.git_dir, git.common_dir, displaced),
        held=HeldObjects(git, home / "held"),
    )
