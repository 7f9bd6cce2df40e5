"""The person's repository, read and moved with their own git: the only importer of GitPython.

Nothing here runs after an agent has worked: the loop uses `aigon.git.workspace`, which never reads configuration that
an agent could have planted.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, environment
from aigon.files.system_errors import explain_git_error
from aigon.git.listings import parse_config, split_paths
from aigon.git.repository import (
    find_lender,
    find_ref,
    find_repository,
    find_repository_root,
    identify_index,
    is_named,
    read_branch,
)
from aigon.process.start import capture_output
from aigon.text.patterns import compile_re

LOCAL_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
    "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
)  # fmt: skip
"""What `git rev-parse --local-env-vars` prints: inherited from a hook or an alias, they redirect every call."""
NO_MONITOR = ("-c", "core.fsmonitor=false")
"""Without the program that any status would start, and that an agent of an earlier run could have named."""
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
"""Files in a git directory while an operation waits for a person to finish it."""
_PLAIN = compile_re(r"\w(?:[\w .@+-]*\w)?")
"""A name or an address of which git takes nothing away."""
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
SHOWN_LINES = 40
"""Lines at the end of a hook's output that an error shows: there linters sum up."""


def forget_inherited_repository() -> None:
    """Remove the variables from this process's environment that would redirect git to another repository."""
    for name in LOCAL_VARIABLES:
        os.environ.pop(name, None)


_Runner = Callable[[Path, Sequence[str], Mapping[str, str]], tuple[int, str, str]]


class Identity(Struct, frozen=True):
    """Author and committer, as git would use them."""

    author: tuple[str, str]
    committer: tuple[str, str]


