"""The environment for a candidate's tests: its checks as they were frozen, its dependencies, its variables."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from aigon.checks import reuse
from aigon.checks.parsers.readings import name_in_report
from aigon.checks.reports import ADDOPTS, EVERY_TEST
from aigon.config.loading import build_tool_path
from aigon.config.models import Config
from aigon.errors import AigonError, environment
from aigon.files.atomic import write_atomic
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.isolation.check_sandbox import make_check_sandbox
from aigon.job.assessment import Demand
from aigon.job.job import Job, ProofPlan
from aigon.job.options import Limits
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.records import Records
from aigon.model.checks import CheckStatus, Problem, TestResult
from aigon.model.criteria import Spec
from aigon.process.stop import Stop
from aigon.proof import protection
from aigon.proof.frozen import Frozen, load
from aigon.secrets import redaction
from aigon.spec.features import Feature


class Stand(Struct, frozen=True):
    """`job` has the checks that run tests and how rooms are made; `record` is what was frozen of the candidate."""

    job: Job
    world: World
    record: Frozen


@contextmanager
def open_stand(
    main: Checkout, config: Config, records: Records, folder: Path, run_id: str, stop: Stop
) -> Iterator[Stand]:
    """Yield the stand of one candidate: in its worktree if that exists, else in the main checkout.

    Raises AigonError (exit 7) if nothing is known of its checks, or if its project cannot be proven elsewhere.
    """
    record = load(records.frozen)
    if record is None:
        raise environment("Nothing is recorded of how this candidate was checked", where=str(records.frozen))
    plan = protection.proof_of(main.root, config)
    if plan.mode == "in-place":
        raise environment('its tests cannot be run elsewhere: "proof" is "in-place"', where=".aigon/config.json")
    with ExitStack() as held:
        checkout = _open_worktree(main, record, held)
        if str(checkout.root) != record.root:
            record = _move_record(record, checkout.root, plan)
        world = _build_world(checkout, config, records, folder, run_id, stop)
        held.callback(world.close)
        wanted: Any = os.environ.get("AIGON_SANDBOX")
        if box := make_check_sandbox(checkout, main.root, config, plan, world.check_env, folder, "compared", wanted):
            world.attend(box)
        yield Stand(build_job(record, plan), world, record)


def _open_worktree(main: Checkout, record: Frozen, held: ExitStack) -> Checkout:
    """Return the checkout that was worked in, or the main one if that is gone."""
    if record.root != str(main.root) and Path(record.root).is_dir():
        try:
            found = held.enter_context(Checkout.open(Path(record.root)))
        except AigonError:
            return main
        if found.common_dir == main.common_dir and str(found.root) == record.root:
            return found
    return main


def _move_record(record: Frozen, root: Path, plan: ProofPlan) -> Frozen:
    """Return the record for another checkout of the repository, with the dependencies of that one."""
    old = record.root

    def move(text: str) -> str:
        return f"{root}{text[len(old) :]}" if text == old or text.startswith(f"{old}/") else text

    checks = tuple(
        replace(check, argv=tuple(map(move, check.argv)), env={name: move(v) for name, v in check.env.items()})
        for check in record.checks
    )
    folders = reuse.find_dependency_folders(root, plan.setups)
    return replace(record, root=str(root), checks=checks, folders=folders)


def _build_world(checkout: Checkout, config: Config, records: Records, folder: Path, run_id: str, stop: Stop) -> World:
    branch = checkout.branch or ""
    return World(
        run_id=run_id,
        workspace=Workspace(checkout, folder / "git", branch, objects=folder.parent / "objects"),
        checkout=checkout.root,
        folder=folder / "run",
        home=records.folder.parent.parent,
        stop=stop,
        agent_env={},
        check_env=build_check_env(checkout.root, config, run_id),
        redact=redaction.make_redactor(os.environ),
        keeps=False,
    )


def build_job(record: Frozen, plan: ProofPlan) -> Job:
    """Return as much of a job as a room asks for, with the frozen checks that run tests.

    Without such a check it has the validation script, which may run some.
    """
    tests = [check for check in record.checks if check.role == "tests"]
    tests = tests or [check for check in record.checks if check.role == "script"]
    return Job(
        feature=Feature("", "compared", "", ""),
        label="",
        mode="solo",
        spec=Spec(b"", "", {}, (), None),
        spec_path="",
        log_path="",
        base_commit=record.base,
        # A check with options of its own for pytest gets the same ones as those without.
        checks=tuple(replace(c, env=_run_every_test(c.env)) if ADDOPTS in c.env else c for c in tests),
        demand=Demand(()),
        limits=Limits(),
        steps=(),
        judge=None,
        template="",
        turn_timeout=0.0,
        proof=plan,
    )


def build_check_env(root: Path, config: Config, run_id: str) -> dict[str, str]:
    """Return the environment of checks, in which pytest runs every test that it can."""
    env = redaction.drop_credentials(dict(os.environ), config.env.pass_)
    return _run_every_test({**env, "PATH": build_tool_path(root), "AIGON_RUN": run_id})


def _run_every_test(env: Mapping[str, str]) -> dict[str, str]:
    return {**env, ADDOPTS: f"{env.get(ADDOPTS, '')} {EVERY_TEST}".strip()}


MOST_PROBLEMS = 200
"""Problems of one check that are kept."""
LONGEST_MESSAGE = 300
"""Characters of what one of them says."""
IMPORTS = ("ImportError", "ModuleNotFoundError", "cannot import name", "No module named", "Cannot find module")
"""What an import that is missing says, in Python and in node."""


class CheckRun(Struct, frozen=True):
    """One check on one tree. `tests` are results by id, `reported` whether a report names them all."""

    check: str
    status: CheckStatus
    summary: str
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def lasting(self) -> bool:
        """True if the same would come again; what was killed or ran out of time says nothing of the tree."""
        return self.status in ("pass", "fail")

    def fails_to_load(self, test: str) -> bool:
        """Return whether a missing test, or the file or class that it is in, is named as what could not be loaded.

        The id of a test that is called like its file is that of the file.
        """
        broken = {name for name, result in self.tests.items() if result in ("failed", "error")}
        broken |= {problem.test or problem.file for problem in self.problems} - {""}
        within = (test == name or test.startswith((f"{name}::", f"{name}.")) for name in broken)
        return test not in self.tests and any(within)

    def lacks_import(self, test: str) -> bool:
        """Return whether a test failed because something that it imports is not there."""
        said = (each.message for each in self.problems if each.test == test)
        return any(word in message for message in said for word in IMPORTS)


def summarize_result(result: Result) -> CheckRun:
    """Return what is kept of a result. Problems name tests as the report does."""
    finding = result.finding
    problems = tuple(
        Problem(p.message[:LONGEST_MESSAGE], p.file, test=name_in_report(p.test))
        for p in finding.problems[:MOST_PROBLEMS]
    )
    return CheckRun(finding.check, finding.status, finding.summary, dict(result.tests), result.reported, problems)


def load_runs(file: Path) -> tuple[CheckRun, ...] | None:
    """Return what was remembered; None if there is nothing, or nothing that can be read."""
    try:
        return convert(json.loads(file.read_bytes()), tuple[CheckRun, ...])
    except (OSError, ValueError, RecursionError):
        return None


def save_runs(file: Path, all_: Sequence[CheckRun]) -> None:
    """Remember runs that would come to the same again."""
    if all(each.lasting for each in all_):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, json.dumps([to_builtins(each) for each in all_]).encode("utf-8", "surrogatepass"))
