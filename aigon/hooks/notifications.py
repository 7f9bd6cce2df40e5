"""Tell others how a run ended. A failure is logged and changes nothing about the run."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from aigon.config.models import Config, NotifyConfig
from aigon.hooks.execution import HURRIED_SECONDS, HookContext, make_hook_context, run_hook
from aigon.hooks.hook import Hook, make_command_hook
from aigon.hooks.services import explain_unusable_service, make_teller
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished
from aigon.journal.spending import describe_spend
from aigon.journal.state import State
from aigon.model.outcomes import describe_outcome
from aigon.process.stop import start_call
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from concurrent.futures import Future
    from urllib.error import HTTPError

SCHEMA_VERSION = 1
MAX_TEXT_CHARS = 600
"""Characters of the line that chat services show."""
MAX_REPLY_BYTES = 200
"""Bytes that are read of a server's reply."""
POLL_SECONDS = 0.2
PATIENCE = 5.0
"""Seconds for which the end of a run waits for services and webhooks at most: their answer changes nothing."""

Tell = Callable[[bytes, float], str]
"""Passes a JSON document on within so many seconds; returns "", or why it could not."""


class NotifyTarget(Struct, frozen=True):
    """Somebody to tell within `seconds`. `on` are the statuses that they want to know of; all if it is empty.

    Targets that are told `aside` may be told at the same time; any other has the process to itself.
    """

    name: str
    tell: Tell
    seconds: float = 30.0
    on: tuple[str, ...] = ()
    aside: bool = False