class Checkout:
    """A work tree and what its repository says about itself. `git_dir` differs from `common_dir` in a worktree."""

    def __init__(self, root: Path, git_dir: Path, common_dir: Path) -> None:
        self.root, self.git_dir, self.common_dir = root, git_dir, common_dir
        self._listed: tuple[tuple[object, ...], str] = (), ""

    @staticmethod
    @contextmanager
    def open(start: Path) -> Iterator["Checkout"]:
        """Open the checkout around `start`. Raises AigonError (exit 7) outside of a work tree."""
        place = find_repository_root(start.resolve())
        if place and (lender := find_lender(place)):
            yield Checkout(place, lender, find_repository(place).common_dir)
        else:
            yield _find_checkout(place or start)

    def git(self, *arguments: str) -> str:
        """Run the person's own git and return what it prints. Raises AigonError (exit 7) with git's words."""
        return self._execute(arguments, {})

    def git_with_hooks(self, *arguments: str) -> str:
        """Like `git`, for a command with hooks: they get the person's locale, and an error ends with their output.

        GitPython runs it. Questions to git go without it, since the import takes longer than most of them.
        """
        # Under LC_ALL=C, which is for aigon, Ruby and Perl hooks cannot read UTF-8. Empty means unset.
        locale = {name: os.environ.get(name, "") for name in ("LC_ALL", "LANGUAGE")}
        try:
            return self._execute(arguments, locale, _run_with_gitpython)
        except AigonError as error:
            error.hint = take_last_lines(error.hint)
            raise

    def run_hook(self, name: str, *arguments: str) -> None:
        """Run the person's hook of this name, if there is one, as git would. Raises AigonError (exit 7)."""
        try:
            self.git_with_hooks("hook", "run", "--ignore-missing", name, "--", *arguments)
        except AigonError as error:
            raise environment(f"git hook {name} failed", where=str(self.root), hint=error.hint) from None

    def _execute(self, arguments: Sequence[str], env: Mapping[str, str], run: _Runner | None = None) -> str:
        # Whatever `.git` names while an agent works here: its repository has settings that nobody else may run.
        told = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.root)}
        told = {} if is_named(self.git_dir, self.root) else told
        code, out, said = (run or _run)(self.root, arguments, {**told, **env})
        if not code:
            return out
        what, said = f"git {name_command(arguments)} failed", said or out.strip()
        silent = f"It ended with {code} and printed nothing"
        if code == -signal.SIGXFSZ:
            silent = "It wrote more into a file than is allowed here: raise the limit (ulimit -f unlimited)"
        lack = explain_git_error(what, said, (self.root, self.common_dir, self.git_dir))
        raise lack or environment(what, where=str(self.root), hint=said or silent)

    def ask(self, *arguments: str) -> str | None:
        """Like `git`, but return None if git exits non-zero: for questions whose answer may be no."""
        try:
            return self.git(*arguments)
        except AigonError:
            return None

    @cached_property
    def config(self) -> Mapping[str, str]:
        """The effective configuration: the last value of each name, in lower case; `true` for a name alone."""
        return {name.lower(): value for name, value in parse_config(self.git("config", "--list", "-z"))}

    def list_index(self) -> str:
        """Return what `git ls-files -v -z` prints; git is asked again once the index is another."""
        try:
            now = identify_index(self.git_dir / "index")
        except OSError:
            now = ()
        if not now or self._listed[0] != now:
            self._listed = now, self.git("ls-files", "-v", "-z")
        return self._listed[1]

    @property
    def branch(self) -> str | None:
        """The branch that HEAD names; None if it is detached."""
        return read_branch(self.git_dir) or self.ask("symbolic-ref", "--short", "-q", "HEAD")

    @property
    def head(self) -> str | None:
        """The commit of HEAD; None before the first commit."""
        return self.ask("rev-parse", "--verify", "-q", "HEAD^{commit}")

    def commit_of(self, name: str) -> str | None:
        if name.startswith("refs/heads/") and find_ref(self.common_dir, name) == "":
            return None
        return self.ask("rev-parse", "--verify", "-q", f"{name}^{{commit}}")

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self.ask("merge-base", "--is-ancestor", ancestor, descendant) is not None

    def list_changed(self) -> list[str]:
        """Return paths with uncommitted changes, including untracked files; renames by both names."""
        out = self.git(*NO_HOOKS, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        return [entry[3:] for entry in split_paths(out)]

    def identity(self) -> Identity:
        """Return who commits. Raises AigonError (exit 7) if git does not know."""
        return self._identity

    @cached_property
    def _identity(self) -> Identity:
        try:
            if not (has_two := self._has_two_names()):
                name, mail = (self.config.get(f"user.{key}", "") for key in ("name", "email"))
                if _PLAIN.fullmatch(name) and _PLAIN.fullmatch(mail):
                    return Identity((name, mail), (name, mail))
            author = self.git("var", "GIT_AUTHOR_IDENT")
            committer = self.git("var", "GIT_COMMITTER_IDENT") if has_two else author
        except AigonError:
            raise environment(
                "git does not know who you are, so aigon cannot commit",
                where=str(self.root),
                hint='git config user.name "Your Name"; git config user.email you@example.com',
            ) from None
        return Identity(_parse_ident(author), _parse_ident(committer))

    def _has_two_names(self) -> bool:
        """Return whether anything sets author and committer apart."""
        return any(name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_")) for name in os.environ) or any(
            name.startswith(("author.", "committer.")) for name in self.config
        )

    def checked_out_elsewhere(self, branch: str) -> str | None:
        """Return the other worktree that has `branch` checked out."""
        if not (self.common_dir / "worktrees").is_dir():  # where git keeps what it knows of others
            return None
        for block in self.git("worktree", "list", "--porcelain").split("\n\n"):
            path, *lines = block.splitlines()
            path = path.removeprefix("worktree ")
            if f"branch refs/heads/{branch}" in lines and Path(path).resolve() != self.root:
                return path
        return None

    def under_way(self) -> str | None:
        """Return the operation that a person has not finished here: merge, rebase, cherry-pick, revert, bisect."""
        return next((name for mark, name in UNDER_WAY.items() if (self.git_dir / mark).exists()), None)

    def switch(self, branch: str, *, create: bool = False) -> None:
        """Check out `branch`, which it may `create` at HEAD, without hooks.

        git leaves index and files alone if it is not told that HEAD is where the branch begins.
        """
        self.git(*NO_HOOKS, "switch", "-q", *(["-c"] if create else []), branch)


def name_command(arguments: Sequence[str]) -> str:
    """Return the git command among these arguments, after options of git itself (`-c name=value`)."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-c", "-C") else rest[1:]
    return rest[0] if rest else ""


def take_last_lines(text: str) -> str:
    """Return the last SHOWN_LINES lines, and how many are left out."""
    lines = text.splitlines()
    left_out = len(lines) - SHOWN_LINES
    return text if left_out <= 0 else "\n".join([f"({left_out} lines left out)", *lines[left_out:]])


def _find_checkout(start: Path) -> Checkout:
    """Return the checkout as git finds it from this folder. Raises AigonError (exit 7) where it finds none."""
    asked = ("--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
    code, out, said = _run(start, ("rev-parse", *asked), {})
    answers = out.split("\n")
    if len(answers) > len(asked):  # a path has a line end
        answers = [_run(start, ("rev-parse", each), {})[1] for each in asked]
    if code and "not a git repository" in said:
        raise environment(
            "This is not a git repository", where=str(start), hint="Run `git init` here, or go to your repository"
        )
    if answers[0] == "true":
        raise environment(
            "This repository is bare: it has no work tree for an agent",
            where=answers[1],
            hint="Clone it and run aigon in the clone",
        )
    if "dubious ownership" in said:
        raise environment(
            "git refuses to read this repository, because another user owns it",
            where=str(start),
            hint=said.rpartition("\t")[2],  # git's own command, which quotes the path
        )
    if code:  # a damaged configuration
        raise environment("git cannot read this repository", where=str(start), hint=said)
    _, git_dir, common, root = ((start / answer).resolve() for answer in answers)
    return Checkout(root, git_dir, common)


def _run(folder: Path, arguments: Sequence[str], env: Mapping[str, str]) -> tuple[int, str, str]:
    """Return exit code, output and errors of the person's git. Raises AigonError (exit 7) where there is no git."""
    whole = {**os.environ, "LANGUAGE": "C", "LC_ALL": "C", **env}
    try:
        code, *texts = capture_output(("git", *NO_MONITOR, *arguments), cwd=folder, env=whole, restore_signals=True)
    except OSError as error:
        if not folder.is_dir():
            return 128, "", "not a git repository"
        raise environment("git is not installed, or not on PATH", hint="Install git 2.36 or newer") from error
    out, err = (text.decode(errors="surrogateescape").removesuffix("\n") for text in texts)
    return code, out, err.strip()


def _run_with_gitpython(folder: Path, arguments: Sequence[str], env: Mapping[str, str]) -> tuple[int, str, str]:
    from git import Git

    code, out, said = Git(folder).execute(
        ["git", *NO_MONITOR, *arguments],
        env=env,
        with_extended_output=True,
        with_exceptions=False,
        start_new_session=True,
    )
    return code, str(out), str(said).strip()


def _parse_ident(ident: str) -> tuple[str, str]:
    name, _, rest = ident.partition(" <")
    return name, rest.partition(">")[0]
