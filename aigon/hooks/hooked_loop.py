"""Programs of the project that are told of the moments of a run. The loop knows nothing of them.

A loop yields events and takes states; this wraps one in another that looks at the events as they pass by, runs what is
to be run, and adds an event of its own for each. What it does between two events happens while nothing else runs.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from time import monotonic

from aigon.config.models import NotifyConfig
from aigon.errors import AigonError, Exit
from aigon.hooks import notifications
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
from aigon.hooks.notifications import NotifySink, NotifyTarget
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
from aigon.run.session import Session

FINAL_POINTS = ("needs_human", "after_loop")
"""Points that come at any end of a run, one that was asked for at once too."""
HURRIED_SECONDS = 2.0
"""Seconds for all of these together where somebody waits for the process to be gone: that takes at most 10 s in all."""
Steps = Generator[Event, State, State]


@dataclass(slots=True)
class HookedRun:
    """What went by: `begun` is the last iteration that has, `looked` says that the look at hand was complete;
    `withheld` that a turn was not let begin; `limit` is when hooks have to be over, in monotonic seconds.
    """

    hooks: Sequence[Hook]
    stage: HookContext
    number: int = 0
    begun: int = -1
    looked: bool = False
    withheld: bool = False
    limit: float | None = field(default=None)


def wrap_loop(loop: Loop, hooks: Sequence[Hook], stage: HookContext, state: State, said: Sequence[str] = ()) -> Loop:
    """`loop` with `hooks`; `said` is what people should know about them. Without both it is `loop` itself."""
    number = state.iteration if state.turn_ended else state.finished
    return _wrap(loop, HookedRun(hooks, stage, number), state, said) if hooks or said else loop


def _wrap(loop: Loop, passing: HookedRun, state: State, said: Sequence[str]) -> Loop:
    try:
        for text in said:
            state = yield Notice(World.now(), text, "warning")
        if state.started:
            state = yield from _run_points(passing, ("before_loop", "before_checks"), state.started, state)
        event = next(loop)
        while True:
            state = yield from _run_before(passing, event, state)
            if not _withhold(passing, event):
                state = yield event
                state = yield from _run_after(passing, event, state)
            event = loop.send(state)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except (AigonError, OSError) as error:
        yield from _run_points(passing, ("after_loop",), _make_refusal(error), state)
        raise
    finally:
        loop.close()


def _run_before(passing: HookedRun, event: Event, state: State) -> Steps:
    """What is to be run before anybody else learns of `event`."""
    match event:
        case IterationStarted():
            passing.number = event.number
            again, passing.begun = event.number == passing.begun, event.number
            points = (*(() if again else ("before_iteration",)), "before_agent", CONTEXT_POINT)
            state = yield from _run_points(passing, points, event, state)
        case CommitIntended():
            passing.looked = True
            state = yield from _run_points(passing, ("after_checks",), replace(event.finished, checkpoint=""), state)
        case IterationFinished() if not passing.looked:
            passing.number = event.number
            state = yield from _run_points(passing, ("after_checks",), event, state)
        case RunFinished():
            points = FINAL_POINTS if event.status == "needs_human" else FINAL_POINTS[1:]
            state = yield from _run_points(passing, points, event, state)
    return state


def _withhold(passing: HookedRun, event: Event) -> bool:
    """Whether nobody learns of `event`: a turn that a hook did not let begin, and its end, which cost nothing.

    So the record has the run as it was before, and a resume begins the iteration as if for the first time.
    """
    if isinstance(event, IterationStarted):
        passing.withheld = passing.stage.stop.now
        return passing.withheld
    if not isinstance(event, TurnEnded):
        return False
    passing.withheld, withheld = False, passing.withheld
    return withheld and event.turn.end in ("killed", "not_started") and not event.turn.cost


def _run_after(passing: HookedRun, event: Event, state: State) -> Steps:
    """What is to be run once `event` is on record. A look follows every turn, and its checks run side by side."""
    match event:
        case TurnEnded():
            state = yield from _run_points(passing, ("after_agent", "before_checks"), event, state)
        case IterationFinished():
            passing.looked = False
            if event.number and event.checkpoint:
                state = yield from _run_points(passing, ("after_iteration",), event, state)
    return state


def _run_points(passing: HookedRun, points: Sequence[str], event: Event, state: State) -> Steps:
    """Run the hooks of these points, one after the other, until one of them does not let the run go on."""
    stage = passing.stage
    due = [hook for point in points for hook in passing.hooks if hook.point == point]
    for point, hooks in groupby(due, lambda hook: hook.point):
        text = render_event(stage, point, event)
        for hook in hooks:
            for each in _run_one(passing, hook, text):
                state = yield each
    return state


def _run_one(passing: HookedRun, hook: Hook, text: bytes) -> Iterator[HookRan | Notice]:
    stage, last = passing.stage, hook.point in FINAL_POINTS
    if (hook.trouble and not hook.veto) or (not last and stage.stop.look()):
        return  # what cannot run was said before the first turn
    at_most = _limit_seconds(passing, hook) if last and stage.stop.look() else None
    if at_most == 0:
        return
    if (changed := list_changed_files(hook, stage)) and not hook.line:
        listed = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        said = f"hook {hook.point} runs as it was when the run began: {listed} changed since"
        yield Notice(World.now(), said, "warning")
    done = run_hook(hook, stage, text, passing.number, at_most)
    refused = hook.veto and done.status != "ok" and not stage.stop.now
    if refused:
        stage.stop.veto(_explain_veto(done))
    yield replace(done, veto=refused)


def _limit_seconds(passing: HookedRun, hook: Hook) -> float:
    """How long a hook may take after the run was asked to end at once; 0 where there is no time left."""
    if not passing.stage.hurried:
        return hook.timeout
    passing.limit = passing.limit or monotonic() + HURRIED_SECONDS
    left = passing.limit - monotonic()
    return left if left > 0.1 else 0


def _explain_veto(done: HookRan) -> str:
    words = done.output.strip().splitlines()
    what = "took too long" if done.status == "timed_out" else words[-1] if words else "failed"
    return f"{done.point} ({done.name}) does not let it go on: {what}"


def _make_refusal(error: AigonError | OSError) -> RunFinished:
    """The end of a run that cannot go on, as hooks are told of it; who drives the loop writes it down."""
    code = error.code if isinstance(error, AigonError) else Exit.ENVIRONMENT
    return RunFinished(World.now(), Refused(str(error)), "refused", int(code), str(error), "")


def add_hooks(loop: Loop, session: Session, state: State) -> Loop:
    """`loop` with the hooks of the project around it; without any it is `loop` itself."""
    config, world = session.prepared.config, session.world
    hooks = list_hooks(config.hooks, world.workspace.root, world.get(ProtectedFiles).files, world.agent_env)
    said = (
        *describe_hook_problems(config.hooks, hooks, world.get(ProtectedFiles).files),
        *_describe_notify_problems(session),
    )
    return wrap_loop(loop, hooks, make_hook_context(session), state, said)


def make_notifiers(session: Session) -> list[NotifySink]:
    """The observer that tells others how the run ended; none where nobody is to be told."""
    stage = make_hook_context(session)
    targets = [target for number, each in enumerate(session.prepared.config.notify)
               for target in _list_targets(f"notify[{number}]", each, stage)]  # fmt: skip
    hurried = lambda: HURRIED_SECONDS if stage.hurried else None  # noqa: E731 - one line, one use
    return [NotifySink(targets, session.state, redact=stage.redact, hurried=hurried)] if targets else []


def make_hook_context(session: Session) -> HookContext:
    """What the hooks of this run have in common."""
    job, world = session.job, session.world
    about = {
        "feature": job.feature.name_for_people,
        "run": world.run_id,
        "workspace": str(world.workspace.root),
        "branch": world.workspace.branch,
    }
    return HookContext(
        root=world.workspace.root,
        folder=world.folder,
        about=about,
        env=world.agent_env,
        stop=world.stop,
        redact=world.redact,
        kept=world.get(ProtectedFiles).files,
        touched=lambda: restore.find_touched(world.workspace.root, world.get(ProtectedFiles).files, job.protection),
        begun=world.guardian.begun,
        settled=partial(_settle, world),
        allowed=session.prepared.config.env.pass_,
    )


def _settle(world: World) -> None:
    """A hook is over: its number may be another's soon, and the refs that it wrote are the person's."""
    world.guardian.over()
    if watch := world.find(Watch):
        watch.own_refs_moved()


def _describe_notify_problems(session: Session) -> Iterator[str]:
    """What a person has to mend of the notifications, said before the first turn."""
    world = session.world
    for number, each in enumerate(session.prepared.config.notify):
        name = f"notify[{number}]"
        if each.webhook is None and not each.command:
            yield f"{name} tells nobody: give it a webhook or a command"
        if each.webhook is not None and (why := notifications.explain_unusable_address(each.webhook, world.agent_env)):
            yield f"{name}.webhook cannot be used: {why}"
        if each.command and (trouble := _make_program(name, each, make_hook_context(session)).trouble):
            yield f"{name}.command cannot run: {trouble}"


def _list_targets(name: str, each: NotifyConfig, stage: HookContext) -> Iterator[NotifyTarget]:
    seconds, on = float(each.timeout), tuple(each.on)
    if each.webhook is not None and not notifications.explain_unusable_address(each.webhook, stage.env):
        url = notifications.resolve_address(each.webhook, stage.env)
        yield NotifyTarget(f"{name}.webhook", partial(notifications.post_document, url), seconds, on, aside=True)
    if each.command:
        yield NotifyTarget(
            f"{name}.command", partial(_tell_program, _make_program(name, each, stage), stage), seconds, on
        )


def _make_program(name: str, each: NotifyConfig, stage: HookContext) -> Hook:
    seconds, passed = float(each.timeout), tuple(each.pass_)
    return make_command_hook("notify", f"{name}.command", each.command, stage.root, stage.env, seconds, passed=passed)


def _tell_program(hook: Hook, stage: HookContext, body: bytes, seconds: float) -> str:
    done = run_hook(hook, stage, body, 0, at_most=seconds)
    return "" if done.status == "ok" else f"{done.status.replace('_', ' ')}: {done.output or 'it said nothing'}"
