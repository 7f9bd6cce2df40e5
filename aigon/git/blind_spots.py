"""Find what git overlooks or would overwrite in a work tree: hidden bits, submodules' work, unsaved obstacles."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aigon.errors import environment
from aigon.git.listings import NO_FILE, SUBMODULE, parse_raw, parse_stage, split_paths
from aigon.git.person import Checkout
from aigon.git.repository import find_ref, read_branch, read_git_link
from aigon.git.trusted import is_config_on
from aigon.process.start import capture_output


def parse_hidden(listing: bytes, *, sparse: bool) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Parse `ls-files -v -z`: return the paths that are assume-unchanged, and those that are skip-worktree.

    In a sparse checkout skip-worktree is git's own mark of files outside the cone.
    """
    entries = [(entry[:1], entry[2:]) for entry in listing.split(b"\0") if entry]
    skipped = () if sparse else tuple(path for tag, path in entries if tag in b"Ss")
    return tuple(path for tag, path in entries if tag.islower()), skipped


def is_sparse(checkout: Checkout) -> bool:
    return is_config_on(checkout.config.get("core.sparsecheckout", "false"))


def refuse_hidden_changes(checkout: Checkout) -> None:
    """Raise AigonError (exit 7) if such a file differs: an iteration commit, the whole work tree, would publish it."""
    listing = checkout.list_index().encode(errors="surrogateescape")
    assumed, skipped = parse_hidden(listing, sparse=is_sparse(checkout))
    if changed := _list_changed(checkout, sorted({os.fsdecode(path) for path in (*assumed, *skipped)})):
        raise environment(
            "There are changes that git was told to overlook (assume-unchanged or skip-worktree)",
            where=", ".join(changed[:5]),
            hint="git update-index --no-assume-unchanged FILE; git update-index --no-skip-worktree FILE; "
            "then commit the change or put it back",
        )


def _list_changed(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    """Return the paths whose content is not the staged one. Links are not followed, and count as unchanged."""
    if not paths:
        return []
    staged = parse_stage(checkout.git("ls-files", "--stage", "-z"))
    files = [path for path in paths if staged[path][0].startswith("100")]
    existing = [path for path in files if (checkout.root / path).is_file() and not (checkout.root / path).is_symlink()]
    names: dict[str, str] = {}
    for start in range(0, len(existing), 200):
        some = existing[start : start + 200]
        names |= zip(some, checkout.git("hash-object", "--", *some).split(), strict=True)
    return [path for path in files if names.get(path) != staged[path][1]]


def list_submodules(stage: bytes) -> tuple[str, ...]:
    """Return the submodules in the output of `git ls-files --stage -z`."""
    return tuple(path for path, (mode, _) in parse_stage(stage).items() if mode == SUBMODULE)


def has_unfinished_work(program: str, env: Mapping[str, str], root: Path, path: str) -> bool:
    """Return whether the submodule at `path` holds what its own HEAD does not: changes, or files that nothing ignores.

    aigon's own git looks, with `env`, never with the submodule's configuration, which an agent could have written. Its
    directory keeps an index per submodule, so that only the first look reads everything.
    """
    folder = root / path
    git_dir = find_submodule_git_dir(folder)
    branch = read_branch(git_dir) if git_dir else ""
    if git_dir is None or not (head := find_ref(git_dir, f"refs/heads/{branch}" if branch else "HEAD")):
        return False
    index = Path(env["GIT_DIR"]) / f"index.{hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"
    more = {"GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(index)}
    more |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects")}

    def git(*arguments: str) -> tuple[int, bytes]:
        return capture_output((program, *arguments), cwd=folder, env={**env, **more})[:2]

    code, _ = git("read-tree", *(["--reset"] if index.exists() else []), head)
    git("update-index", "-q", "--really-refresh")
    ignored = [f"--exclude-from={file}" for file in (git_dir / "info" / "exclude",) if file.is_file()]
    left = ("--modified", "--others", "--exclude-standard", *ignored, "--directory", "--no-empty-directory")
    return code != 0 or git("ls-files", "-z", *left)[1] != b""


def find_submodule_git_dir(folder: Path) -> Path | None:
    """Return the git directory of a submodule; None if it is not checked out."""
    return folder / ".git" if (folder / ".git").is_dir() else read_git_link(folder)


def find_obstacles(git: Callable[..., bytes], root: Path, commit: str) -> tuple[str, ...]:
    """Return the outermost paths that the snapshot in the index does not hold and `commit` would overwrite.

    Nested repositories, ignored files and what git could not read are in no snapshot: git would delete them unasked.
    """
    wanted = _list_new_modes(git("diff-index", "--cached", *_RAW, commit))
    gone = {path for path, mode in wanted.items() if mode == NO_FILE}
    obstacles = {path for path, mode in wanted.items() if mode == SUBMODULE and os.path.lexists(root / path)}
    for path in _list_new_modes(git("diff-files", *_RAW)):  # git removes a link, not what is behind it
        if os.path.lexists(root / path) and (root / path).parent.resolve() == (root / path).parent:
            obstacles.add(path)
    parents = _list_parents(gone)
    for name in split_paths(git("ls-files", "--others", "-z")):
        other = name.rstrip("/")  # above, at, or below a file that is to come back
        obstacles |= ({other} & parents) | ({other, *_list_parents({other})} & gone)
    return tuple(sorted(path for path in obstacles if not _list_parents({path}) & obstacles))


_RAW = ("--raw", "--abbrev=64", "-z", "--no-renames", "--ignore-submodules=all")


def _list_new_modes(out: bytes) -> dict[str, str]:
    """Return the new mode of each path at which git had written a file."""
    changes = (change for change in parse_raw(out) if change.modes[0] not in (NO_FILE, SUBMODULE))
    return {change.path: change.modes[1] for change in changes}


def _list_parents(paths: set[str]) -> set[str]:
    return {path[:i] for path in paths for i, letter in enumerate(path) if letter == "/"}
