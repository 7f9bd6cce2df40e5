"""Where tests are written, and what a person accepts of them.

They are written in repositories of aigon's own: nothing of them is in the person's, so no worker finds it. Accepted
ones are committed before the work begins, or held in aigon's records, out of its sight.
"""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.project import find_editable_installs
from aigon.config.loading import build_tool_path, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import environment, usage
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.folders import remove_tree
from aigon.files.home import ensure_home, find_home, is_runtime
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job.bookkeeping import Committing, commit_as_asked
from aigon.job.job import Seat, hold_checkout
from aigon.job.spec_locations import locate_spec
from aigon.journal.decisions import Acceptance, AcceptanceTest
from aigon.journal.records import Origin, load_acceptance, locate_records, save_acceptance, sum_earlier_spend
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate, format_branch_name
from aigon.proof.protection import proof_of
from aigon.proof.vacuity import absent_files
from aigon.run.feature_stages import set_up_feature
from aigon.spec.annotation import Annotation, find_script
from aigon.spec.document import annotate
from aigon.spec.features import Feature
from aigon.spec.files import read_spec
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


PROGRAM_MODE = 0o755


def require_proposal(main: Checkout, wanted: str) -> Acceptance:
    """Return the tests that wait for a person. Raises AigonError (exit 2) if none do."""
    feature = locate_spec(main.root, main.common_dir, wanted).feature
    acceptance = load_acceptance(ensure_home(main.common_dir), feature.name_for_people)
    if acceptance is None or acceptance.accepted_by:
        what = f"No tests of feature {feature.name_for_people} wait for a person"
        raise usage(what, hint=f"aigon feature-prove {feature.name_for_people} has an agent write some")
    return acceptance


def choose_tests(acceptance: Acceptance, numbers: Collection[int] = ()) -> tuple[AcceptanceTest, ...]:
    """Return the tests of these criteria, all that are worth something without numbers.

    Raises AigonError (exit 2) for one that is worth nothing.
    """
    sound = {test.number: test for test in acceptance.tests if test.is_worth}
    if wrong := [number for number in numbers if number not in sound]:
        listed = ", ".join(map(str, sound)) or "none"
        raise usage(f"Criterion {wrong[0]} has no test that shows anything", hint=f"These have: {listed}")
    return tuple(test for number, test in sound.items() if not numbers or number in numbers)


def accept_tests(
    main: Checkout, acceptance: Acceptance, tests: Sequence[AcceptanceTest], who: str, how: Committing
) -> Acceptance:
    """Let these tests decide their criteria from now on.

    Visible tests and the annotations of the spec are committed on the feature's branch, which is checked out, and the
    work is compared with that commit. Raises AigonError: exit 2 if the spec has changed, 7 if nothing can be committed.
    """
    hidden = load_configuration(open_work_tree(main.root)).ralph.hidden_tests
    chosen = {test.number for test in tests}
    rows = tuple(replace(test, is_accepted=test.number in chosen) for test in acceptance.tests)
    accepted = replace(acceptance, tests=rows, hidden=hidden, accepted_by=who)
    home = ensure_home(main.common_dir)
    with hold_checkout(main):
        if hidden:
            _require_same_spec(main, accepted)
        else:
            _commit_tests(main, accepted, how)
            accepted = replace(accepted, files={})
        save_acceptance(home, accepted)
    locate_ground(home, acceptance.feature).clear()
    return accepted


def _require_same_spec(main: Checkout, acceptance: Acceptance) -> None:
    spec = locate_spec(main.root, main.common_dir, acceptance.feature).parse()
    texts = {criterion.number: criterion.text for criterion in spec.criteria}
    if gone := [test for test in acceptance.tests if test.is_accepted and texts.get(test.number) != test.text]:
        raise usage(
            f"Criterion {gone[0].number} has changed since its test was written: {gone[0].text}",
            hint=f"aigon feature-prove {acceptance.feature} has tests written for the current spec",
        )


def _commit_tests(main: Checkout, acceptance: Acceptance, how: Committing) -> None:
    _require_same_spec(main, acceptance)
    feature, _ = set_up_feature(main, acceptance.feature, how)
    spec = read_spec(open_work_tree(main.root), feature)
    chosen = [test for test in acceptance.tests if test.is_accepted]
    raw = annotate(spec, {test.number: Annotation(test.kind, test.command) for test in chosen})
    files = select_files(acceptance)
    for path, data in files.items():
        write_file(main.root / path, data)
    write_atomic(main.root / feature.path, raw)
    message = f"test(feature-{acceptance.feature}): add acceptance tests\n\nT{acceptance.caveat[1:]}."
    commit_as_asked(main, [*files, feature.path], message, how)
    records = locate_records(ensure_home(main.common_dir), acceptance.feature)
    origin = records.origin()
    records.set_origin(Origin(origin.branch if origin else "", str(main.head)))


def select_files(acceptance: Acceptance) -> dict[str, bytes]:
    """Return the files of the tests, without those that only tests which were not accepted name."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for test in acceptance.tests:
        script = find_script(test.kind, test.command)
        named[test.is_accepted] |= {path.rstrip("/") for path in absent_files(script, lambda _path: False)}
    left_out = named[False] - named[True]
    return {path: data for path, data in acceptance.files.items() if path not in left_out}


def write_file(file: Path, data: bytes) -> None:
    """Write a file of a test; a script is a program."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, data)
    if data.startswith(b"#!"):
        file.chmod(PROGRAM_MODE)
