"""What the agent of an iteration is told, and where it is told: the prompt, its file, the question of one turn."""

import os

from aigon.files.atomic import make_way
from aigon.job.demand import is_hollow
from aigon.job.job import Job
from aigon.job.ledger import Ledger
from aigon.job.world import World
from aigon.journal.events import IterationFinished
from aigon.journal.memory import render_memory, render_setbacks
from aigon.journal.state import State
from aigon.loop import prompt
from aigon.model.turns import TurnRequest

ACCEPTED_TASK = (
    "Every criterion passes already, and has to keep passing: the spec asks for a change that the criteria do not "
    "show, such as a refactoring. Make the change that the spec describes. A turn that changes no file ends the run."
)
MEMORY = 1_500
"""Estimated tokens of what a prompt tells of earlier turns."""


def render_prompt(job: Job, world: World, state: State, number: int) -> str:
    """What the agent of iteration `number` is told."""
    look = state.last
    return prompt.fill_template(
        job.template,
        spec=job.spec,
        spec_path=job.spec_path,
        number=number,
        limit=_last_number(job, state, number),
        verdicts=look.verdicts if look else (),
        checks=job.checks,
        digest=_digest(job, look) if look else "",
        logs=str(world.iteration_folder(look.number)) if look else str(world.folder),
        validation_skipped=job.demand.skip_validation,
        judge=job.judge.backend if job.judge else "none",
        approach=render_setbacks(state, number),
        memory=_memory(job, state),
        promises=job.promises,
    )


def _digest(job: Job, look: IterationFinished) -> str:
    """Return what the last look found; a look at which everything passes would otherwise say that nothing is to do."""
    accepted = job.demand.accept_passing and is_hollow(job.demand, look)
    return f"{ACCEPTED_TASK}\n\n{look.feedback}" if accepted else look.feedback


def _memory(job: Job, state: State) -> str:
    """What earlier turns tried; empty while the digest of the last look says it all."""
    told = render_memory(state.tried.all, MEMORY, job.earlier)
    return f"## What was tried\n\n{told}" if told else ""


def _last_number(job: Job, state: State, number: int) -> int:
    """Return the number of the last iteration that this invocation may reach; `number` is that of the next one."""
    return number - 1 - state.used + job.limits.iterations


def write_briefing(job: Job, world: World, state: State, number: int, step: str) -> TurnRequest:
    """The question of one turn, whose agent is on the `step` of its steps; the prompt is in the iteration's folder."""
    text = render_prompt(job, world, state, number)
    folder = world.iteration_folder(number)
    make_way(folder, for_folder=True)  # an agent before may have left anything there
    folder.mkdir(parents=True, exist_ok=True)
    file, output = folder / "prompt.md", folder / "agent-output.json"
    for each in (file, output):
        make_way(each)
    file.write_text(text, encoding="utf-8", errors="replace")
    output.unlink(missing_ok=True)
    return TurnRequest(
        number=number,
        feature_id=job.feature.name_for_people,
        run_id=world.run_id,
        workspace=str(world.workspace.root),
        checkout=str(world.checkout),
        spec_file=str(world.workspace.root / job.spec_path),
        prompt_file=str(file),
        prompt_chars=len(text),
        output_file=str(output),
        budget=_left(job, world, state),
        root=os.geteuid() == 0,
        limit=_last_number(job, state, number),
        step=step,
        promises=job.promises,
    )


def _left(job: Job, world: World, state: State) -> float | None:
    """US dollars that this turn may still cost; a cent at least, since a program may take nothing for no limit."""
    limit, ledger = job.limits.max_cost, world.find(Ledger)
    elsewhere = ledger.elsewhere if ledger else 0.0
    return None if limit is None else max(0.01, limit - state.spend.usd - elsewhere)
