"""Hooks and notifications of one run, from its configuration: what `implement` puts around its loop and beside it."""

from collections.abc import Iterator
from functools import partial

from aigon.config.models import NotifyConfig
from aigon.hooks import webhook
from aigon.hooks.hooks import HURRY, around
from aigon.hooks.list import Hook, command_of, hooks_of, to_mend
from aigon.hooks.notify import NotifySink, Target
from aigon.hooks.run import Stage, ran
from aigon.job.world import World
from aigon.journal.state import State
from aigon.loop.loop import Loop
from aigon.proof import put_back
from aigon.run.session import Session


def hooked(loop: Loop, session: Session, state: State) -> Loop:
    """`loop` with the hooks of the project around it; without any it is `loop` itself."""
    config, world = session.prepared.config, session.world
    hooks = hooks_of(config.hooks, world.workspace.root, world.guarded, world.agent_env)
    said = (*to_mend(config.hooks, hooks, world.guarded), *_unusable(session))
    return around(loop, hooks, stage_of(session), state, said)


def notified(session: Session) -> list[NotifySink]:
    """The observer that tells others how the run ended; none where nobody is to be told."""
    stage = stage_of(session)
    targets = [target for number, each in enumerate(session.prepared.config.notify)
               for target in _targets(f"notify[{number}]", each, stage)]  # fmt: skip
    hurried = lambda: HURRY if stage.hurried else None  # noqa: E731 - one line, one use
    return [NotifySink(targets, session.state, redact=stage.redact, hurried=hurried)] if targets else []


def stage_of(session: Session) -> Stage:
    """What the hooks of this run have in common."""
    job, world = session.job, session.world
    about = {
        "feature": job.feature.name_for_people,
        "run": world.run_id,
        "workspace": str(world.workspace.root),
        "branch": world.workspace.branch,
    }
    return Stage(
        root=world.workspace.root,
        folder=world.folder,
        about=about,
        env=world.agent_env,
        stop=world.stop,
        redact=world.redact,
        kept=world.guarded,
        touched=lambda: put_back.touched(world.workspace.root, world.guarded, job.protection),
        begun=world.guardian.begun,
        settled=partial(_settled, world),
        allowed=session.prepared.config.env.pass_,
    )


def _settled(world: World) -> None:
    """A hook is over: its number may be another's soon, and the refs that it wrote are the person's."""
    world.guardian.over()
    if world.watch:
        world.watch.own_refs_moved()


def _unusable(session: Session) -> Iterator[str]:
    """What a person has to mend of the notifications, said before the first turn."""
    world = session.world
    for number, each in enumerate(session.prepared.config.notify):
        name = f"notify[{number}]"
        if each.webhook is None and not each.command:
            yield f"{name} tells nobody: give it a webhook or a command"
        if each.webhook is not None and (why := webhook.unusable(each.webhook, world.agent_env)):
            yield f"{name}.webhook cannot be used: {why}"
        if each.command and (trouble := _program(name, each, stage_of(session)).trouble):
            yield f"{name}.command cannot run: {trouble}"


def _targets(name: str, each: NotifyConfig, stage: Stage) -> Iterator[Target]:
    seconds, on = float(each.timeout), tuple(each.on)
    if each.webhook is not None and not webhook.unusable(each.webhook, stage.env):
        url = webhook.address(each.webhook, stage.env)
        yield Target(f"{name}.webhook", partial(webhook.post, url), seconds, on, aside=True)
    if each.command:
        yield Target(f"{name}.command", partial(_tell, _program(name, each, stage), stage), seconds, on)


def _program(name: str, each: NotifyConfig, stage: Stage) -> Hook:
    seconds, passed = float(each.timeout), tuple(each.pass_)
    return command_of("notify", f"{name}.command", each.command, stage.root, stage.env, seconds, passed=passed)


def _tell(hook: Hook, stage: Stage, body: bytes, seconds: float) -> str:
    done = ran(hook, stage, body, 0, at_most=seconds)
    return "" if done.status == "ok" else f"{done.status.replace('_', ' ')}: {done.output or 'it said nothing'}"
