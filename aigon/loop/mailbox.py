"""The mailbox of a turn: `aigon run` notes in it what the agent asks for, and the loop reads it when the turn is over.

It is a file in the turn's own folder, which the agent can write in every sandbox, next to the prompt that
AIGON_PROMPT_FILE names. Whatever an agent writes there is text of a bounded length.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from aigon.errors import AigonError, Exit, usage
from aigon.files.atomic import open_plain
from aigon.model.criteria import Criterion
from aigon.model.requests import AgentRequest, RequestKind, resolve_task
from aigon.process.orphans import list_lineage, read_variable
from aigon.text.amounts import format_count, format_size
from aigon.text.quoting import fold

NAME = "mailbox.ndjson"
VARIABLE = "AIGON_PROMPT_FILE"
MAX_BYTES = 64 * 1024
MAX_LINES = 100
LONGEST = 500
"""Characters of a reason or a title."""
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_mailbox() -> Path | None:
    """Return the mailbox of the turn that this process is a part of; None if no turn shows.

    Agents that start commands in a scrubbed environment are found by the environment of the processes above.
    """
    given = os.environ.get(VARIABLE)
    above = (read_variable(process.pid, VARIABLE) for process in list_lineage()[1:])
    prompt = given or next(filter(None, above), None)
    return Path(prompt).with_name(NAME) if prompt else None


def post_request(mailbox: Path, kind: RequestKind, *, task: str = "", text: str = "", priority: str = "") -> None:
    """Append a request. Raises AigonError: exit 2 for a full mailbox, exit 7 for one that cannot be written."""
    document = {"kind": kind, "task": task[:LONGEST], "text": text[:LONGEST], "priority": priority}
    line = json.dumps({name: value for name, value in document.items() if value}).encode() + b"\n"
    try:
        handle = os.open(mailbox, _APPEND, 0o644)
        with open(handle, "wb") as file:  # noqa: PTH123 - of a handle
            if os.fstat(handle).st_size + len(line) > MAX_BYTES:
                what = f"The mailbox of this turn is full ({format_size(MAX_BYTES)})"
                raise usage(
                    what, where=str(mailbox), hint="Continue with the work; aigon reads the mailbox after the turn"
                )
            file.write(line)
    except OSError as error:
        what = f"The mailbox of this turn cannot be written: {error.strerror}"
        raise AigonError(what, where=str(mailbox), code=Exit.ENVIRONMENT) from error


def read_mailbox(
    folder: Path, criteria: Sequence[Criterion], feature: str
) -> tuple[tuple[AgentRequest, ...], tuple[str, ...]]:
    """Return what the mailbox in a turn's folder holds, and a sentence for each kind of thing in it that is ignored."""
    remarks: list[str] = []
    lines = _read_lines(folder / NAME, remarks)
    requests, unreadable, unknown = [], 0, []
    for line in lines:
        request = _parse_line(line)
        if request is None:
            unreadable += 1
            continue
        number = resolve_task(criteria, feature, str(request.get("task") or ""))
        if number or request["kind"] == "enqueue":
            requests.append(_make_request(request, number))
        else:
            unknown.append(fold(str(request.get("task")), 40))
    if unreadable:
        remarks.append(f"{format_count(unreadable, 'line')} of the mailbox cannot be read")
    if unknown:
        remarks.append(f"the mailbox names criteria that the spec does not have: {', '.join(unknown[:5])}")
    return tuple(requests), tuple(remarks)


def _read_lines(mailbox: Path, remarks: list[str]) -> list[bytes]:
    try:
        with open_plain(mailbox) as file:
            size = os.fstat(file.fileno()).st_size
            *lines, rest = file.read(MAX_BYTES).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        remarks.append(f"the mailbox is ignored: {error.strerror}")
        return []
    if len(lines) > MAX_LINES or size > MAX_BYTES:
        remarks.append(
            f"the mailbox has {format_size(size)}: aigon reads {MAX_LINES} lines and {format_size(MAX_BYTES)} at most, "
            "and ignores the rest"
        )
    elif rest:
        remarks.append("the last line of the mailbox is cut off and ignored")
    return lines[:MAX_LINES]


def _parse_line(line: bytes) -> Mapping[str, object] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("kind") not in get_args(RequestKind):
        return None
    if document["kind"] == "enqueue" and not fold(str(document.get("text") or "")):
        return None
    return document


def _make_request(document: Mapping[str, object], number: int) -> AgentRequest:
    kind: RequestKind = document["kind"]  # type: ignore[assignment]
    priority = str(document.get("priority") or "")
    return AgentRequest(
        kind,
        criterion=number if kind != "enqueue" else 0,
        text=fold(str(document.get("text") or ""), LONGEST) if kind in ("skip", "enqueue") else "",
        priority=priority if kind == "enqueue" and priority in ("high", "medium", "low") else "",
    )
