"""One agent turn: who works, the prompt, the process, what it was; and the wait for an agent that is rate-limited."""

import math
import os
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import filter_environment
from aigon.checks.reports import read_report
from aigon.config.price_tables import add_known_prices
from aigon.files.atomic import make_real_folders
from aigon.isolation.run_sandbox import RunSandbox, explain_refusal
from aigon.job.escalation import ChosenStep, choose_worker, compute_return
from aigon.job.job import Job
from aigon.job.world import Availability, World
from aigon.journal.events import Event, IterationStarted, Notice, TurnEnded, Waiting
from aigon.journal.spending import price_turn
from aigon.journal.state import State
from aigon.loop.briefing import write_briefing as asked
from aigon.loop.decide import is_turn_barred
from aigon.loop.guards.availability import AWAY
from aigon.loop.turn_files import redact_files, remove_links
from aigon.model.turns import Agent, Turn, TurnRequest
from aigon.process import run
from aigon.process.stop import wait_until

LOOK_FIRST = 120.0
"""Seconds of a wait that is worth a look before: what the turn did is then judged, committed, perhaps enough."""


def send_away(job: Job, world: World, turn: Turn) -> None:
    """Note until when the agent of `turn` is away."""
    held = world.get(Availability)
    held.away[turn.agent] = compute_return(turn, world.clock(), job.waits.first, held.times[turn.agent])
    held.times[turn.agent] += 1
    held.reasons[turn.agent] = turn.detail
    held.assessed = False


def wait(job: Job, world: World, state: State) -> Generator[Event, State, bool]:
    """Wait for the first that comes back. False where the tree is to be looked at before, or where it is given up.

    It is given up when nobody comes back in time, or a person asks the run to stop.
    """
    held = world.get(Availability)
    agent, until = min(held.away.items(), key=lambda one: one[1])
    seconds = until - world.clock()
    if math.isinf(until) or held.waited + seconds > job.waits.longest:
        held.gave_up = True
        return False
    if seconds > LOOK_FIRST and state.iteration > state.finished and not held.assessed:
        held.assessed = True
        return False
    yield Waiting(world.now(), state.iteration, agent, held.reasons.get(agent, ""), seconds, until)
    begun = time.monotonic()
    came_back = wait_until(until, world.stop)
    waited = time.monotonic() - begun
    held.waited += waited
    held.waited_in_all += waited
    if came_back:
        held.away.pop(agent)  # whatever the clock of the machine says by now
    held.gave_up = not came_back
    return came_back


PATIENCE = 5.0
"""Seconds of the run's time that a turn gets at least, so that a nearly spent run still says why it stops."""
REPORT = 16 * 1024 * 1024
"""Bytes that are read of a file in which a program leaves what it has to say."""


def act(job: Job, world: World, state: State) -> Generator[Event, State, State]:
    """Let an agent work once, the first that can; when this is over none of its processes is left.

    One that is held up does not use up the iteration: another stands in for it, or it is waited for, after a look at
    what it did where that takes long. One that does not start is stood in for as well, and tried again at the next
    iteration.
    """
    ladders, held = (job.steps, *job.fallback), world.get(Availability)
    while ladders:
        chosen = choose_worker(ladders, state, held.away, world.clock())
        if chosen is None:
            if not (yield from wait(job, world, state)):
                return state
            continue
        held.away.pop(chosen[2].agent.name, None)
        state = yield from _turn(job, world, state, chosen)
        turn = state.turn
        if turn is None or turn.end not in (*AWAY, "not_started"):
            held.reset()
            return state
        if is_turn_barred(job, world, state):
            held.gave_up = True
            return state
        if turn.end == "not_started":
            ladders = tuple(ladder for ladder in ladders if ladder[0].agent.name != turn.agent)
        else:
            send_away(job, world, turn)
    return state


def _turn(job: Job, world: World, state: State, chosen: ChosenStep) -> Generator[Event, State, State]:
    """One start of one agent, to its end."""
    number, (rung, rungs, step) = state.last_number + 1, chosen
    agent = step.agent
    ask = asked(job, world, state, number, f"{rung + 1}/{rungs}")
    yield IterationStarted(
        world.now(), number, agent.name, agent.model, rung, rungs, prompt_chars=ask.prompt_chars, effort=agent.effort
    )
    world.before_turn()
    log = _log(world.iteration_folder(number))
    command, folder = _command(job, world, agent, ask, log), os.path.realpath(world.folder)
    exited = run.run(command, world.stop)
    world.sweep()
    _run_folder(world, folder, state.finished)
    yield from _put_back(job, world, number)
    turn = adapter_for(agent).read_turn(agent, ask, replace(exited, report=_report(ask)))
    turn = replace(turn, log=os.path.relpath(log, world.checkout) if log.exists() else "")
    redact_files(world.iteration_folder(number), world.redact)
    prices = add_known_prices(job.prices, turn.model, *(share.model for share in turn.usage_by_model))
    state = yield TurnEnded(world.now(), price_turn(turn, prices), world.meter.taken())
    if not state.failed_turns:
        for notice in explain_refusal(world.get(RunSandbox), turn, world.now()):
            state = yield notice
    return state


def _run_folder(world: World, before: str, finished: int) -> None:
    """What aigon writes to is where it was `before`, and leads nowhere else."""
    aside = world.workspace.own / "displaced"
    if os.path.realpath(world.folder) != before:
        make_real_folders(world.folder, world.checkout, aside)
    remove_links(world.folder, aside, finished)


def _report(ask: TurnRequest) -> bytes:
    """What the program left in its file; nothing where it left none, or a link or a pipe in its place."""
    try:
        return (read_report(Path(ask.output_file)) or b"")[:REPORT]
    except OSError:
        return b""


def _put_back(job: Job, world: World, number: int) -> Generator[Event, State, None]:
    """What the agent did to git and to aigon's records is undone before any git of ours runs, and said."""
    for text in world.after_turn(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}"):
        yield Notice(world.now(), text, "warning")


def _command(job: Job, world: World, agent: Agent, ask: TurnRequest, log: Path) -> run.Command:
    adapter = adapter_for(agent)
    launch = adapter.build_launch(agent, ask)
    seen = filter_environment(world.agent_env, agent, adapter.kind)
    env = {name: value for name, value in seen.items() if name not in launch.unset} | dict(launch.env)
    return run.Command(
        world.get(RunSandbox).command(launch, agent, ask, env),
        cwd=world.workspace.root,
        env=world.get(RunSandbox).environment(env),
        stdin=Path(ask.prompt_file) if launch.stdin == "prompt" else None,
        deadline=_deadline(job, world),
        idle=job.idle_timeout,
        log=log,
        merge=False,
        redact=world.redact,
        started=world.guardian.begun,
    )


def _log(folder: Path) -> Path:
    """`agent.log`, or `agent-2.log` for one that is begun anew."""
    names = ("agent.log", *(f"agent-{number}.log" for number in range(2, 100)))
    return folder / next((name for name in names if not (folder / name).exists()), names[-1])


def _deadline(job: Job, world: World) -> float:
    """The turn's own deadline, or what is left of the run's time."""
    if job.limits.run_time is None:
        return job.turn_timeout
    return min(job.turn_timeout, max(PATIENCE, job.limits.run_time - world.elapsed()))
