"""The change of a labelled case, as git sees it: a temporary repository, and the difference between two trees of it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import AigonError, environment, usage
from aigon.git.diff import diff_trees
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.judge.labelled import Labelled
from aigon.model.changes import FileDiff
from aigon.process import run

_IDENTITY = (("user.name", "aigon judge-eval"), ("user.email", "judge-eval@example.invalid"))


@dataclass(frozen=True, slots=True)
class Bench:
    """Where changes are made: `root` is the work tree of `git`."""

    root: Path
    git: TrustedGit


@contextmanager
def bench() -> Iterator[Bench]:
    """A repository for the length of an evaluation. Raises AigonError (exit 7) when git cannot make one."""
    with tempfile.TemporaryDirectory(prefix="aigon-judge-eval-") as folder:
        root = Path(folder, "tree")
        root.mkdir()
        _git(root, "init", "-q")
        for key, value in _IDENTITY:
            _git(root, "config", key, value)
        with Checkout.open(root) as checkout:
            yield Bench(checkout.root, TrustedGit(checkout, Path(folder, "git")))


def _git(root: Path, *arguments: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    code, _, err = run.capture_output(("git", *arguments), cwd=root, env=env)
    if code:
        raise environment(f"git {arguments[0]} failed", where=str(root), hint=err.decode(errors="replace").strip())


def change(bench: Bench, case: Labelled) -> tuple[FileDiff, ...]:
    """What the case changes. Raises AigonError (exit 2) for a diff that does not apply, or nothing that changes."""
    _cleared(bench.root)
    _laid(case.folder / "before", bench.root)
    base = _tree(bench)
    _laid(case.folder / "after", bench.root)
    _applied(bench, case)
    for path in case.delete:
        _removed(bench.root, path, case)
    diffs = diff_trees(bench.git, base, _tree(bench), frozenset())
    if not diffs:
        raise usage("The case changes nothing", where=str(case.folder), hint="Compare its before/ with its after/")
    return diffs


def _cleared(root: Path) -> None:
    for entry in root.iterdir():
        if entry.name == ".git":
            continue
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _laid(source: Path, root: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, root, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))


def _tree(bench: Bench) -> str:
    bench.git.run("add", "--all", "--force", ".")
    return bench.git.run("write-tree").decode().strip()


def _applied(bench: Bench, case: Labelled) -> None:
    file = case.folder / "change.diff"
    if not file.is_file():
        return
    try:
        bench.git.run("apply", "--whitespace=nowarn", str(file.resolve()))
    except AigonError as error:
        hint = "It has to apply to before/, with the prefixes a/ and b/"
        raise usage(f"The diff does not apply: {error.hint}", where=str(file), hint=hint) from None


def _removed(root: Path, path: str, case: Labelled) -> None:
    try:
        (root / path).unlink()
    except OSError as error:
        raise usage(f"{path} cannot be deleted: {error.strerror}", where=str(case.folder / "case.yaml")) from None
