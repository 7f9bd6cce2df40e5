"""A person accepts tests: they are committed before the work begins, or held in aigon's records, out of its sight."""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing, commit_as_asked
from aigon.job.seat import hold_checkout
from aigon.job.spec_locations import locate_spec
from aigon.journal.acceptance import Acceptance, AcceptanceTest, load_acceptance, save_acceptance
from aigon.journal.records import Origin, locate_records
from aigon.proof.vacuity import absent_files
from aigon.prove.ground import locate_ground
from aigon.run.feature_stages import set_up_feature
from aigon.spec.annotation import Annotation, find_script
from aigon.spec.document import annotate
from aigon.spec.files import read_spec

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
