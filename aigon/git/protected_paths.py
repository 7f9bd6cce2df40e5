"""Paths by which git decides what a person's next command does, and the changes there that do no harm."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aigon.files.home import NOTE, is_note_current
from aigon.git.file_protection import Opinion, ProtectedPaths
from aigon.git.listings import parse_config
from aigon.git.trusted import TrustedGit
from aigon.text.patterns import compile_re

_SHARED = (
    "config", "config.worktree", "commondir", "shallow", "objects/info/alternates",
    "info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout",
)  # fmt: skip
"""Files of a git directory, existing or not, except `info/refs`, which git itself writes. A planted `commondir` would
redirect git for all of them."""
_FOLDERS = ("hooks", "branches", "remotes")
_WORKTREE = ("config.worktree", "commondir", "gitdir", "info/sparse-checkout", "info/attributes", "info/exclude")
_CONFIGURATION = ("config", "config.worktree")


def watch_git_paths(
    git: TrustedGit, hooks_path: str = "", more: Callable[[], ProtectedPaths] = lambda: ProtectedPaths(())
) -> Callable[[], ProtectedPaths]:
    """Return a function that lists what to protect: in the repository, worktrees, submodules, aigon's git directory.

    `hooks_path` is the person's `core.hooksPath`: hooks in the work tree are files like any other, hooks elsewhere are
    protected. `more` adds what aigon itself writes.
    """
    common, own = git.common_dir, git.directory
    roots = (git.root, common, git.git_dir, own)
    files = [common / name for name in _SHARED] + [own / name for name in (*_SHARED, "HEAD", "attributes")]
    files += [common / "aigon" / "id", common / "aigon" / NOTE]
    if git.git_dir != common:
        files += [git.root / ".git", *(git.git_dir / name for name in _WORKTREE)]
    folders = [common / name for name in _FOLDERS] + [own / "hooks", *_find_outer_hooks(git, hooks_path)]

    def list_paths() -> ProtectedPaths:
        others = tuple(folder for folder in _list_subfolders(common / "worktrees") if folder != git.git_dir)
        modules, added = tuple(_list_module_dirs(common / "modules")), more()
        return ProtectedPaths(
            (*roots, *added.roots),
            (
                *files,
                *(folder / name for folder in others for name in _WORKTREE),
                *(module / name for module in modules for name in _SHARED),
                *added.files,
            ),
            (*folders, *(module / "hooks" for module in modules), *added.folders),
            (*others, *modules, *added.passing),
            (common / "info", own / "info", *(folder / "info" for folder in (*others, *modules)), *added.unlinked),
        )

    return list_paths


def _find_outer_hooks(git: TrustedGit, configured: str) -> Iterator[Path]:
    """Yield the folder that `core.hooksPath` names, unless it is part of the work tree."""
    folder = git.root / Path(configured).expanduser() if configured else None
    if folder and folder.is_dir():
        folder = folder.resolve()
        if not folder.is_relative_to(git.root) or folder.is_relative_to(git.common_dir):
            yield folder


def _list_module_dirs(folder: Path) -> Iterator[Path]:
    """Yield the git directories of submodules, recursively; a name may have slashes in it."""
    for place in _list_subfolders(folder):
        if (place / "HEAD").exists():
            yield place
            yield from _list_module_dirs(place / "modules")
        else:
            yield from _list_module_dirs(place)


def _list_subfolders(folder: Path) -> Iterator[Path]:
    if os.path.isdir(folder):  # noqa: PTH112 - asked in every iteration, and quicker
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        yield from (folder / name for name in names)


def list_global_config(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the person's global configuration files and the targets of links: `git config --global` writes them."""
    home = Path(env.get("HOME", "~")).expanduser()
    xdg = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    names = [Path(env["GIT_CONFIG_GLOBAL"])] if env.get("GIT_CONFIG_GLOBAL") else [home / ".gitconfig", xdg]
    real = [path.resolve() for path in names if path.is_symlink()]
    return tuple(path for path in (*names, *real) if path != Path(os.devnull))


