"""Files that git ignores in the main checkout and a worktree needs: copied or linked there."""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aigon.errors import AigonError, usage
from aigon.files.atomic import move_aside, write_atomic
from aigon.files.home import is_runtime
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job.branch import exclude_from_git
from aigon.text.globs import compile_glob
from aigon.text.quoting import fold

MAX_PATHS_PER_CALL = 200
"""Paths in one question to git."""
_SPECIAL = frozenset("*?{")


def normalise_pattern(pattern: str, key: str) -> str:
    """The pattern, tidied. Raises AigonError (exit 2) for one that leads out of the checkout, or into git's own."""
    parts = pattern.split("/")
    if pattern.startswith(("/", "~")) or ".." in parts or ".git" in parts or not pattern.strip("./"):
        raise usage(
            f"'{pattern}' is no path inside of the main checkout",
            where=key,
            hint="Paths and globs are relative to the repository's root, such as .env.test or config/*.local",
        )
    return "/".join(part for part in parts if part not in ("", "."))


def find_matches(root: Path, pattern: str) -> tuple[str, ...]:
    """Files, links and folders that `pattern` means; nothing below a folder that is meant itself.

    Links to folders are not followed.
    """
    if not any(character in _SPECIAL for character in pattern):
        return (pattern,) if os.path.lexists(root / pattern) and _is_inside(root, pattern) else ()
    return tuple(sorted(_walk_matches(root, "", pattern)))


