"""Objects out of a store that an agent wrote: packed inside of its sandbox, checked as a stream outside of it.

No git outside of the sandbox reads that store: its alternates would lend foreign objects, its commit-graph would tell
another history, and a pipe in it would never end.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from aigon.files.atomic import open_plain, sync_folder
from aigon.files.folders import discard_tree
from aigon.git.objects import join_lines, read_sizes
from aigon.git.trusted import TrustedGit
from aigon.process.start import Program, pipe_output

Confine = Callable[[Sequence[str]], Program]
"""Returns the program that runs a command line in the agent's sandbox."""
LARGEST_PACK = 1 << 30
"""Bytes of new objects that are taken over from one turn."""
LARGEST_ALLOCATION = 512 << 20
"""Bytes that git may ask for at once: a small pack can hold a large object. Files are streamed."""
LARGEST_FILES = 4 << 30
"""Bytes of large files that are taken over from one turn."""
TAKE_SECONDS = 300.0


def take_objects(git: TrustedGit, store: Path, wanted: Collection[str], confine: Confine, incoming: Path) -> str:
    """Take over commits and tags from `store` with all that they need; return why that failed.

    New objects are in the folder `incoming` until they are checked.
    """
    _, out = git.refs("for-each-ref", "--format=%(objectname)")
    known = [f"^{name}" for name in dict.fromkeys(out.split())]
    missing = set(wanted) - read_sizes(git, wanted).keys()
    if missing and (why := _take_pack(git, store, (*missing, *known), confine, incoming)):
        return why
    found = read_sizes(git, wanted)
    if len(found) < len(wanted) or any(kind not in ("commit", "tag") for kind, _ in found.values()):
        return "not every ref names a commit that is there"
    asked = join_lines((*wanted, *known))
    code, _, err = git.attempt("rev-list", "--objects", "--quiet", "--stdin", stdin=asked)
    return _take_last_line(err) if code else ""


def _take_pack(git: TrustedGit, store: Path, revisions: Iterable[str], confine: Confine, incoming: Path) -> str:
    objects = git.common_dir / "objects"
    theirs = {**git.env, "GIT_DIR": str(store.parent), "GIT_OBJECT_DIRECTORY": str(store)}
    ours = {
        **git.env,
        "GIT_OBJECT_DIRECTORY": str(incoming),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        "GIT_ALLOC_LIMIT": str(LARGEST_ALLOCATION),
    }
    pack = (git.program, "pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q")
    index = (git.program, "index-pack", "--stdin", "--strict", "--fsck-objects", f"--max-input-size={LARGEST_PACK}")
    discard_tree(incoming)
    (incoming / "pack").mkdir(parents=True)
    try:
        stdin, source = join_lines(revisions), confine(pack)
        code, _, err = pipe_output(source, index, cwd=git.root, envs=(theirs, ours), stdin=stdin, deadline=TAKE_SECONDS)
        if code:
            return _take_last_line(err)
        for file in sorted((incoming / "pack").iterdir(), key=lambda file: file.suffix == ".idx"):
            file.rename(objects / "pack" / file.name)  # the index last: without it git sees no pack
        sync_folder(objects / "pack")
    finally:
        discard_tree(incoming)
    return ""


def _take_last_line(err: bytes) -> str:
    return (err.decode(errors="replace").strip().splitlines() or ["git printed nothing"])[-1]


def take_large_files(theirs: Path, ours: Path) -> Iterator[str]:
    """Take over the files that Git LFS stored, whose names are their checksums; yield what was left out."""
    left = LARGEST_FILES
    for folder, _, names in os.walk(theirs):
        for name in names:
            place = ours / name[:2] / name[2:4] / name
            if len(name) != 64 or place.exists():
                continue
            size = _copy_checked(Path(folder, name), place, left)
            left -= size
            if not size:
                yield f"a large file that the agent stored was not taken over: {name[:12]}"


def _copy_checked(source: Path, place: Path, largest: int) -> int:
    """Copy a file if its checksum is the name of `place`; return its size, 0 if it was not copied."""
    with suppress(OSError), open_plain(source) as file:
        size, digest = os.fstat(file.fileno()).st_size, hashlib.sha256()
        if size > largest:
            return 0
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f"{place.name}.{os.getpid()}.tmp")
        try:
            with draft.open("wb") as copy:
                while piece := file.read(1 << 20):
                    digest.update(piece)
                    copy.write(piece)
            if digest.hexdigest() == place.name:
                draft.replace(place)
                return max(1, size)
        finally:
            draft.unlink(missing_ok=True)
    return 0
