"""One agent turn: who works, the prompt, the process, its result; and the wait for an agent that is rate-limited."""

import math
import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.activity import SUFFIX, ActivityLog, choose_log
from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import filter_environment
from aigon.checks.reports import read_report
from aigon.config.prices import add_known_prices
from aigon.files.atomic import make_way, move_aside, open_plain
from aigon.files.folders import make_real_folders
from aigon.isolation.run_sandbox import RunSandbox, explain_refusal
from aigon.job.escalation import ChosenStep, choose_worker, compute_return
from aigon.job.job import Job
from aigon.job.ledger import Ledger
from aigon.job.world import HOOK_OUTPUTS, Availability, World
from aigon.journal.events import Event, IterationStarted, Notice, TurnEnded, Waiting
from aigon.journal.spending import price_turn
from aigon.journal.state import State
from aigon.loop.decide import is_turn_barred
from aigon.loop.guards.limits import AWAY
from aigon.loop.mailbox import NAME, read_mailbox
from aigon.loop.prompt import find_last_number, list_first_criteria, render_prompt
from aigon.model.turns import Agent, TurnRequest
from aigon.process import run
from aigon.process.stop import wait_until

LONG_WAIT_SECONDS = 120.0
"""Before a longer wait the tree is assessed: what the turn did is then committed, and may be enough."""
LEAST_TURN_SECONDS = 5.0
"""What a turn gets at least of the run's time, so that a nearly spent run still says why it stops."""
MAX_REPORT_BYTES = 16 * 1024 * 1024
MAX_REDACTED_FILES = 1_000
"""Files of an iteration's folder that are redacted; programs leave one to three."""
REDACTED_BYTES = 1 << 20
"""Bytes that are redacted at a time, and as many as a line may have."""


def act(job: Job, world: World, state: State) -> Generator[Event, State, State]:
    """Let the first agent that can work do so once. When this is over, none of its processes is left.

    An agent that is rate-limited does not use up the iteration: a stand-in takes over, or the run waits, if that takes
    long after an assessment of what it did. One that does not start gets a stand-in as well, and is tried again at the
    next iteration.
    """
    line_up, availability = (job.steps, *job.fallback), world.get(Availability)
    while line_up:
        chosen = choose_worker(line_up, state, availability.away, world.clock())
        if chosen is None:
            if not (yield from _wait(job, world, state)):
                return state
            continue
        availability.away.pop(chosen[2].agent.name, None)
        state = yield from _run_turn(job, world, state, chosen)
        turn = state.turn
        if turn is None or turn.end not in (*AWAY, "not_started"):
            availability.reset()
            return state
        if is_turn_barred(job, world, state):
            availability.gave_up = True
            return state
        if turn.end == "not_started":
            line_up = tuple(steps for steps in line_up if steps[0].agent.name != turn.agent)
            continue
        times = availability.times[turn.agent]
        availability.away[turn.agent] = compute_return(turn, world.clock(), job.waits.first, times)
        availability.times[turn.agent] += 1
        availability.reasons[turn.agent] = turn.detail
        availability.assessed = False
    return state


def _wait(job: Job, world: World, state: State) -> Generator[Event, State, bool]:
    """Wait for the first agent that comes back. Return False if the tree is to be assessed first, or to give up.

    The run gives up if no agent comes back in time, or if a person asks it to stop.
    """
    availability = world.get(Availability)
    agent, until = min(availability.away.items(), key=lambda item: item[1])
    seconds = until - world.clock()
    if math.isinf(until) or availability.waited + seconds > job.waits.longest:
        availability.gave_up = True
        return False
    if seconds > LONG_WAIT_SECONDS and state.iteration > state.finished and not availability.assessed:
        availability.assessed = True
        return False
    yield Waiting(world.now(), state.iteration, agent, availability.reasons.get(agent, ""), seconds, until)
    begun = time.monotonic()
    came_back = wait_until(until, world.stop)
    waited = time.monotonic() - begun
    availability.waited += waited
    availability.waited_in_all += waited
    if came_back:
        availability.away.pop(agent)  # whatever the clock of the machine says by now
    availability.gave_up = not came_back
    return came_back


def _run_turn(job: Job, world: World, state: State, chosen: ChosenStep) -> Generator[Event, State, State]:
    """Start one agent once, and see it to its end."""
    number, (rung, rungs, step) = state.last_number + 1, chosen
    agent, folder = step.agent, world.iteration_folder(number)
    request = _write_request(job, world, state, number, f"{rung + 1}/{rungs}")
    log = choose_log(folder)
    run.prepare(_build_command(job, world, agent, request, log).argv)
    yield IterationStarted(
        world.now(),
        number,
        agent.name,
        agent.model,
        rung,
        rungs,
        prompt_chars=request.prompt_chars,
        effort=agent.effort,
        tasks=list_first_criteria(job, state),
    )
    world.before_turn()
    command, run_folder = _build_command(job, world, agent, request, log), os.path.realpath(world.folder)
    with ActivityLog(log, adapter_for(agent).module, world.workspace.root, world.redact) as activity:
        exited = run.run(replace(command, hear=activity.hear), world.stop)
    world.sweep()
    _restore_run_folder(world, run_folder, {state.finished, number})
    # What the agent did to git and to aigon's records is undone before any git of aigon's runs.
    for text in world.after_turn(f"feature-{job.feature.name_for_people}/{world.run_id}-{number}"):
        yield Notice(world.now(), text, "warning")
    turn = adapter_for(agent).read_turn(agent, request, replace(exited, report=_read_report(request)))
    turn = replace(turn, log=os.path.relpath(log, world.checkout) if log.exists() else "")
    redact_files(folder, world.redact)
    prices = add_known_prices(job.prices, turn.model, *(share.model for share in turn.usage_by_model))
    requests, remarks = read_mailbox(folder, job.spec.criteria, job.feature.name_for_people)
    for text in remarks:
        yield Notice(world.now(), text, "warning")
    state = yield TurnEnded(world.now(), price_turn(turn, prices), world.meter.measure_use(), requests)
    if not state.failed_turns:
        for notice in explain_refusal(world.get(RunSandbox), turn, world.now()):
            state = yield notice
    return state


