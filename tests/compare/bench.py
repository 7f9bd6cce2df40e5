"""A world to run checks in: a real repository and real processes, without a loop around them."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import psutil

from aigon.checks.schedule import Schedule, run_checks
from aigon.git.person import Checkout
from aigon.git.workspace import Tip, Workspace
from aigon.job.assessment import Assessment, Demand, Snapshot
from aigon.job.job import Job
from aigon.job.options import Limits
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State
from aigon.loop.assess import assess
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Spec, Verdict
from aigon.model.requests import JudgeSettings
from aigon.process.stop import Stop
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature
from tests.lab import Lab

R = TypeVar("R")


@contextmanager
def world_of(lab: Lab, env: Mapping[str, str] | None = None, keeps: bool = True) -> Iterator[World]:
    """The world of a run in `lab`; its records are in the lab's home."""
    with Checkout.open(lab.root) as checkout:
        yield World(
            run_id="run",
            workspace=Workspace(checkout, lab.home / "aigon" / "git", checkout.branch or ""),
            checkout=lab.root,
            folder=lab.home / "runs",
            home=lab.home / "aigon",
            stop=Stop(),
            agent_env=lab.env,
            check_env={**lab.env, **(env or {})},
            redact=lambda text: text,
            keeps=keeps,
        )


def script(name: str, text: str, **more: object) -> Check:
    """A check that runs a bash script."""
    return Check(name, "script", ("bash", "-c", text), **more)  # type: ignore[arg-type]


def plan(
    world: World,
    slots: int = 2,
    durations: Mapping[str, float] | None = None,
    stop_first: bool = False,
    use_cache: bool = True,
    known: tuple[str, ...] = (),
    key: Callable[[tuple[str, ...]], str] | None = None,
) -> Schedule:
    """How to run them; without a `key` of its own the work tree is snapshotted for it."""
    return Schedule(
        number=1,
        folder=world.folder / "001",
        content_key=key or snapshot(world).content().key,
        durations=durations or {},
        slots=slots,
        stop_on_first_failure=stop_first,
        use_cache=use_cache,
        known_failures=known,
    )


def snapshot(world: World, number: int = 1, base: str = "", own: frozenset[str] = frozenset()) -> Snapshot:
    """The work tree as it is now, beyond `base` (HEAD without it)."""
    tip = world.workspace.tip() or ""
    complaints = world.workspace.snapshot()
    return Snapshot(number, Tip(tip, tip), world.workspace, base or tip, own, complaints)


def drain(generator: Generator[Event, State, R], state: State | None = None) -> tuple[R, list[Event]]:
    """What a part of the loop returns, and its events."""
    events: list[Event] = []
    try:
        event = next(generator)
        while True:
            events.append(event)
            event = generator.send(state or State())
    except StopIteration as end:
        result: R = end.value
        return result, events


def ran(world: World, checks: Sequence[Check], how: Schedule | None = None) -> dict[str, Finding]:
    """The finding of each check."""
    results, _ = drain(run_checks(world, checks, how or plan(world)))
    return {result.finding.check: result.finding for result in results}


def results_of(
    world: World, checks: Sequence[Check], how: Schedule | None = None
) -> tuple[tuple[Result, ...], list[str]]:
    """The results in order, and the names of the checks that were started, in the order of their start."""
    results, events = drain(run_checks(world, checks, how or plan(world)))
    finished = [event.finding.check for event in events if isinstance(event, CheckFinished)]
    assert sorted(finished) == sorted(check.name for check in checks)
    return results, [event.check for event in events if isinstance(event, CheckStarted)]


def spec_of(*criteria: str, extra: str = "", frontmatter: str = "") -> Spec:
    """A spec with these criteria, one line each."""
    items = "".join(f"- [ ] {criterion}\n" for criterion in criteria)
    return parse_spec(f"{frontmatter}# Sample\n\n## Acceptance Criteria\n\n{items}\n{extra}".encode())


def job_of(spec: Spec, *checks: Check, base: str = "", judge: JudgeSettings | None = None, **more: object) -> Job:
    """A job in whose middle nothing but a look is of interest."""
    known: tuple[str, ...] = more.pop("known", ())  # type: ignore[assignment]
    skip = bool(more.pop("skip", False))
    return Job(
        feature=Feature("42", "sample", "spec.md", "in-progress"),
        label="",
        mode="solo",
        spec=spec,
        spec_path="spec.md",
        log_path="log.md",
        base_commit=base,
        checks=() if skip else checks,
        demand=Demand(spec.criteria, known, skip),
        limits=Limits(),
        steps=(),
        judge=judge,
        template="",
        turn_timeout=60.0,
        **more,  # type: ignore[arg-type]
    )


def looked(world: World, job: Job, state: State | None = None) -> Assessment:
    """A look at the work tree as it is now."""
    base = job.base_commit or world.workspace.tip() or ""
    return drain(assess(job, world, snapshot(world, base=base, own=job.own_files), state or State()), state)[0]


def verdicts(look: Assessment) -> list[tuple[str, str]]:
    """Status and method of each criterion."""
    return [(verdict.status, verdict.method) for verdict in look.verdicts]


def only(look: Assessment) -> Verdict:
    """The verdict on the only criterion."""
    (verdict,) = look.verdicts
    return verdict


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
