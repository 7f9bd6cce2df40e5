"""One agent turn: the prompt, the process, the sweep, what it was."""

import os
from collections.abc import Generator
from pathlib import Path

from aigon.agents import adapter_of
from aigon.core import ladder, prompt
from aigon.core.agent import Agent, Ask
from aigon.core.events import Event, IterationStarted, Notice, TurnEnded
from aigon.core.state import State
from aigon.ports import process, reaper
from aigon.run.job import Job
from aigon.run.world import World

PATIENCE = 5.0
"""Seconds of the run's time that a turn gets at least, so that a nearly spent run still says why it stops."""


def act(job: Job, world: World, state: State) -> Generator[Event, State, State]:
    """Let the agent work once; when this is over none of its processes is left."""
    number = state.finished + 1
    rung = ladder.rung_for(state, len(job.rungs))
    agent = job.rungs[rung]
    ask = _ask(job, world, state, number)
    yield IterationStarted(
        world.now(), number, agent.name, agent.model, rung, len(job.rungs), prompt_chars=ask.prompt_chars
    )
    if world.watch:
        world.watch.before_turn()
    exited = process.run(_command(job, world, agent, ask), world.stop)
    reaper.sweep()
    yield from _put_back(job, world, number)
    return (yield TurnEnded(world.now(), adapter_of(agent).turn(agent, ask, exited)))


def _put_back(job: Job, world: World, number: int) -> Generator[Event, State, None]:
    """What the agent did to git and to aigon's records is undone before any git of ours runs, and said."""
    if world.watch:
        said = world.watch.after_turn(world.park(f"feature-{job.feature.id}/{world.run_id}-{number}"))
        world.mended += said
        for text in said:
            yield Notice(world.now(), text, "warning")


def prompt_text(job: Job, world: World, state: State, number: int) -> str:
    """What the agent of iteration `number` is told."""
    look = state.last
    return prompt.build(
        job.template,
        spec=job.spec,
        spec_path=job.spec_path,
        number=number,
        limit=number - 1 - state.used + job.limits.iterations,
        verdicts=look.verdicts if look else (),
        checks=job.checks,
        digest=look.feedback if look else "",
        logs=str(world.iteration_folder(look.number)) if look else str(world.folder),
        validation_skipped=job.demand.skip_validation,
        judge=job.judge.backend if job.judge else "none",
    )


def _ask(job: Job, world: World, state: State, number: int) -> Ask:
    text = prompt_text(job, world, state, number)
    folder = world.iteration_folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "prompt.md"
    file.write_text(text, encoding="utf-8", errors="replace")
    return Ask(
        number=number,
        feature_id=job.feature.name_for_people,
        run_id=world.run_id,
        workspace=str(world.workspace.root),
        checkout=str(world.checkout),
        spec_file=str(world.workspace.root / job.spec_path),
        prompt_file=str(file),
        prompt_chars=len(text),
        output_file=str(folder / "agent-output.json"),
        root=os.geteuid() == 0,
    )


def _command(job: Job, world: World, agent: Agent, ask: Ask) -> process.Command:
    launch = adapter_of(agent).launch(agent, ask)
    return process.Command(
        launch.argv,
        cwd=world.workspace.root,
        env={**world.agent_env, **launch.env},
        stdin=Path(ask.prompt_file) if launch.stdin == "prompt" else None,
        deadline=_deadline(job, world),
        log=world.iteration_folder(ask.number) / "agent.log",
        merge=False,
        redact=world.redact,
    )


def _deadline(job: Job, world: World) -> float:
    """The turn's own deadline, or what is left of the run's time."""
    if job.limits.run_time is None:
        return job.turn_timeout
    return min(job.turn_timeout, max(PATIENCE, job.limits.run_time - world.elapsed()))
