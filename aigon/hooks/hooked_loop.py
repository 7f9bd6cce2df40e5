"""A loop with the hooks of the project around it. The loop itself knows nothing of hooks.

A loop yields events and takes states. The hooked loop looks at the events as they pass by, runs the hooks that are due,
and adds an event for each. Nothing else runs between two events.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from time import monotonic

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.hooks.execution import (
    CONTEXT_POINT,
    HURRIED_SECONDS,
    HookContext,
    explain_block,
    list_changed_files,
    make_hook_context,
    render_event,
    run_hook,
)
from aigon.hooks.hook import Hook, describe_hook_problems, list_hooks, make_command_hook
from aigon.hooks.notifications import describe_notify_problems
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import (
    CommitIntended,
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    Notice,
    RunFinished,
    TurnEnded,
)
from aigon.journal.state import State
from aigon.journal.tasks import Task, Tasks, build_task_document
from aigon.loop.loop import Loop
from aigon.model.outcomes import Refused
from aigon.proof.frozen import ProtectedFiles
from aigon.text.amounts import format_count
from aigon.text.quoting import fold

FINAL_POINTS = ("needs_human", "after_loop")
"""Points at any end of a run, even one that was asked for at once."""
TASKS_POINT = "tasks"
Change = tuple[str, Task]
"""`TaskCreate` or `TaskUpdate`, and the task as it is now."""
Steps = Generator[Event, State, State]


class HookedRun(Struct):
    """A run as its events pass: `begun` is the last iteration that began, `assessed` says if its assessment was whole.

    `withheld`: a hook vetoed the turn. `limit`: when final hooks have to be over, in monotonic seconds. `told` are the
    tasks that `tasks.command` knows of.
    """

    hooks: Sequence[Hook]
    context: HookContext
    number: int = 0
    begun: int = -1
    assessed: bool = False
    withheld: bool = False
    limit: float | None = None
    told: Tasks = field(default_factory=Tasks)


def add_hooks(loop: Loop, config: Config, job: Job, world: World, state: State, past: State) -> Loop:
    """Return `loop` with the project's hooks around it, or `loop` itself if there are none.

    `past` is the state before this invocation.
    """
    kept = world.get(ProtectedFiles).files
    hooks = list_hooks(config.hooks, world.workspace.root, kept, world.agent_env)
    problems = tuple(describe_hook_problems(config.hooks, hooks, kept))
    if not (hooks or problems or config.notify or config.tasks.command):
        return loop
    context = make_hook_context(config, job, world)
    warnings = (*problems, *describe_notify_problems(config.notify, context))
    teller = _make_teller(config, context)
    return wrap_loop(loop, (*hooks, *teller), context, state, warnings, past.tasks)


def wrap_loop(
    loop: Loop,
    hooks: Sequence[Hook],
    context: HookContext,
    state: State,
    warnings: Sequence[str] = (),
    told: Tasks | None = None,
) -> Loop:
    """Return `loop` with `hooks`, and `warnings` for people at its start; without both it is `loop` itself."""
    number = state.iteration if state.turn_ended else state.finished
    run = HookedRun(hooks, context, number, told=told or Tasks())
    return _wrap(loop, run, state, warnings) if hooks or warnings else loop


def _wrap(loop: Loop, run: HookedRun, state: State, warnings: Sequence[str]) -> Loop:
    try:
        for text in warnings:
            state = yield Notice(World.now(), text, "warning")
        state = yield from _tell(run, state.tasks, state)
        if state.started:
            state = yield from _run_points(run, ("before_loop", "before_checks"), state.started, state)
        event = next(loop)
        while True:
            state = yield from _run_before(run, event, state)
            if not _withhold(run, event):
                state = yield event
                state = yield from _tell(run, state.tasks, state)
                state = yield from _run_after(run, event, state)
            event = loop.send(state)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except (AigonError, OSError) as error:
        # This is the end as hooks see it; whoever drives the loop records it.
        code = error.code if isinstance(error, AigonError) else Exit.ENVIRONMENT
        refusal = RunFinished(World.now(), Refused(str(error)), "refused", int(code), str(error), "")
        yield from _run_points(run, ("after_loop",), refusal, state)
        raise
    finally:
        loop.close()


def _run_before(run: HookedRun, event: Event, state: State) -> Steps:
    """Run the hooks that are due before anybody else sees `event`."""
    match event:
        case IterationStarted():
            run.number = event.number
            again, run.begun = event.number == run.begun, event.number
            points = (*(() if again else ("before_iteration",)), "before_agent", CONTEXT_POINT)
            state = yield from _run_points(run, points, event, state)
        case CommitIntended():
            run.assessed = True
            state = yield from _run_points(run, ("after_checks",), replace(event.finished, checkpoint=""), state)
        case IterationFinished() if not run.assessed:
            run.number = event.number
            state = yield from _run_points(run, ("after_checks",), event, state)
        case RunFinished():  # nothing may follow the end of a run
            state = yield from _tell(run, state.tasks.apply(event), state)
            points = FINAL_POINTS if event.status == "needs_human" else FINAL_POINTS[1:]
            state = yield from _run_points(run, points, event, state)
    return state


def _withhold(run: HookedRun, event: Event) -> bool:
    """Return whether `event` is hidden: a turn that a hook vetoed, and its end, which cost nothing.

    So the record has the run as it was before, and a resume begins the iteration as if for the first time.
    """
    if isinstance(event, IterationStarted):
        run.withheld = run.context.stop.now
        return run.withheld
    if not isinstance(event, TurnEnded):
        return False
    run.withheld, withheld = False, run.withheld
    return withheld and event.turn.end in ("killed", "not_started") and not event.turn.cost


def _run_after(run: HookedRun, event: Event, state: State) -> Steps:
    """Run the hooks that are due once `event` is on record. Checks follow every turn and run side by side."""
    match event:
        case TurnEnded():
            state = yield from _run_points(run, ("after_agent", "before_checks"), event, state)
        case IterationFinished():
            run.assessed = False
            if event.number and event.checkpoint:
                state = yield from _run_points(run, ("after_iteration",), event, state)
    return state


def _tell(run: HookedRun, tasks: Tasks, state: State) -> Steps:
    """Tell `tasks.command` of what changed, if there is one; its failure is a notice."""
    changes, run.told = _list_changes(run.told, tasks), tasks
    for hook in run.hooks if changes else ():
        if hook.point == TASKS_POINT and (problem := _tell_changes(hook, run.context, changes, run.number)):
            state = yield Notice(World.now(), problem, "warning")
    return state


def _run_points(run: HookedRun, points: Sequence[str], event: Event, state: State) -> Steps:
    """Run the hooks of these points one after the other, until one of them vetoes."""
    due = [hook for point in points for hook in run.hooks if hook.point == point]
    for point, hooks in groupby(due, lambda hook: hook.point):
        text = render_event(run.context, point, event)
        for hook in hooks:
            for each in _run_one(run, hook, text):
                state = yield each
    return state


def _run_one(run: HookedRun, hook: Hook, text: bytes) -> Iterator[HookRan | Notice]:
    context, stop, is_final = run.context, run.context.stop, hook.point in FINAL_POINTS
    if (hook.trouble and not hook.veto) or (not is_final and stop.look()):
        return  # people heard of what cannot run before the first turn
    seconds = None
    if is_final and stop.look():  # the run was asked to end at once
        seconds = hook.timeout
        if context.hurried:
            run.limit = run.limit or monotonic() + HURRIED_SECONDS
            seconds = run.limit - monotonic()
            if seconds <= 0.1:
                return
    if (changed := list_changed_files(hook, context)) and not hook.line:
        names = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        warning = f"hook {hook.point} runs as it was when the run began: {names} changed since"
        yield Notice(World.now(), warning, "warning")
    result = run_hook(hook, context, text, run.number, seconds)
    vetoed = hook.veto and result.status != "ok" and not stop.now
    if vetoed:
        lines = result.output.strip().splitlines()
        reason = "took too long" if result.status == "timed_out" else lines[-1] if lines else "failed"
        stop.veto(f"{result.point} ({result.name}) vetoed the run: {reason}")
    yield replace(result, veto=vetoed)
    if blocked := explain_block(hook, context, result):
        yield Notice(World.now(), blocked, "warning")


def _make_teller(config: Config, context: HookContext) -> tuple[Hook, ...]:
    """Return the program of `tasks.command` as a hook, if there is one."""
    own = config.tasks
    if not own.command:
        return ()
    passed = tuple(own.pass_)
    hook = make_command_hook(
        TASKS_POINT, "tasks.command", own.command, context.root, context.env, float(own.timeout), passed=passed
    )
    return (hook,)


def _list_changes(before: Tasks, after: Tasks) -> tuple[Change, ...]:
    """Return the tasks that are new or other than before."""
    if before is after:
        return ()
    known = {task.id: build_task_document(task) for task in before.all}
    changed = (task for task in after.all if known.get(task.id) != build_task_document(task))
    return tuple(("TaskUpdate" if task.id in known else "TaskCreate", task) for task in changed)


def _tell_changes(hook: Hook, context: HookContext, changes: Sequence[Change], number: int) -> str:
    """Run the program once for each change, until it fails. Return what a person should know then, or ""."""
    for index, (tool, task) in enumerate(changes):
        document = {"tool": tool, "task": build_task_document(task)}
        text = context.redact(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
        result = run_hook(hook, context, text + b"\n", number, HURRIED_SECONDS if context.stop.look() else None)
        if result.status != "ok":
            left = f"; {format_count(len(changes) - index, 'change')} of tasks not told" if len(changes) > 1 else ""
            blocked = explain_block(hook, context, result)
            return f"tasks.command failed ({fold(result.output, 200)}){left}{f'. {blocked}' if blocked else ''}"
    return ""