class NotifySink:
    """Tells `targets` of the end of a run that had come to `state`. `redact` goes over all that is passed on.

    `hurried` returns the seconds that are left in all, None for no such limit.
    """

    def __init__(
        self,
        targets: Sequence[NotifyTarget],
        state: State,
        *,
        redact: Callable[[bytes], bytes] = lambda text: text,
        hurried: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._targets, self._state = targets, state
        self._redact, self._hurried = redact, hurried

    def __call__(self, event: Event) -> None:
        """Follow the state of the run; at its end, tell the targets."""
        self._state = self._state.apply(event)
        if isinstance(event, RunFinished):
            targets = [target for target in self._targets if not target.on or event.status in target.on]
            body = self._redact(json.dumps(build_document(event, self._state)).encode())
            tell_targets(targets, body, self._hurried)

    def close(self) -> None:
        """Nothing is open."""


def tell_targets(targets: Sequence[NotifyTarget], body: bytes, hurried: Callable[[], float | None]) -> None:
    """Tell `targets`, those that can be told `aside` side by side; log who could not be told."""
    most = hurried()
    limits = [(target, target.seconds if most is None else min(most, target.seconds)) for target in targets]
    pending = [
        # In a thread of its own: looking up a name knows no deadline.
        (target, start_call(partial(target.tell, body, seconds), "notify"), monotonic() + min(seconds, PATIENCE))
        for target, seconds in limits
        if target.aside
    ]
    for target, seconds in limits:
        if not target.aside:
            _log_failure(target, target.tell(body, seconds))
    for target, answer, end in pending:
        _log_failure(target, _await_answer(answer, end, hurried if most is None else lambda: None))


def _await_answer(answer: "Future[str]", end: float, hurried: Callable[[], float | None]) -> str:
    """Return the answer by `end`, in monotonic seconds, or until this process is asked to end."""
    while not answer.done() and (remaining := end - monotonic()) > 0 and hurried() is None:
        with suppress(Exception):
            return answer.result(min(POLL_SECONDS, remaining))
    if not answer.done():
        return "no answer in time, so it may not have arrived"
    error = answer.exception()  # in a thread nobody would ever hear of it
    return repr(error) if error else answer.result()


def _log_failure(target: NotifyTarget, why: str) -> None:
    if why:
        logging.getLogger("aigon").warning("%s could not be notified of the end of the run: %s", target.name, fold(why))


def build_document(event: RunFinished, state: State) -> dict[str, object]:
    """Return the end of a run for others; `text` is what Slack and the like show."""
    started, look = state.started, state.last
    met = sum(verdict.status == "met" for verdict in look.verdicts) if look else 0
    total = started.criteria_total if started else 0
    subject = started.subject if started else "feature"
    tally = f"exit code {event.exit_code}, {met} of {total} criteria passed, {describe_spend(state.spend)}"
    return {
        "schema_version": SCHEMA_VERSION,
        "text": fold(f"aigon, {subject}: {describe_outcome(event.outcome)} ({tally})", MAX_TEXT_CHARS),
        "feature": started.feature_id if started else "",
        "slug": started.slug if started else "",
        "purpose": started.purpose if started else "build",
        "run": started.run_id if started else "",
        "agent": started.agent if started else "",
        "branch": started.branch if started else "",
        "status": event.status,
        "success": event.status == "met",
        "exit_code": event.exit_code,
        "summary": event.summary,
        "criteria": {"met": met, "total": total},
        "iterations": event.iterations,
        "remaining_issues": list(event.remaining_issues),
        "spend": {"usd": round(state.spend.usd, 6), "unknown": state.spend.unknown},
        "commit": event.commit,
        "at": event.at,
    }


def make_notifiers(config: Config, job: Job, world: World, state: State, *, in_arena: bool) -> list[NotifySink]:
    """Return the observer that tells others how the run ended, if any are to be told.

    Services and webhooks hear of an arena as a whole, when all have ended, and not of each of its runs.
    """
    context = make_hook_context(config, job, world)
    targets = [] if in_arena else list_services(config.notify, context.env)
    targets += _list_programs(config.notify, context)
    hurried = lambda: HURRIED_SECONDS if context.hurried else None  # noqa: E731 - one line, one use
    return [NotifySink(targets, state, redact=context.redact, hurried=hurried)] if targets else []


def describe_notify_problems(config: Sequence[NotifyConfig], context: HookContext) -> Iterator[str]:
    """Yield what a person should know about notifications before the first turn, a sentence each."""
    for number, each in enumerate(config):
        name = f"notify[{number}]"
        if each.to is None and each.webhook is None and not each.command:
            yield f"{name} has no recipient: name a service (to), or give it a webhook or a command"
        if each.to is not None and (reason := explain_unusable_service(each.to, context.env)):
            yield f"{name}.to cannot be used: {reason}"
        if each.webhook is not None and (reason := explain_unusable_address(each.webhook, context.env)):
            yield f"{name}.webhook cannot be used: {reason}"
        if each.command and (trouble := _make_program(name, each, context).trouble):
            yield f"{name}.command cannot run: {trouble}"


def list_services(config: Sequence[NotifyConfig], env: Mapping[str, str]) -> list[NotifyTarget]:
    """Return the services and webhooks that are told of an end, as far as they can be."""
    targets = []
    for number, each in enumerate(config):
        name, seconds, on = f"notify[{number}]", float(each.timeout), tuple(each.on)
        if each.to is not None and not explain_unusable_service(each.to, env):
            targets.append(NotifyTarget(f"{name}.to", make_teller(each.to, env), seconds, on, aside=True))
        if each.webhook is not None and not explain_unusable_address(each.webhook, env):
            url = resolve_address(each.webhook, env)
            targets.append(NotifyTarget(f"{name}.webhook", partial(post_document, url), seconds, on, aside=True))
    return targets


def _list_programs(config: Sequence[NotifyConfig], context: HookContext) -> Iterator[NotifyTarget]:
    """Yield the programs of the project that are told of an end."""
    for number, each in enumerate(config):
        if each.command:
            name = f"notify[{number}]"
            tell = partial(_tell_program, _make_program(name, each, context), context)
            yield NotifyTarget(f"{name}.command", tell, float(each.timeout), tuple(each.on))


def _tell_program(program: Hook, context: HookContext, body: bytes, seconds: float) -> str:
    result = run_hook(program, context, body, 0, at_most=seconds)
    why = f"{result.status.replace('_', ' ')}: {result.output or 'it printed nothing'}"
    return "" if result.status == "ok" else why


def _make_program(name: str, each: NotifyConfig, context: HookContext) -> Hook:
    name, timeout, passed = f"{name}.command", float(each.timeout), tuple(each.pass_)
    return make_command_hook("notify", name, each.command, context.root, context.env, timeout, passed=passed)


def resolve_address(given: str, env: Mapping[str, str]) -> str:
    """Return the address; `$NAME` is the variable of that name, since addresses of chat services are secrets."""
    return env.get(given.strip().removeprefix("$").strip("{}"), "") if given.strip().startswith("$") else given.strip()


def shorten_address(url: str) -> str:
    """Return the part of an address that is no secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port is not None else "")
    except ValueError:
        return "its address"


def explain_unusable_address(given: str, env: Mapping[str, str]) -> str:
    """Return what is wrong with an address and what to do; "" if it can be posted to."""
    url = resolve_address(given, env)
    if not url:
        return f"the variable {given.strip()} is not set" if given.strip() else "it has no address"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        usable = False
    return "" if usable else "its address has to begin with https:// or http:// and to name a host"


def post_document(url: str, body: bytes, seconds: float) -> str:
    """Post `body`, waiting `seconds` for each answer of the network; return "", or why it failed. Raises nothing."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class RefuseRedirects(HTTPRedirectHandler):
        """A POST that is redirected would arrive without its document, perhaps at another server."""

        def redirect_request(self, *_: object) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "aigon"}
    try:
        with build_opener(RefuseRedirects).open(Request(url, body, headers), timeout=seconds):
            return ""
    except HTTPError as error:
        with error:
            return f"{shorten_address(url)} answered {error.code} {_describe_reply(error)}"
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error or type(error).__name__
        return f"{shorten_address(url)}: {reason}"


def _describe_reply(error: "HTTPError") -> str:
    if 300 <= error.code < 400:
        return "and redirects, which is not followed; configure where it leads to"
    try:
        said = error.read(MAX_REPLY_BYTES).decode(errors="replace").strip()
    except OSError:
        said = ""
    return f"{error.reason}: {said}" if said else str(error.reason)
