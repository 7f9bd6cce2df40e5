"""Where git keeps what decides what a person's next git command does, and which changes there do no harm."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from aigon.files.home import NOTE, names
from aigon.git.config_changes import entries, less_sparse, unwanted
from aigon.git.kept_places import Opinion, Places
from aigon.git.trusted import TrustedGit

_SHARED = (
    "config", "config.worktree", "commondir", "shallow", "objects/info/alternates",
    "info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout",
)  # fmt: skip
"""Files of a git directory, there or not. A planted `commondir` would send git elsewhere for all of them; `info/refs`
is left out, since git writes it itself."""
_FOLDERS = ("hooks", "branches", "remotes")
_WORKTREE = ("config.worktree", "commondir", "gitdir", "info/sparse-checkout", "info/attributes", "info/exclude")
_CONFIGURATION = ("config", "config.worktree")


def places(
    git: TrustedGit, hooks_path: str = "", more: Callable[[], Places] = lambda: Places(())
) -> Callable[[], Places]:
    """What to keep of a checkout: its repository, its other worktrees, its submodules, aigon's own git directory.

    `hooks_path` is the person's `core.hooksPath`: hooks in the work tree are files like any other, hooks elsewhere
    are kept. `more` adds what aigon itself writes. Submodules and worktrees are looked for each time.
    """
    common, own = git.common_dir, git.directory
    roots = (git.root, common, git.git_dir, own)
    files = [common / name for name in _SHARED] + [own / name for name in (*_SHARED, "HEAD", "attributes")]
    files += [common / "aigon" / "id", common / "aigon" / NOTE]
    if git.git_dir != common:
        files += [git.root / ".git", *(git.git_dir / name for name in _WORKTREE)]
    folders = [common / name for name in _FOLDERS] + [own / "hooks", *_hooks(git, hooks_path)]

    def found() -> Places:
        others, modules, added = _worktrees(git), tuple(_modules(common / "modules")), more()
        return Places(
            (*roots, *added.roots),
            (
                *files,
                *(folder / name for folder in others for name in _WORKTREE),
                *(module / name for module in modules for name in _SHARED),
                *added.files,
            ),
            (*folders, *(module / "hooks" for module in modules), *added.folders),
            added.growing,
            (*others, *modules, *added.passing),
            (common / "info", own / "info", *(folder / "info" for folder in (*others, *modules)), *added.unlinked),
        )

    return found


def _hooks(git: TrustedGit, configured: str) -> Iterator[Path]:
    """The folder that `core.hooksPath` names, unless it is part of the work tree."""
    folder = git.root / Path(configured).expanduser() if configured else None
    if folder and folder.is_dir():
        folder = folder.resolve()
        if not folder.is_relative_to(git.root) or folder.is_relative_to(git.common_dir):
            yield folder


def _worktrees(git: TrustedGit) -> tuple[Path, ...]:
    return tuple(folder for folder in _subfolders(git.common_dir / "worktrees") if folder != git.git_dir)


def _modules(folder: Path) -> Iterator[Path]:
    """Git directories of submodules, those of their submodules too; a name may have slashes in it."""
    for found in _subfolders(folder):
        if (found / "HEAD").exists():
            yield found
            yield from _modules(found / "modules")
        else:
            yield from _modules(found)


def _subfolders(folder: Path) -> Iterator[Path]:
    if os.path.isdir(folder):  # noqa: PTH112 - asked in every iteration, and quicker
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
        yield from (folder / name for name in names)


def persons_own(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The person's own configuration files, and where they lead to: `git config --global` writes them."""
    home = Path(env.get("HOME", "~")).expanduser()
    xdg = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    names = [Path(env["GIT_CONFIG_GLOBAL"])] if env.get("GIT_CONFIG_GLOBAL") else [home / ".gitconfig", xdg]
    real = [path.resolve() for path in names if path.is_symlink()]
    return tuple(path for path in (*names, *real) if path != Path(os.devnull))


def opinion(git: TrustedGit, *, shared: bool = False) -> Opinion:
    """Lets be what git writes by itself while people work: a branch's upstream, a submodule's address, sample hooks.

    Where the repository is `shared` with other loops, also where their worktrees are now, and what makes them sparse.
    """
    others = git.common_dir / "worktrees"
    here = git.git_dir if git.git_dir != git.common_dir else None

    def said(path: Path, before: bytes | None, after: bytes | None) -> str | None:
        if path == git.common_dir / "aigon" / NOTE and names(after, git.common_dir):
            return None  # an aigon of another state home added that one
        elsewhere = path.is_relative_to(others) and here not in path.parents
        if shared and elsewhere and _of_its_own(path, after):
            return None
        if after is not None and path.suffix == ".sample" and path.parent.name == "hooks":
            return None
        if not path.name.endswith(_CONFIGURATION) or path.parent.name == "hooks":
            return ""
        old, new = _listing(git, before or b""), _listing(git, after or b"")
        if old is None or new is None or after is None:
            return "git cannot read it" if new is None else ""
        if shared and (elsewhere or path == git.common_dir / "config"):
            old, new = less_sparse(old, own=elsewhere), less_sparse(new, own=elsewhere)
        return ", ".join(unwanted(old, new)) or None

    return said


def _of_its_own(path: Path, after: bytes | None) -> bool:
    """Whether a file of a worktree says no more than which files are there, or truly where it is now."""
    return path.name == "sparse-checkout" or (path.name == "gitdir" and _leads_back(path, after or b""))


def _leads_back(gitdir: Path, content: bytes) -> bool:
    """Whether the work tree that a `gitdir` names says that this git directory is its own."""
    try:
        there = Path(os.fsdecode(content.rstrip(b"\n"))).read_bytes()
    except (OSError, ValueError):
        return False
    return os.fsdecode(there.rstrip(b"\n")) == f"gitdir: {gitdir.parent}"


def _listing(git: TrustedGit, text: bytes) -> tuple[tuple[str, str], ...] | None:
    """The entries of a configuration, without those of files that it includes; None where git cannot read it."""
    code, out, _ = git.attempt("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text)
    return entries(out) if code == 0 else None
