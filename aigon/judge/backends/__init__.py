"""Judge backends, one module each, and those of plug-ins: which is chosen, with what settings, and how it is asked.

`aigon.model.requests` describes a backend.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import field, structs
from msgspec.structs import replace

from aigon.agents.adapters import adapter_for
from aigon.agents.credentials import filter_environment
from aigon.agents.obstacles import find_program
from aigon.config.models import JudgeConfig
from aigon.errors import usage
from aigon.files.resources import Registry
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Agent, Launch, ProgramExit
from aigon.process.stop import POLL_SECONDS, Stop, start_call
from aigon.secrets.redaction import drop_credentials, make_redactor, redact_value

BACKENDS = Registry("aigon.judges", __name__, "judge backend", {"command": "agent command"})
GRACE_SECONDS = 5.0
"""Seconds that a judge has beyond its own time-out before its silence is the answer."""


class Backend(Protocol):
    """The two functions of a backend module."""

    def explain_unready(self, settings: JudgeSettings, env: Mapping[str, str], /) -> str:
        """Return what is missing and how to get it; empty if the judge can be asked."""

    def ask(self, question: JudgeQuestion, settings: JudgeSettings, /) -> JudgeAnswer:
        """Make one call. What went wrong is the answer's `failure`, never an exception."""


def find_backend(name: str) -> Backend:
    """Return the backend called `name`. Raises a usage error that lists the known ones."""
    if name not in BACKENDS.builtins() and name not in BACKENDS.plugins():
        hint = f"{BACKENDS.suggest(name)}; or none, to leave such criteria to a person"
        where = "--judge, AIGON_JUDGE or judge.backend in .aigon/config.json"
        raise usage(f"There is no judge backend called {name!r}", where=where, hint=hint)
    return cast("Backend", BACKENDS.load(name))


def ask_in_thread(question: JudgeQuestion, settings: JudgeSettings, stop: Stop) -> JudgeAnswer:
    """Make one call in a thread, so that Ctrl+C does not wait for a model. Never raise: a failure is an answer."""
    limit = time.monotonic() + settings.timeout + GRACE_SECONDS
    answer = None if stop.look() else start_call(partial(_ask, question, settings), "judge")
    while answer and not stop.look() and time.monotonic() < limit:
        with suppress(TimeoutError):
            return answer.result(POLL_SECONDS)
    return JudgeAnswer(failure="it was stopped" if stop.now else "the judge did not answer in time")


def _ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    try:
        return find_backend(settings.backend).ask(question, settings)
    except Exception as error:  # a backend must not raise; one that does must not hang a run
        return JudgeAnswer(failure=f"the judge failed ({type(error).__name__})")


def ask_redacted(question: JudgeQuestion, settings: JudgeSettings, env: Mapping[str, str]) -> JudgeAnswer:
    """Return the answer to a question without what looks like a credential of `env`: it leaves the machine."""
    redact = make_redactor(env)

    def clean(text: str) -> str:
        return redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    document = json.loads(clean(json.dumps(question.document)))
    question = replace(question, shared=clean(question.shared), task=clean(question.task), document=document)
    return redact_value(find_backend(settings.backend).ask(question, settings), redact)


NOBODY = "no agent was chosen that could be asked"
PREFERENCE = ("agent", "anthropic")
"""Which judge is taken if none was chosen: the first that is ready."""
MODEL_VARIABLE = "AIGON_JUDGE_MODEL"
"""What tells a program that is a judge which model was configured for it."""
_SHOWN = 60
"""Characters of a command line that are shown as the name of a model."""
_EXAMPLE = '"judge": {"backend": "command", "command": ["./judge.sh"]} in .aigon/config.json'


class AgentJudgeSettings(JudgeSettings, frozen=True):
    """The settings of the judge `agent`.

    `launch` is the agent's command line for one question, `read` takes the answer from what the program left;
    `missing` says why the agent cannot be asked, "" if it can. Only one that is asked `alone`, without anything that
    lies in the person's home, is taken unnamed.
    """

    launch: Launch = field(default_factory=lambda: Launch(()))
    read: Callable[[ProgramExit], JudgeAnswer] = lambda _: JudgeAnswer(failure=NOBODY, available=False)
    missing: str = NOBODY
    alone: bool = False


def choose_judge(own: JudgeConfig, flag: str | None) -> str | None:
    """Return the judge that was chosen, `none` for no judge; None without a choice.

    Raises AigonError (exit 2) for one that does not exist, and for `command` without a command.
    """
    name = flag or own.backend or ("command" if own.command else "agent" if own.agent else None)
    if name and name != "none":
        find_backend(name)
    if name == "command" and not own.command:
        raise usage("The judge command needs a command", where="judge.command", hint=f"Give it one: {_EXAMPLE}")
    return name


def build_settings(
    name: str,
    own: JudgeConfig,
    root: Path,
    env: Mapping[str, str],
    agent: Agent | None,
    allowed: Sequence[str] = (),
) -> JudgeSettings:
    """Return what the judge `name` is asked with; `agent` is who would answer as the judge `agent`, or None.

    A program sees no credentials but those that are `allowed`, an agent those of its type too.
    """
    allowed = (*allowed, *own.pass_)
    settings = JudgeSettings(
        backend=name,
        model=own.model,
        timeout=float(own.timeout),
        max_tokens=own.max_tokens,
        mode=own.mode,
        cwd=str(root.absolute()),
        env=env,
    )
    chosen = own.model if "model" in own.given else ""
    if name == "command":
        # It has a model only if one was configured: the default is another judge's.
        command = (own.command,) if isinstance(own.command, str) else tuple(own.command)
        env = {**drop_credentials(env, allowed), **({MODEL_VARIABLE: chosen} if chosen else {})}
        shown = " ".join(Path(word).name or word for word in command)[:_SHOWN]
        return replace(settings, model=chosen or shown, command=command, env=env)
    if name != "agent":
        return settings  # asked by this very process
    given = structs.asdict(settings)
    return _build_agent_settings(given, own, root, agent, allowed) if agent else AgentJudgeSettings(**given)


def _build_agent_settings(
    given: dict[str, Any], own: JudgeConfig, root: Path, agent: Agent, allowed: Sequence[str]
) -> JudgeSettings:
    """Return what this agent is asked with as a judge; `given` are the settings of any judge."""
    env, chosen = given["env"], own.model if "model" in own.given else ""
    adapter = adapter_for(agent)
    # The built-in default is Claude's model, so any other agent is asked with its own.
    model = own.model if adapter.kind.reads == "claude" else chosen or agent.model
    asked = replace(agent, passed=(*agent.passed, *allowed), model=model, args=())
    judge = adapter.kind.judge
    given |= {
        "agent": agent.adapter,
        "env": filter_environment(env, asked, adapter.kind),
        "model": model or agent.name,
        "alone": bool(judge and judge.alone),
    }
    if judge is None:
        missing = (
            f"{NOBODY}: the adapter {agent.adapter} of the agent {agent.name} has no read-only use. "
            "Name one that has, such as claude, as judge.agent in .aigon/config.json"
        )
        return AgentJudgeSettings(**given, missing=missing)
    missing = adapter.explain_unready(asked, partial(find_program, root, env), env)
    read = partial(adapter.read_consultation, asked)
    return AgentJudgeSettings(**given, launch=adapter.build_consultation(asked), read=read, missing=missing)


def explain_unready(settings: JudgeSettings) -> str:
    """Return what is missing; empty if the judge can be asked."""
    return find_backend(settings.backend).explain_unready(settings, settings.env)
