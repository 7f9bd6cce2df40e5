"""Services that can be told how a run ended: the desktop by its own program, all others through apprise."""

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aigon.installation import has_modules, suggest_extra
from aigon.process.start import capture_output

if TYPE_CHECKING:
    from io import StringIO

    from apprise import NotifyBase

DESKTOP = "desktop"
VARIABLES = {"slack": "SLACK_WEBHOOK_URL", "ntfy": "NTFY_TOPIC"}
"""Services that go by their name, and the variable that holds the address or the topic."""
TITLE = "aigon"
_DESKTOP_PROGRAMS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    "notify-send": lambda text: ("--app-name", TITLE, TITLE, text),
    # The text is an argument and no part of the script: quotes in it end nothing.
    "osascript": lambda text: ("-e", "on run argv", "-e", f'display notification (item 1 of argv) with title "{TITLE}"',
                               "-e", "end run", text),
}  # fmt: skip
"""Programs that show a notification, and the arguments that make them show a text."""
_SHORTEST_SECRET = 4


def resolve_service(given: str, env: Mapping[str, str]) -> str:
    """Return the address of a service; "" if the variable that should hold it is not set."""
    word = given.strip()
    name = VARIABLES.get(word) or (word.removeprefix("$").strip("{}") if word.startswith("$") else "")
    address = env.get(name, "").strip() if name else word
    return f"ntfys://{address}" if word == "ntfy" and address and "://" not in address else address


def explain_unusable_service(given: str, env: Mapping[str, str], *, thorough: bool = False) -> str:
    """Return what is missing and how to get it; "" if the service can be told.

    Only if it is `thorough` apprise is loaded, which takes as long as a small check, and looks at the address.
    """
    if given.strip() == DESKTOP:
        programs = " or ".join(_DESKTOP_PROGRAMS)
        return "" if _find_desktop_program(env) else f"there is no program {programs} to show it"
    address = resolve_service(given, env)
    if not address:
        name = VARIABLES.get(given.strip(), given.strip().strip("${}"))
        return f"the variable {name} is not set" if name else "it names no service"
    if "://" not in address:
        return "it is neither desktop, slack, ntfy nor an address: https://github.com/caronc/apprise/wiki lists those"
    if not has_modules("apprise"):
        return f"apprise is not installed: {suggest_extra('notify')}"
    return _load(address)[1] if thorough else ""


def make_teller(given: str, env: Mapping[str, str]) -> Callable[[bytes, float], str]:
    """Return what passes the `text` of a document on to a usable service."""
    if given.strip() == DESKTOP:
        program = _find_desktop_program(env)  # now, before an agent could leave one of that name on PATH
        return lambda body, _seconds: _show_on_desktop(program, json.loads(body)["text"], env)
    address = resolve_service(given, env)
    return lambda body, _seconds: _notify(address, json.loads(body))


def _find_desktop_program(env: Mapping[str, str]) -> str:
    return next(filter(None, (shutil.which(name, path=env.get("PATH")) for name in _DESKTOP_PROGRAMS)), "")


def _show_on_desktop(program: str, text: str, env: Mapping[str, str]) -> str:
    arguments = _DESKTOP_PROGRAMS[program.rpartition("/")[2]](text)
    code, _, error = capture_output([program, *arguments], env=env)
    return "" if code == 0 else error.decode(errors="replace").strip() or f"exit code {code}"


def _notify(address: str, document: Mapping[str, object]) -> str:
    from apprise import NotifyType

    service, why = _load(address)
    if service is None:
        return why
    kind = "success" if document["success"] else "warning"
    with _capture_log() as log:
        is_told = service.notify(body=str(document["text"]), title=TITLE, notify_type=NotifyType(kind))
    return "" if is_told else _hide(address, log.getvalue()) or "the service refused it"


def _load(address: str) -> "tuple[NotifyBase | None, str]":
    """Return what apprise makes of an address, and why that is nothing."""
    from apprise import Apprise

    with _capture_log() as log:
        service = Apprise.instantiate(address)
    return service, "" if service else _hide(address, f"apprise does not know its address: {log.getvalue()}")


@contextmanager
def _capture_log() -> "Iterator[StringIO]":
    """Yield what apprise warns of. It would be printed otherwise, with parts of the address."""
    from apprise import LogCapture

    logging.getLogger("apprise").propagate = False
    with LogCapture(level=logging.WARNING, fmt="%(message)s") as log:  # type: ignore[no-untyped-call]
        yield log


def _hide(address: str, said: str) -> str:
    """Take every part of an address but its scheme out of a message: the rest may be a secret."""
    for part in sorted(re.split(r"[/:@?&=#]+", address.partition("://")[2]), key=len, reverse=True):
        if len(part) >= _SHORTEST_SECRET:
            said = said.replace(part, "…")
    return said.strip()
