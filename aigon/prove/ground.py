"""Repositories of aigon's own that tests are written in: nothing of them is in the person's, so no worker finds it."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from aigon.checks.project import find_editable_installs
from aigon.config.loading import build_tool_path, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.folders import remove_tree
from aigon.files.home import find_home, is_runtime
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job.seat import Seat
from aigon.journal.records import locate_records, sum_earlier_spend
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate, format_branch_name
from aigon.proof.protection import proof_of
from aigon.spec.features import Feature
from aigon.worktrees.worktree import prepare_worktree

BASE = "aigon-base"
"""The branch that tests are written from: no feature's."""
SETTINGS = ".aigon"


class Ground(Struct, frozen=True):
    """Where the tests of one feature are written: `tests` is a repository, `witness` one for what turns them green."""

    place: Path

    @property
    def tests(self) -> Path:
        return self.place / "tests"

    @property
    def witness(self) -> Path:
        return self.place / "witness"

    def clear(self, *, witness_only: bool = False) -> None:
        """Throw the repositories away, and what aigon recorded of them but the journals."""
        (self.place / "witness.json").unlink(missing_ok=True)
        for repository in (self.witness,) if witness_only else (self.witness, self.tests):
            if home := find_home(repository / ".git"):
                for journal in home.glob("features/*/journal*.jsonl"):
                    shutil.copy2(journal, self.place / f"{repository.name}-{journal.name}")
                remove_tree(home)
            remove_tree(repository)


def locate_ground(home: Path, feature: str) -> Ground:
    """Return where the tests of the feature are written."""
    return Ground(home / "proving" / feature)


def copy_project(main: Checkout, commit: str, place: Path, files: Mapping[str, bytes]) -> None:
    """Make a repository at `place` with a work tree of the person's `commit` and these files over it, all committed.

    It has no remote. Raises AigonError (exit 7).
    """
    remove_tree(place)
    make_lasting(place.parent)
    main.git("clone", "-q", "--local", "--no-checkout", "--no-tags", "--template=", "--", str(main.root), str(place))
    name, email = main.identity().author
    with Checkout.open(place) as copy:
        for key, value in (("user.name", name), ("user.email", email), ("commit.gpgsign", "false")):
            copy.git("config", key, value)
        copy.git(*NO_HOOKS, "checkout", "-q", "-B", BASE, commit)
        for other in copy.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split():
            if other != BASE:
                copy.git("branch", "-q", "-D", other)
        copy.git("remote", "remove", "origin")
        for path, data in files.items():
            (copy.root / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(copy.root / path, data)
        copy.git("add", "-A", "-f", "--", *files)
        copy.git(*NO_HOOKS, "commit", "-q", "--allow-empty", "--no-verify", "-m", "What tests are written for")


def list_settings(root: Path) -> dict[str, bytes]:
    """Return aigon's configuration as the work tree has it, committed or not."""
    folder = root / SETTINGS
    paths = (Path(above, name) for above, _, names in os.walk(folder) for name in names)
    found = {path.relative_to(root).as_posix(): path for path in paths if path.is_file() and not path.is_symlink()}
    return {name: path.read_bytes() for name, path in found.items() if not is_runtime(name)}


def prepare_seat(main: Checkout, copy: Checkout, feature: Feature, label: str) -> Seat:
    """Return the seat in a copy of the project, with the dependencies that the person's checkout has.

    Raises AigonError: exit 2 for the configuration, 7 if they would lead tests to the person's checkout.
    """
    config = load_configuration(open_work_tree(main.root))
    branch = format_branch_name(feature.id, label, feature.slug)
    candidate = Candidate(feature.name_for_people, feature.slug, label, "", "worktree", 0, branch, str(copy.root))
    if config.worktree.copy_ or config.worktree.link or config.worktree.setup:
        prepare_worktree(main, copy, candidate, config, lambda _text: None)
    linked = tuple(_link_dependencies(main.root, copy, config))
    found = find_editable_installs(main.root, {**os.environ, "PATH": build_tool_path(copy.root)})
    if linked and found:
        raise environment(
            f"{', '.join(found)} is installed editable from {main.root}: tests elsewhere would test that checkout",
            where=str(copy.root),
            hint='Say how another checkout gets its own environment: "worktree": {"setup": "python3 -m venv .venv && '
            '.venv/bin/pip install -e ."} in .aigon/config.json',
        )
    return Seat(copy, copy.root, linked=linked)


def _link_dependencies(root: Path, copy: Checkout, config: Config) -> Iterator[str]:
    """Link the folders of dependencies that git does not bring; yield where they are."""
    for setup in proof_of(root, config).setups:
        source, target = root / setup.makes, copy.root / setup.makes
        ignored = setup.makes and copy.ask("check-ignore", "-q", "--", f"{setup.makes}/") is not None
        if ignored and source.is_dir() and not os.path.lexists(target):
            target.symlink_to(source.resolve())
            (copy.git_dir / "info").mkdir(exist_ok=True)
            with (copy.git_dir / "info" / "exclude").open("a") as file:
                file.write(f"/{setup.makes}\n")  # a pattern that ends in / does not mean a link
        if ignored and target.is_symlink():
            yield os.path.realpath(target)


def sum_cost(repository: Path, feature: str) -> Spend:
    """Return what the runs in a copy of the project have cost."""
    home = find_home(repository / ".git")
    return sum_earlier_spend(locate_records(home, feature)) if home else Spend()
