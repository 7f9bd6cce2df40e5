"""Files that git ignores: those that a worktree needs, copied or linked there, and those to save before it goes."""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from aigon.errors import usage
from aigon.files.atomic import move_aside, write_atomic
from aigon.files.folders import find_matches, list_files
from aigon.files.home import is_runtime
from aigon.git.listings import split_paths
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job.branch import exclude_from_git
from aigon.secrets.leaks import find_leak, is_secret_name
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

COPY_KEY, LINK_KEY = "worktree.copy", "worktree.link"
MAX_PATHS_PER_CALL = 200
"""Paths in one call of git."""


def copy_files(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Copy what the patterns mean, with mode bits and links as links. Existing files stay.

    Raises AigonError (exit 2) for a pattern that leads outside, and for a file that git does not ignore in the
    worktree: an iteration commit would include it.
    """
    copied: dict[str, str] = {}
    for matches in _match_patterns(main.root, patterns, COPY_KEY, say):
        paths = [path for match in matches for path in list_files(main.root, match)]
        files = [path for path in paths if (main.root / path).is_symlink() or (main.root / path).is_file()]
        missing = [path for path in files if not os.path.lexists(worktree.root / path)]
        copied |= {path: _copy_file(main.root / path, worktree, path) for path in _require_ignored(worktree, missing)}
    if copied:
        record_copies(worktree, copied)


def link_files(main: Checkout, worktree: Checkout, patterns: Sequence[str], say: Callable[[str], None]) -> None:
    """Link what the patterns mean. Existing files stay, and `say` hears of them.

    Raises AigonError (exit 2) for a pattern that leads outside, and for a path that git does not ignore.
    """
    for matches in _match_patterns(main.root, patterns, LINK_KEY, say):
        for path in matches:
            target, source = worktree.root / path, main.root / path
            _require_ignored_link(main, worktree, path)
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)
                say(f"{fold(path)} is the main checkout's own, by a link: what one agent changes there, all see")
            elif not target.is_symlink() or target.readlink() != source:
                say(f"{LINK_KEY}: {fold(path)} is there already in {worktree.root}, and stays as it is")


def refresh_configuration(main: Checkout, worktree: Checkout) -> None:
    """Copy the main checkout's ignored files in `.aigon/`: they say what is checked, so people's version counts.

    A file that differs in the worktree, perhaps changed by an agent, is saved aside.
    """
    out = main.git(*NO_HOOKS, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", ".aigon")
    for path in filter(None, out.split("\0")):
        source, target = main.root / path, worktree.root / path
        if is_runtime(path) or not source.is_file() or any(_find_paths_through_links(worktree.root, [path])):
            continue
        if os.path.lexists(target):
            with contextlib.suppress(OSError):
                if hash_content(source) == hash_content(target):
                    continue
            if not is_ignored(worktree, path):
                continue
            move_aside(target, worktree.git_dir / "aigon" / "displaced")
        _copy_file(source, worktree, path)


def read_copies(worktree: Checkout) -> Mapping[str, str]:
    """Return what was copied into the worktree or made by its set-up: each path with `hash_content` at that time."""
    try:
        return dict(json.loads(_get_copies_file(worktree).read_bytes()))
    except (OSError, ValueError):
        return {}


def record_copies(worktree: Checkout, copies: Mapping[str, str]) -> None:
    """Record that these files are no one's work, each path with its `hash_content`."""
    _get_copies_file(worktree).parent.mkdir(exist_ok=True)
    content = json.dumps({**read_copies(worktree), **copies}, indent=1).encode()
    write_atomic(_get_copies_file(worktree), content)


def hash_content(file: Path) -> str:
    """Return a hash of the content of a file, or the target of a link. Raises OSError."""
    if file.is_symlink():
        return f"-> {file.readlink()}"
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def is_ignored(checkout: Checkout, path: str) -> bool:
    """Return whether git ignores `path` in this checkout. The path need not exist."""
    return checkout.ask("check-ignore", "-q", "--", path) is not None


def _match_patterns(
    root: Path, patterns: Sequence[str], key: str, say: Callable[[str], None]
) -> Iterator[tuple[str, ...]]:
    for pattern in patterns:
        parts = pattern.split("/")
        if pattern.startswith(("/", "~")) or ".." in parts or ".git" in parts or not pattern.strip("./"):
            raise usage(
                f"'{pattern}' is no path inside of the main checkout",
                where=key,
                hint="Paths and globs are relative to the repository's root, such as .env.test or config/*.local",
            )
        matches = find_matches(root, "/".join(part for part in parts if part not in ("", ".")))
        if not matches:
            say(f"{key}: nothing in {root} is called {fold(pattern)}")
        yield matches


def _require_ignored(worktree: Checkout, paths: Sequence[str]) -> list[str]:
    """Return the paths that git ignores; tracked ones need no copy. Raises AigonError (exit 2) for any other."""
    if outside := next(_find_paths_through_links(worktree.root, paths), None):
        raise usage(f"{fold(outside)} would be copied to where a link leads", where=COPY_KEY, hint="Leave it out")
    ignored = _select_ignored(worktree, paths)
    for path in sorted(set(paths) - set(ignored)):
        if worktree.ask("ls-files", "--error-unmatch", "--", path) is None:
            raise usage(
                f"{fold(path)} would be committed: git does not ignore it",
                where=COPY_KEY,
                hint=f"Name it in .gitignore, and commit that: {fold(path)}",
            )
    return ignored


def _select_ignored(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    ignored: list[str] = []
    for start in range(0, len(paths), MAX_PATHS_PER_CALL):
        some = paths[start : start + MAX_PATHS_PER_CALL]
        out = checkout.ask("-c", "core.quotePath=false", "check-ignore", "--", *some)
        # Git may quote a name in its answer, so only the number of lines is used.
        all_ignored = out is not None and len(out.split("\n")) == len(some)
        ignored += some if all_ignored else [path for path in some if is_ignored(checkout, path)]
    return ignored


def _require_ignored_link(main: Checkout, worktree: Checkout, path: str) -> None:
    """Make git ignore the link: a line such as `node_modules/` matches folders only."""
    if is_ignored(main, path) and not is_ignored(worktree, path):
        exclude_from_git(main, ["/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)], "links in worktrees")
    if not is_ignored(main, path) or not is_ignored(worktree, path):
        raise usage(
            f"A link called {fold(path)} would be committed: git does not ignore it",
            where=LINK_KEY,
            hint=f"Name it in .gitignore, without a / at the end, and commit that: /{fold(path)}",
        )


def _find_paths_through_links(root: Path, paths: Sequence[str]) -> Iterator[str]:
    folders = {parent for path in paths for parent in Path(path).parents}
    links = {folder for folder in folders if folder != Path() and (root / folder).is_symlink()}
    return (path for path in paths if links.intersection(Path(path).parents))


def _copy_file(source: Path, worktree: Checkout, path: str) -> str:
    target = worktree.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    problem = OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    # The draft has to be on the file system of the target, and the git directory may be on another one.
    for folder in (worktree.git_dir / "aigon", worktree.root / ".aigon" / "runs"):
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"copy.{os.getpid()}"
        try:
            shutil.copy2(source, draft, follow_symlinks=False)
            content = hash_content(draft)
            draft.rename(target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            problem = error
            if error.errno != errno.EXDEV:
                break
        else:
            return content
    raise usage(
        f"It cannot be copied into the worktree: {problem.strerror}",
        where=str(source),
        hint="Fix the cause, or leave the path out of `worktree.copy`",
    ) from problem


def _get_copies_file(worktree: Checkout) -> Path:
    return worktree.git_dir / "aigon" / "copies.json"


MAX_SAVED_BYTES = 100 * 1024 * 1024
"""The limit for the ignored files of one worktree: they stay in the repository for good."""
REPRODUCIBLE = frozenset(
    (
        *("node_modules", "bower_components", ".pnpm-store", ".yarn", ".next", ".nuxt", ".turbo", ".parcel-cache"),
        *(".venv", "venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis", ".tox", ".nox"),
        *("htmlcov", "coverage", ".nyc_output", ".eggs", "target", "dist", "build", "_build", "vendor", ".gradle"),
        *(".cache", ".vite", ".vitest", ".svelte-kit", ".angular", "DerivedData", ".build", "Pods", "CMakeFiles"),
    )
)
"""Folders that tools make again."""
_REPRODUCIBLE_FILES = compile_re(
    r".*\.py[co]|\.coverage(\..*)?|coverage\.(xml|json|lcov)|\.DS_Store|.*\.tsbuildinfo|\.eslintcache"
)
_COMMITTED = compile_re(r"^[^\t]*\t(commit|cherry-pick|rebase|am)\b", re.MULTILINE)
"""A reflog line about a commit that was made there. A clone or a checkout writes no such line."""


class IgnoredFiles(Struct, frozen=True):
    """The paths to save in a commit, or the reason why the worktree has to stay."""

    paths: tuple[str, ...] = ()
    reason: str = ""


def sort_ignored_files(main: Checkout, worktree: Checkout) -> IgnoredFiles:
    """Return which ignored files of `worktree` have to be saved. No file is touched."""
    copies, paths, size, root = read_copies(worktree), [], 0, worktree.root
    ignored = _list_ignored(worktree)
    try:
        for path in chain(_list_work(root, ignored), _list_committed_repositories(root, ignored)):
            if path.endswith("/.git"):
                return IgnoredFiles(reason=f"{path[:-5]} is a repository of its own, and git ignores it here")
            if _is_kept_elsewhere(main.root, root, path, copies):
                continue
            size += (root / path).lstat().st_size
            if reason := _explain_unsaveable(root, path, size):
                return IgnoredFiles(reason=reason)
            paths.append(path)
    except OSError as error:
        return IgnoredFiles(reason=f"{error.filename} cannot be read: {error.strerror}")
    return IgnoredFiles(tuple(paths))


def list_ignored_work(worktree: Checkout) -> Iterator[str]:
    """Yield ignored files and links, except those that tools make again; of a nested repository only its `.git`."""
    return _list_work(worktree.root, _list_ignored(worktree))


def _list_work(root: Path, ignored: Sequence[str]) -> Iterator[str]:
    for path in ignored:
        if path.endswith("/"):
            yield from _walk_folder(root, path.rstrip("/"))
        elif _may_hold_work(root / path, path):
            yield path


def _list_committed_repositories(root: Path, ignored: Sequence[str]) -> Iterator[str]:
    """Yield the `.git` of each repository in an ignored folder that has commits of its own: no tool makes it again."""
    for folder in (path for path in ignored if path.endswith("/")):
        for place, names, _ in os.walk(root / folder):
            log = Path(place, ".git", "logs", "HEAD")
            if ".git" in names and log.is_file() and _COMMITTED.search(log.read_text(errors="replace")):
                yield str(Path(place, ".git").relative_to(root))
            names[:] = [name for name in names if name != ".git"]


def _list_ignored(worktree: Checkout) -> tuple[str, ...]:
    """Return the ignored files, and with a trailing `/` the folders that are ignored as a whole."""
    options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return split_paths(worktree.git(*NO_HOOKS, "ls-files", *options))


def _walk_folder(root: Path, folder: str) -> Iterator[str]:
    parts = folder.split("/")
    if REPRODUCIBLE.intersection(parts) or any(part.endswith(".egg-info") for part in parts):
        return
    if (root / folder / "pyvenv.cfg").is_file():
        return
    with os.scandir(root / folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    if any(entry.name == ".git" for entry in entries):
        yield f"{folder}/.git"
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(root, path)
        elif _may_hold_work(Path(entry.path), path):
            yield path


def _may_hold_work(file: Path, path: str) -> bool:
    """Return False for aigon's own files, for those that tools make again, and for sockets and pipes."""
    is_made = REPRODUCIBLE.intersection(path.split("/")[:-1]) or _REPRODUCIBLE_FILES.fullmatch(file.name)
    return not is_made and not is_runtime(path) and (file.is_symlink() or file.is_file())


def _is_kept_elsewhere(main: Path, root: Path, path: str, copies: Mapping[str, str]) -> bool:
    """Return whether the main checkout has the same content, or had it when the file was copied."""
    file, original = root / path, main / path
    if file.is_symlink() and Path(os.path.realpath(file)).is_relative_to(main):
        return True
    content = hash_content(file)
    if (original.is_symlink() or original.is_file()) and hash_content(original) == content:
        return True
    return copies.get(path) == content and not _may_be_secret(path)


def _may_be_secret(path: str) -> bool:
    return is_secret_name(path) or path.rpartition("/")[2].startswith(".env")


def _explain_unsaveable(root: Path, path: str, size: int) -> str:
    if _may_be_secret(path):
        return f"{path} may hold secrets, git ignores it, and the main checkout has no such file, or another one"
    if size > MAX_SAVED_BYTES:
        return f"git ignores more than {MAX_SAVED_BYTES // 1024**2} MB of files there, such as {path}"
    secret = None if (root / path).is_symlink() else find_leak(path, (root / path).read_bytes())
    return f"{path} is ignored by git and not to be saved aside: {secret.why}" if secret else ""
