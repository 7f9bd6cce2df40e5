"""Tell others how a run ended. A failure is logged and changes nothing about the run."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aigon.journal.events import Event, RunFinished
from aigon.journal.spending import describe_spend
from aigon.journal.state import State
from aigon.model.outcomes import describe_outcome
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from urllib.error import HTTPError


SCHEMA_VERSION = 1
MAX_TEXT_CHARS = 600
"""Characters of the line that chat services show."""
POLL_SECONDS = 0.2
"""Seconds between two looks at whether the wait is to be cut short."""

Tell = Callable[[bytes, float], str]
"""Hands a JSON document on within so many seconds: empty, or why it could not."""


@dataclass(frozen=True, slots=True)
class NotifyTarget:
    """Somebody to be told. `on` are the statuses they want to know of (all, where it is empty), `seconds` its time.

    With `aside` it may take place beside others; otherwise it has the process to itself.
    """

    name: str
    tell: Tell
    seconds: float = 30.0
    on: tuple[str, ...] = ()
    aside: bool = False


class NotifySink:
    """Tells `targets` of the end of a run that had come to `state`. `redact` goes over all that is handed on.

    `hurried` gives the seconds that are left in all, None for no such limit.
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
        """Keep count; at the end, tell."""
        self._state = self._state.apply(event)
        if isinstance(event, RunFinished):
            self._tell([target for target in self._targets if not target.on or event.status in target.on], event)

    def close(self) -> None:
        """Nothing is held open."""

    def _tell(self, targets: Sequence[NotifyTarget], event: RunFinished) -> None:
        body = self._redact(json.dumps(build_document(event, self._state)).encode())
        most = self._hurried()
        limits = [(target, target.seconds if most is None else min(most, target.seconds)) for target in targets]
        beside = [_start_telling(target, body, seconds) for target, seconds in limits if target.aside]
        for target, seconds in limits:
            if not target.aside:
                _log_failure(target, target.tell(body, seconds))
        for waited in beside:
            _log_failure(waited.target, waited.answer(self._hurried if most is None else lambda: None))


@dataclass(frozen=True, slots=True)
class _PendingAnswer:
    """A target that is being told in a thread; `end` is in monotonic seconds."""

    target: NotifyTarget
    said: list[str]
    thread: Thread
    end: float

    def answer(self, hurried: Callable[[], float | None]) -> str:
        """What became of it by `end`, or by when somebody wants this process to be gone."""
        while self.thread.is_alive() and monotonic() < self.end and hurried() is None:
            self.thread.join(min(POLL_SECONDS, max(0.0, self.end - monotonic())))
        return self.said[0] if self.said else "no answer in time"


def _start_telling(target: NotifyTarget, body: bytes, seconds: float) -> _PendingAnswer:
    """Told in a thread that nobody waits for longer than `seconds`: a name that is looked up knows no deadline."""
    said: list[str] = []
    thread = Thread(target=lambda: said.append(_tell_safely(target, body, seconds)), name="notify", daemon=True)
    thread.start()
    return _PendingAnswer(target, said, thread, monotonic() + seconds)


def _tell_safely(target: NotifyTarget, body: bytes, seconds: float) -> str:
    try:
        return target.tell(body, seconds)
    except Exception as error:  # in a thread nobody would ever hear of it
        return repr(error)


def _log_failure(target: NotifyTarget, why: str) -> None:
    if why:
        logging.getLogger("aigon").warning("%s could not be told how the run ended: %s", target.name, fold(why))


def build_document(event: RunFinished, state: State) -> dict[str, object]:
    """The end of a run for others; `text` is what Slack and the like show."""
    started, look = state.started, state.last
    met = sum(verdict.status == "met" for verdict in look.verdicts) if look else 0
    total = started.criteria_total if started else 0
    feature = started.feature_id if started else ""
    slug = started.slug if started else ""
    tally = f"exit code {event.exit_code}, {met} of {total} criteria passed, {describe_spend(state.spend)}"
    return {
        "schema_version": SCHEMA_VERSION,
        "text": fold(f"aigon, feature {feature} {slug}: {describe_outcome(event.outcome)} ({tally})", MAX_TEXT_CHARS),
        "feature": feature,
        "slug": slug,
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


MAX_REPLY_BYTES = 200
"""Bytes that are read of what a server says."""


def resolve_address(given: str, env: Mapping[str, str]) -> str:
    """The address; `$NAME` stands for the variable of that name, since addresses of chat services are secrets."""
    return env.get(given.strip().removeprefix("$").strip("{}"), "") if given.strip().startswith("$") else given.strip()


def shorten_address(url: str) -> str:
    """The part of an address that is no secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port is not None else "")
    except ValueError:
        return "its address"


def explain_unusable_address(given: str, env: Mapping[str, str]) -> str:
    """Empty for an address that can be posted to, else what is wrong with it and what to do."""
    url = resolve_address(given, env)
    if not url:
        return f"the variable {given.strip()} is not set" if given.strip() else "it has no address"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        usable = False
    return "" if usable else "its address is none that begins with https:// or http:// and names a host"


def post_document(url: str, body: bytes, seconds: float) -> str:
    """Post `body`, waiting `seconds` for each answer of the network: empty, or why it failed. No redirect is followed.

    Raises nothing.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """A POST that is redirected would arrive without its document, perhaps elsewhere than was meant."""

        def redirect_request(self, *_: object) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "aigon"}
    try:
        with build_opener(Stay).open(Request(url, body, headers), timeout=seconds):
            return ""
    except HTTPError as error:
        with error:
            return f"{shorten_address(url)} answered {error.code} {_describe_reply(error)}"
    except URLError as error:
        return f"{shorten_address(url)}: {error.reason}"
    except (OSError, HTTPException, ValueError) as error:
        return f"{shorten_address(url)}: {error or type(error).__name__}"


def _describe_reply(error: "HTTPError") -> str:
    if 300 <= error.code < 400:
        return "and redirects, which is not followed; configure where it leads to"
    try:
        said = error.read(MAX_REPLY_BYTES).decode(errors="replace").strip()
    except OSError:
        said = ""
    return f"{error.reason}: {said}" if said else str(error.reason)