def _walk_matches(root: Path, folder: str, pattern: str) -> Iterator[str]:
    wanted, deep = compile_glob(pattern), "**" in pattern
    with os.scandir(root / folder) as entries:
        found = [(f"{folder}{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, is_folder in found:
        if path == ".git":
            continue
        if wanted.fullmatch(path):
            yield path
        elif is_folder and (deep or path.count("/") < pattern.count("/")):
            yield from _walk_matches(root, f"{path}/", pattern)


def _is_inside(root: Path, path: str) -> bool:
    """Whether the way to `path` leads through folders, not through links out of the checkout."""
    return not any((root / parent).is_symlink() for parent in Path(path).parents)


def list_files(root: Path, path: str) -> Iterator[str]:
    """`path` itself, or the files and links below it where it is a folder; no repository inside of it."""
    if (root / path).is_symlink() or not (root / path).is_dir():
        yield path
        return
    for folder, folders, names in os.walk(root / path):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - on the hot path
        folders[:] = sorted(name for name in folders if name not in (*links, ".git"))
        for name in sorted((*names, *links)):
            yield f"{folder}/{name}"[len(str(root)) + 1 :]


def select_ignored(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    """Those of `paths`, there or not, that git ignores in this checkout."""
    found: list[str] = []
    for start in range(0, len(paths), MAX_PATHS_PER_CALL):
        some = paths[start : start + MAX_PATHS_PER_CALL]
        said = checkout.ask("-c", "core.quotePath=false", "check-ignore", "--", *some)
        all_of_them = said is not None and len(said.split("\n")) == len(some)
        found += some if all_of_them else [path for path in some if is_ignored(checkout, path)]
    return found


def is_ignored(checkout: Checkout, path: str) -> bool:
    """Whether git ignores `path`, there or not, in this checkout."""
    return checkout.ask("check-ignore", "-q", "--", path) is not None


COPY_KEY = "worktree.copy"


def copy_files(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Copy what the patterns mean, with mode bits, links as links; nothing over what is there.

    Raises AigonError (exit 2) for a pattern that leads outside, and for a file that git does not ignore in the
    worktree: a checkpoint would commit it.
    """
    copied: dict[str, str] = {}
    for pattern in patterns:
        found = find_matches(main.root, normalise_pattern(pattern, COPY_KEY))
        if not found:
            say(f"{COPY_KEY}: nothing in {main.root} is called {fold(pattern)}")
        wanted = [path for each in found for path in list_files(main.root, each) if _needs_copy(main, worktree, path)]
        copied |= {
            path: _copy_file(main.root / path, worktree, path) for path in _require_ignored_copies(worktree, wanted)
        }
    if copied:
        record_copies(worktree, copied)


def read_copies(worktree: Checkout) -> Mapping[str, str]:
    """What was copied into the worktree, or made there by its set-up: path -> what it then held."""
    try:
        return dict(json.loads(_copies_file(worktree).read_bytes()))
    except (OSError, ValueError):
        return {}


def record_copies(worktree: Checkout, made: Mapping[str, str]) -> None:
    """Write down what was put into the worktree that nobody worked on."""
    _copies_file(worktree).parent.mkdir(exist_ok=True)
    whole = {**read_copies(worktree), **made}
    write_atomic(_copies_file(worktree), json.dumps(whole, indent=1).encode())


def hash_content(file: Path) -> str:
    """A name for what a file holds, or for where a link leads to. Raises OSError."""
    if file.is_symlink():
        return f"-> {file.readlink()}"
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def refresh_configuration(main: Checkout, worktree: Checkout) -> None:
    """Copy what a project that ignores its `.aigon/` keeps there: it says what is checked, so people's version counts.

    What an agent made of a copy is put aside.
    """
    out = main.git(*NO_HOOKS, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", ".aigon")
    for path in out.split("\0"):
        source = main.root / path
        if not path or path.endswith("/") or is_runtime(path) or not source.is_file():
            continue
        if any(_find_paths_through_links(worktree.root, [path])):
            continue
        target = worktree.root / path
        if os.path.lexists(target):
            if _have_same_content(source, target) or not is_ignored(worktree, path):
                continue
            move_aside(target, worktree.git_dir / "aigon" / "displaced")
        _copy_file(source, worktree, path)


def _have_same_content(one: Path, other: Path) -> bool:
    try:
        return hash_content(one) == hash_content(other)
    except OSError:
        return False


def _needs_copy(main: Checkout, worktree: Checkout, path: str) -> bool:
    """Whether there is something to copy: no device or pipe, not in git, and nothing there of that name."""
    source = main.root / path
    return (source.is_symlink() or source.is_file()) and not os.path.lexists(worktree.root / path)


def _require_ignored_copies(worktree: Checkout, paths: Sequence[str]) -> list[str]:
    """Those that git ignores; what it has itself need not be copied. Raises AigonError (exit 2) for any other."""
    if led_away := next(_find_paths_through_links(worktree.root, paths), None):
        raise usage(f"{fold(led_away)} would be copied to where a link leads", where=COPY_KEY, hint="Leave it out")
    fine = select_ignored(worktree, paths)
    for path in sorted(set(paths) - set(fine)):
        if worktree.ask("ls-files", "--error-unmatch", "--", path) is None:
            raise usage(
                f"{fold(path)} would be committed: git does not ignore it",
                where=COPY_KEY,
                hint=f"Name it in .gitignore, and commit that: {fold(path)}",
            )
    return fine


def _find_paths_through_links(root: Path, paths: Sequence[str]) -> Iterator[str]:
    folders = {parent for path in paths for parent in Path(path).parents}
    links = {folder for folder in folders if folder != Path() and (root / folder).is_symlink()}
    return (path for path in paths if links.intersection(Path(path).parents))


def _copy_file(source: Path, worktree: Checkout, path: str) -> str:
    """Copy one file, whole or not at all; a name for what it holds."""
    target = worktree.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    for aside in (worktree.git_dir / "aigon", worktree.root / ".aigon" / "runs"):
        aside.mkdir(parents=True, exist_ok=True)
        draft = aside / f"copy.{os.getpid()}"
        try:
            shutil.copy2(source, draft, follow_symlinks=False)
            name = hash_content(draft)
            draft.rename(target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.errno != errno.EXDEV:
                raise _describe_copy_error(source, error) from error
        else:
            return name
    raise _describe_copy_error(source, OSError(errno.EXDEV, os.strerror(errno.EXDEV)))


def _describe_copy_error(source: Path, error: OSError) -> AigonError:
    return usage(
        f"It cannot be copied into the worktree: {error.strerror}",
        where=str(source),
        hint="Fix the cause, or leave the path out of `worktree.copy`",
    )


def _copies_file(worktree: Checkout) -> Path:
    return worktree.git_dir / "aigon" / "copies.json"


LINK_KEY = "worktree.link"


def link_files(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Link what the patterns mean; what is there already stays, and that is said.

    Raises AigonError (exit 2) for a pattern that leads outside, and for what git does not ignore.
    """
    for pattern in patterns:
        found = find_matches(main.root, normalise_pattern(pattern, LINK_KEY))
        if not found:
            say(f"{LINK_KEY}: nothing in {main.root} is called {fold(pattern)}")
        for path in found:
            _link_path(main, worktree, path, say)


def _link_path(main: Checkout, worktree: Checkout, path: str, say: Callable[[str], None]) -> None:
    target, source = worktree.root / path, main.root / path
    _require_ignored_link(main, worktree, path)
    if os.path.lexists(target):
        if not target.is_symlink() or target.readlink() != source:
            say(f"{LINK_KEY}: {fold(path)} is there already in {worktree.root}, and stays as it is")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    say(f"{fold(path)} is the main checkout's own, by a link: what one agent changes there, all see")


def _require_ignored_link(main: Checkout, worktree: Checkout, path: str) -> None:
    """Let git ignore the link: a line such as `node_modules/` means folders alone."""
    if is_ignored(main, path) and not is_ignored(worktree, path):
        exclude_from_git(main, [f"/{_escape_pattern(path)}"], "links in worktrees")
    if not is_ignored(main, path) or not is_ignored(worktree, path):
        raise usage(
            f"A link called {fold(path)} would be committed: git does not ignore it",
            where=LINK_KEY,
            hint=f"Name it in .gitignore, without a / at the end, and commit that: /{fold(path)}",
        )


def _escape_pattern(path: str) -> str:
    """A path as a line of an exclude file that means just this path."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
