"""A loop with the hooks of the project around it. The loop itself knows nothing of hooks.

A loop yields events and takes states. The hooked loop looks at the events as they pass by, runs the hooks that are due,
and adds an event for each. Nothing else runs between two events.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from time import monotonic

from aigon.config.models import Config, NotifyConfig
from aigon.errors import AigonError, Exit
from aigon.hooks.hook import (
    CONTEXT_POINT,
    Hook,
    HookContext,
    describe_hook_problems,
    list_changed_files,
    list_hooks,
    make_command_hook,
    render_event,
    run_hook,
)
from aigon.hooks.notifications import (
    NotifySink,
    NotifyTarget,
    explain_unusable_address,
    post_document,
    resolve_address,
)
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
from aigon.loop.loop import Loop
from aigon.model.outcomes import Refused
from aigon.proof import restore
from aigon.proof.frozen import ProtectedFiles
from aigon.proof.watch import Watch

FINAL_POINTS = ("needs_human", "after_loop")
"""Points at any end of a run, even one that was asked for at once."""
HURRIED_SECONDS = 2.0
"""Seconds for all final hooks together if somebody waits for the process to end, which takes at most 10 s in all."""
Steps = Generator[Event, State, State]


@dataclass(slots=True)
class HookedRun:
    """What passed by: `begun` is the last iteration that began, `assessed` says that its assessment was complete.

    `withheld`: a hook vetoed the turn. `limit`: when final hooks have to be over, in monotonic seconds.
    """

    hooks: Sequence[Hook]
    context: HookContext
    number: int = 0
    begun: int = -1
    assessed: bool = False
    withheld: bool = False
    limit: float | None = None


def add_hooks(loop: Loop, config: Config, job: Job, world: World, state: State) -> Loop:
    """Return `loop` with the project's hooks around it, or `loop` itself if there are none."""
    context = make_hook_context(config, job, world)
    hooks = list_hooks(config.hooks, context.root, context.kept, world.agent_env)
    problems = describe_hook_problems(config.hooks, hooks, context.kept)
    return wrap_loop(loop, hooks, context, state, (*problems, *_describe_notify_problems(config, context)))


def wrap_loop(
    loop: Loop, hooks: Sequence[Hook], context: HookContext, state: State, warnings: Sequence[str] = ()
) -> Loop:
    """Return `loop` with `hooks`, and `warnings` for people at its start; without both it is `loop` itself."""
    number = state.iteration if state.turn_ended else state.finished
    return _wrap(loop, HookedRun(hooks, context, number), state, warnings) if hooks or warnings else loop


def _wrap(loop: Loop, run: HookedRun, state: State, warnings: Sequence[str]) -> Loop:
    try:
        for text in warnings:
            state = yield Notice(World.now(), text, "warning")
        if state.started:
            state = yield from _run_points(run, ("before_loop", "before_checks"), state.started, state)
        event = next(loop)
        while True:
            state = yield from _run_before(run, event, state)
            if not _withhold(run, event):
                state = yield event
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
        case RunFinished():
            points = FINAL_POINTS if event.status == "needs_human" else FINAL_POINTS[1:]
            state = yield from _run_points(run, points, event, state)
    return state


def _withhold(run: HookedRun, event: Event) -> bool:
    """Return whether nobody may see `event`: a turn that a hook vetoed, and its end, which cost nothing.

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
    seconds = _limit_seconds(run, hook) if is_final and stop.look() else None
    if seconds == 0:
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
        stop.veto(f"{result.point} ({result.name}) does not let it go on: {reason}")
    yield replace(result, veto=vetoed)


def _limit_seconds(run: HookedRun, hook: Hook) -> float:
    """Return the time of a final hook after the run was asked to end at once; 0 if none is left."""
    if not run.context.hurried:
        return hook.timeout
    run.limit = run.limit or monotonic() + HURRIED_SECONDS
    remaining = run.limit - monotonic()
    return remaining if remaining > 0.1 else 0


def make_hook_context(config: Config, job: Job, world: World) -> HookContext:
    """Return what the hooks of this run have in common."""

    def settle() -> None:
        # Another process may soon have the hook's number, and the refs that it wrote are the person's.
        world.guardian.over()
        if watch := world.find(Watch):
            watch.own_refs_moved()

    root, files = world.workspace.root, world.get(ProtectedFiles).files
    return HookContext(
        root=root,
        folder=world.folder,
        about={
            "feature": job.feature.name_for_people,
            "run": world.run_id,
            "workspace": str(root),
            "branch": world.workspace.branch,
        },
        env=world.agent_env,
        stop=world.stop,
        redact=world.redact,
        kept=files,
        touched=lambda: restore.find_touched(root, world.get(ProtectedFiles).files, job.protection),
        begun=world.guardian.begun,
        settled=settle,
        allowed=config.env.pass_,
    )


def make_notifiers(config: Config, job: Job, world: World, state: State) -> list[NotifySink]:
    """Return the observer that tells others how the run ended, or none if nobody is to be told."""
    context = make_hook_context(config, job, world)
    targets = [target for number, each in enumerate(config.notify)
               for target in _list_targets(f"notify[{number}]", each, context)]  # fmt: skip
    hurried = lambda: HURRIED_SECONDS if context.hurried else None  # noqa: E731 - one line, one use
    return [NotifySink(targets, state, redact=context.redact, hurried=hurried)] if targets else []


def _describe_notify_problems(config: Config, context: HookContext) -> Iterator[str]:
    for number, each in enumerate(config.notify):
        name = f"notify[{number}]"
        if each.webhook is None and not each.command:
            yield f"{name} tells nobody: give it a webhook or a command"
        if each.webhook is not None and (reason := explain_unusable_address(each.webhook, context.env)):
            yield f"{name}.webhook cannot be used: {reason}"
        if each.command and (trouble := _make_program(name, each, context).trouble):
            yield f"{name}.command cannot run: {trouble}"


def _list_targets(name: str, each: NotifyConfig, context: HookContext) -> Iterator[NotifyTarget]:
    seconds, on = float(each.timeout), tuple(each.on)
    if each.webhook is not None and not explain_unusable_address(each.webhook, context.env):
        url = resolve_address(each.webhook, context.env)
        yield NotifyTarget(f"{name}.webhook", partial(post_document, url), seconds, on, aside=True)
    if each.command:
        tell = partial(_tell_program, _make_program(name, each, context), context)
        yield NotifyTarget(f"{name}.command", tell, seconds, on)


def _make_program(name: str, each: NotifyConfig, context: HookContext) -> Hook:
    seconds, passed = float(each.timeout), tuple(each.pass_)
    return make_command_hook(
        "notify", f"{name}.command", each.command, context.root, context.env, seconds, passed=passed
    )


def _tell_program(hook: Hook, context: HookContext, body: bytes, seconds: float) -> str:
    result = run_hook(hook, context, body, 0, at_most=seconds)
    return "" if result.status == "ok" else f"{result.status.replace('_', ' ')}: {result.output or 'it said nothing'}"