def make_opinion(git: TrustedGit, *, shared: bool = False) -> Opinion:
    """Return an opinion that accepts what git itself writes: a branch's upstream, a submodule's URL, sample hooks.

    In a repository that is `shared` with other loops, it accepts where their worktrees are and what makes them sparse.
    """
    others = git.common_dir / "worktrees"
    here = git.git_dir if git.git_dir != git.common_dir else None

    def judge(path: Path, before: bytes | None, after: bytes | None) -> str | None:
        if path == git.common_dir / "aigon" / NOTE and is_note_current(after, git.common_dir):
            return None  # an aigon with another state home added it
        elsewhere = path.is_relative_to(others) and here not in path.parents
        if shared and elsewhere and (path.name == "sparse-checkout" or _leads_back(path, after or b"")):
            return None
        if after is not None and path.suffix == ".sample" and path.parent.name == "hooks":
            return None
        if not path.name.endswith(_CONFIGURATION) or path.parent.name == "hooks":
            return ""
        old, new = _list_config(git, before or b""), _list_config(git, after or b"")
        if old is None or new is None or after is None:
            return "git cannot read it" if new is None else ""
        if shared and elsewhere:
            old, new = (tuple(entry for entry in each if not _SPARSE.fullmatch(entry[0])) for each in (old, new))
        elif shared and path == git.common_dir / "config":
            # It permits git to read the configuration of other worktrees, which are all protected.
            old, new = (tuple(entry for entry in each if entry != _WORKTREE_CONFIG) for each in (old, new))
        return ", ".join(find_unwanted(old, new)) or None

    return judge


def _leads_back(gitdir: Path, content: bytes) -> bool:
    """Return whether this is the `gitdir` of a worktree, and the work tree that it names claims this git directory."""
    try:
        claim = Path(os.fsdecode(content.rstrip(b"\n"))).read_bytes() if gitdir.name == "gitdir" else b""
    except (OSError, ValueError):
        return False
    return os.fsdecode(claim.rstrip(b"\n")) == f"gitdir: {gitdir.parent}"


def _list_config(git: TrustedGit, text: bytes) -> tuple[tuple[str, str], ...] | None:
    code, out, _ = git.attempt("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text)
    return parse_config(out) if code == 0 else None


ConfigEntry = tuple[str, str]
"""A name, as `git config --list` writes it, and its value."""

_NAME = compile_re(r"[A-Za-z0-9_][\w./+-]*|\.")
_URL = compile_re(r"(?:https?|ssh|git|file)://[^\s-]\S*|[\w.][\w.-]*@[\w.][\w.-]*:[^-\s]\S*|\.{0,2}/\S*|[\w.][\w./ -]*")
_SWITCH = compile_re(r"true|false|yes|no|on|off|0|1|", re.I)
_ADDED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (compile_re(r"branch\..+\.(?:remote|pushremote)"), _NAME),
    (compile_re(r"branch\..+\.merge"), compile_re(r"refs/\S+")),
    (compile_re(r"branch\..+\.rebase"), compile_re(rf"{_SWITCH.pattern}|merges|interactive|i|m", re.I)),
    (compile_re(r"submodule\..+\.url"), _URL),
    (compile_re(r"submodule\..+\.active"), _SWITCH),
    (compile_re(r"submodule\..+\.branch"), _NAME),
    (compile_re(r"safe\.directory"), compile_re(r"/[^*]*")),
    (compile_re(r"maintenance\.repo"), compile_re(r"/.*")),
)
"""May be added with such a value if the name has none: `git push -u` and `git submodule add` write them."""
_SEVERAL = compile_re(r"safe\.directory|maintenance\.repo")
_ANYTHING = compile_re(
    r"gui\..*|advice\.\w+|branch\..+\.(?:description|vscode-merge-base|gh-merge-base|github-pr-[\w-]+)"
    r"|lfs\.repositoryformatversion|lfs\..+\.(?:access|locksverify)"
)
"""May be added, changed and removed: they run nothing and redirect nothing."""

_SPARSE = compile_re(r"core\.sparsecheckout(?:cone)?|index\.sparse")
_WORKTREE_CONFIG = ("extensions.worktreeconfig", "true")
"""What git writes to make a worktree sparse: into its own configuration, and into the shared one."""


def find_unwanted(before: Sequence[ConfigEntry], after: Sequence[ConfigEntry]) -> tuple[str, ...]:
    """Return the names whose change may do harm.

    Nobody can list all keys that name a program (attributes name filters and diff drivers), so the harmless are listed.
    """
    old, new = _drop_harmless(before), _drop_harmless(after)
    names = {name for name, _ in old}
    added, gone = Counter(new) - Counter(old), Counter(old) - Counter(new)
    bad = {name for name, value in added if not _may_be_added(name, value, names)} | {name for name, _ in gone}
    times = Counter(name for name, _ in added.elements())
    bad |= {name for name in times if times[name] > 1 and not _SEVERAL.fullmatch(name)}
    kept = [entry for entry in new if entry not in added]
    return tuple(sorted(bad or {was[0] for was, now in zip(old, kept, strict=False) if was != now}))


def _drop_harmless(entries: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    return [(name, value) for name, value in entries if not _ANYTHING.fullmatch(name)]


def _may_be_added(name: str, value: str, known: set[str]) -> bool:
    if name in known and not _SEVERAL.fullmatch(name):
        return False
    return "::" not in value and any(key.fullmatch(name) and allowed.fullmatch(value) for key, allowed in _ADDED)
