"""Implement a feature: prepare, open, drive."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aigon.core.events import Notice, RunFinished
from aigon.core.prompt import estimated_tokens
from aigon.ports import reaper
from aigon.ports.git import Checkout
from aigon.ports.stop import Stop
from aigon.run import actors, branch
from aigon.run.drive import Observer, Recorder, drive
from aigon.run.loop import run
from aigon.run.options import Options
from aigon.run.prepare import Prepared, prepare
from aigon.run.project_checks import require_tools
from aigon.run.recover import Confirm
from aigon.run.session import Session, opened
from aigon.run.turn import prompt_text
from aigon.run.world import World
from aigon.sinks.journal import JournalSink
from aigon.sinks.state_file import StateFileSink

Observers = Callable[[Session], Sequence[Observer]]


def implement(checkout: Checkout, options: Options, *, observers: Observers, confirm: Confirm) -> RunFinished:
    """Run the loop for one feature and one agent to its end. Raises AigonError before or instead of a run."""
    with branch.entered(checkout, options.feature):
        prepared = prepare(checkout, options)
        require_ready(checkout.root, prepared, options)
    stop = Stop([checkout.root / name for name in branch.STOP_FILES], said=lambda _: _say_how_to_stop(options.feature))
    with stop.handling(), opened(checkout, prepared, options, stop, confirm) as session:
        reaper.adopt_orphans()
        records = (JournalSink(session.records.journal), StateFileSink.after(session.state_file, session.past))
        recorder = Recorder(records, observers(session))
        try:
            state = recorder.deliver_all([*session.opening, *_said_before(prepared, session)], session.state)
            return drive(run(session.job, session.world, state), state, recorder)
        finally:
            reaper.sweep()
            recorder.close()


def require_ready(root: Path, prepared: Prepared, options: Options) -> None:
    """What cannot work is said now, not in the morning: agent and tools. Raises AigonError (exit 6 or 7)."""
    if prepared.agent:
        actors.require_agent(root, prepared.agent, prepared.env)
    if not options.skip_validation:
        require_tools(prepared.checks.checks)


def _said_before(prepared: Prepared, session: Session) -> Iterator[Notice]:
    """What a person should know before the first paid turn."""
    job, now = session.job, World.now()
    for warning in prepared.spec.warnings:
        yield Notice(now, f"{job.spec_path}:{warning.line}: {warning.message}", "warning")
    if not job.checks and not job.demand.skip_validation:
        yield Notice(
            now, "this project has no check: only verify, metric and a person can prove a criterion", "warning"
        )
    yield from _about_the_judge(prepared, now)
    tokens = estimated_tokens(prompt_text(job, session.world, session.state, session.state.finished + 1))
    cap = f"at most ${job.limits.max_cost:.2f}" if job.limits.max_cost else "no cost limit (--max-cost)"
    turns = job.limits.iterations
    yield Notice(now, f"up to {turns} turns of {job.rungs[0].name}, about {tokens} tokens of prompt each; {cap}")


def _about_the_judge(prepared: Prepared, now: str) -> Iterator[Notice]:
    waiting = [str(c.number) for c in prepared.spec.criteria if c.kind == "judge"]
    if waiting and prepared.judge:
        yield Notice(now, f"judge: {prepared.judge.backend} ({prepared.judge.model}) for {', '.join(waiting)}")
    elif waiting:
        yield Notice(now, f"no judge is ready: criteria {', '.join(waiting)} will wait for `aigon approve`", "warning")


def _say_how_to_stop(feature: str) -> None:
    """Written past Python's buffers: a signal handler may interrupt somebody who is just using them."""
    text = (
        "\naigon: finishing this iteration, then stopping. Ctrl+C again stops at once; nothing is lost either way.\n"
        f"To go on later: aigon feature-implement {feature} --resume\n"
    )
    with contextlib.suppress(OSError):
        os.write(2, text.encode(errors="replace"))