def _write_request(job: Job, world: World, state: State, number: int, step: str) -> TurnRequest:
    """Write the prompt into the iteration's folder and return the request for an agent on escalation step `step`."""
    text = render_prompt(job, world, state, number)
    folder = world.iteration_folder(number)
    make_way(folder, for_folder=True)  # an earlier agent may have left anything there
    folder.mkdir(parents=True, exist_ok=True)
    prompt, output, mailbox = folder / "prompt.md", folder / "agent-output.json", folder / NAME
    for path in (prompt, output, mailbox):
        make_way(path)
    mailbox.unlink(missing_ok=True)  # what it held of an earlier try is in an event
    prompt.write_text(text, encoding="utf-8", errors="replace")
    output.unlink(missing_ok=True)
    limit, ledger = job.limits.max_cost, world.find(Ledger)
    spent = state.spend.usd + (ledger.elsewhere if ledger else 0.0)
    return TurnRequest(
        number=number,
        feature_id=job.feature.name_for_people,
        run_id=world.run_id,
        workspace=str(world.workspace.root),
        checkout=str(world.checkout),
        spec_file=str(world.workspace.root / job.spec_path),
        prompt_file=str(prompt),
        prompt_chars=len(text),
        output_file=str(output),
        # A cent at least: a program may take nothing for no limit.
        budget=None if limit is None else max(0.01, limit - spent),
        root=os.geteuid() == 0,
        limit=find_last_number(job, state, number),
        step=step,
        promises=job.promises,
    )


def _build_command(job: Job, world: World, agent: Agent, request: TurnRequest, log: Path) -> run.Command:
    adapter = adapter_for(agent)
    launch = adapter.build_launch(agent, request)
    visible = filter_environment(world.agent_env, agent, adapter.kind)
    env = {name: value for name, value in visible.items() if name not in launch.unset} | dict(launch.env)
    deadline = job.turn_timeout
    if job.limits.run_time is not None:
        deadline = min(deadline, max(LEAST_TURN_SECONDS, job.limits.run_time - world.elapsed()))
    sandbox = world.get(RunSandbox)
    program = sandbox.command(launch, agent, request, env)
    return run.Command(
        program.argv,
        enter=program.enter,
        cwd=world.workspace.root,
        env=sandbox.environment(env),
        stdin=Path(request.prompt_file) if launch.stdin == "prompt" else None,
        deadline=deadline,
        idle=job.idle_timeout,
        log=log,
        merge=False,
        redact=world.redact,
        started=world.guardian.record_start,
    )


def _read_report(request: TurnRequest) -> bytes:
    """Return what the program left in its output file; nothing if it left none, or a link or a pipe."""
    try:
        return (read_report(Path(request.output_file)) or b"")[:MAX_REPORT_BYTES]
    except OSError:
        return b""


def _restore_run_folder(world: World, before: str, numbers: Iterable[int]) -> None:
    """Make sure that the run folder is where it was `before`, and that what is written now leads nowhere else.

    That is in the folders of the iterations `numbers` and of hooks; views replace whatever is in their place.
    """
    aside = world.workspace.own / "displaced"
    if os.path.realpath(world.folder) != before:
        make_real_folders(world.folder, world.checkout, aside)
    for folder in (world.folder / HOOK_OUTPUTS, *map(world.iteration_folder, numbers)):
        remove_links(folder, aside)


def remove_links(place: Path, aside: Path) -> None:
    """Move links, pipes and sockets in a folder to `aside`, and whatever else is at `place`.

    aigon is in no sandbox: a link that an agent made and aigon wrote through would lead the agent out of its own.
    """
    if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
        move_aside(place, aside)
    folders = [os.fspath(place)]
    for folder in folders:
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in [*entries]:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    move_aside(Path(entry.path), aside)


def redact_files(folder: Path, redact: Callable[[bytes], bytes]) -> None:
    """Redact the files below `folder`, except prompts, logs and activities, which are redacted as they are written.

    What cannot be read or written stays as it is; links are not followed.
    """
    paths = (f"{place}/{name}" for place, _, names in os.walk(folder) for name in names
             if name != "prompt.md" and not name.endswith((".log", SUFFIX)))  # fmt: skip
    for _, path in zip(range(MAX_REDACTED_FILES), paths, strict=False):
        try:
            _redact_file(path, redact)
        except OSError:
            continue


def _redact_file(path: str, redact: Callable[[bytes], bytes]) -> None:
    new, changed = f"{path}.{os.urandom(4).hex()}.clean", False
    with open_plain(path) as file, open(new, "xb") as clean:  # noqa: PTH123 - a plain write, through no link
        while piece := b"".join(file.readlines(REDACTED_BYTES)):
            text = redact(piece)
            changed = changed or text != piece
            clean.write(text)
    os.replace(new, path) if changed else os.unlink(new)  # noqa: PTH105, PTH108 - plain calls
