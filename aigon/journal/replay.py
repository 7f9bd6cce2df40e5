"""Events as JSON documents and back, and journals read back: the events of a run, and the state that they lead to.

Structs are written and read by msgspec, in C: both happen often.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.json import format as format_json

from aigon.errors import AigonError, Exit
from aigon.files.checksums import damage_error, iterate_documents, parse_lines
from aigon.journal.events import Event, RunStarted

_EVENTS: Mapping[object, type[Event]] = {kind.__struct_defaults__[-1]: kind for kind in get_args(Event)}
_SURROGATE = "\\ud"
"""The beginning of each half of a character beyond U+FFFF in JSON, and of a half that is alone."""
_NEWER = "perhaps a newer aigon wrote it: update aigon, or use the version that wrote it"


def encode(event: Event) -> dict[str, object]:
    """Return `event` as a document of plain JSON values, in which an outcome has its `kind`.

    A lone surrogate, which UTF-8 cannot hold, becomes a question mark. A number that JSON cannot hold becomes the text
    `nan`, `inf` or `-inf`, which `decode` understands.
    """
    return {name: _plain(value) for name, value in to_builtins(event).items()}


def dumps(event: Event) -> str:
    """Return `event` as one line of compact JSON without the line end.

    It is pure ASCII, so that no reader takes a character inside it (U+2028, U+0085) for a line end.
    """
    try:
        text = dump_compact(to_builtins(event))
    except ValueError:  # a number that JSON cannot hold
        text = _SURROGATE
    return text if _SURROGATE not in text else dump_compact(encode(event))


def dump_compact(document: Mapping[str, object]) -> str:
    """Return a document of plain values as one line of JSON in ASCII."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def dump_indented(document: Mapping[str, object]) -> bytes:
    """Return JSON that people can read; `json` has no encoder in C for that."""
    return format_json(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"), indent=2)


def decode(document: Mapping[str, object]) -> Event:
    """Return the event that `encode` made `document` of.

    Raises ValueError, with a text for people, for an event or a field that this version does not know, and for a value
    that does not fit its field.
    """
    if not isinstance(document, Mapping):
        raise ValueError(f"an event is a JSON object, not {type(document).__name__}")
    if "event" not in document:
        raise ValueError("the document does not say which event it is: it has no field `event`")
    name = document["event"]
    kind = _EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"the event {name!r} is not known here; {_NEWER}")
    try:
        return convert(document, kind, strict=False)  # a number that JSON cannot hold is a text
    except ValidationError as error:
        raise ValueError(_explain(name, str(error))) from error


def _plain(value: Any) -> object:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def _explain(event: object, wrong: str) -> str:
    """Return what is wrong with a document as a sentence for people: `wrong` is what msgspec says."""
    what, _, place = wrong.partition(" - at `$")
    field = place.strip("`.")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        name = ".".join(filter(None, (field, unknown[1])))
        return f"the event {event!r} has a field `{name}` that is not known here; {_NEWER}"
    if other := re.fullmatch(r"Invalid value ('.*')", what):
        return f"the {field.removesuffix('.kind').replace('.', ' ')} {other[1]} is not known here; {_NEWER}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        field, what = ".".join(filter(None, (field, missing[1]))), "it is missing"
    return f"the event {event!r} is malformed at `{field}`: {what}"


SCHEMA_VERSION = 1


def to_ndjson(event: Event) -> dict[str, object]:
    """Return the line of `event`.

    It is the event as in the journal, but for the end of a run: there `outcome` is the status word, next to
    `exit_code`, and `outcome_detail` has what else the outcome says, and `success` says whether it is met.
    """
    fields = encode(event)
    outcome = fields.get("outcome")
    if isinstance(outcome, dict):
        detail = dict(outcome)
        kind = detail.pop("kind")
        fields |= {"outcome": kind, "outcome_detail": detail, "success": kind == "met"}
    return {"schema_version": SCHEMA_VERSION, **fields}


CHUNK = 1 << 20
"""Bytes of a journal that are read at a time."""


class NewerJournal(AigonError):
    """A journal that another version wrote: it is left as it is."""


def read_events(path: Path) -> list[Event]:
    """Return the events of a journal, oldest first; none if there is no journal.

    Raises AigonError (exit 7) for a damaged line, NewerJournal (exit 7) for one of another version.
    """
    return list(iterate_events(path))


def read_journals(journals: Iterable[Path]) -> tuple[list[Sequence[Event]], dict[Path, str]]:
    """Return the events of each journal, and which of them cannot be read and why."""
    read, unread = list[Sequence[Event]](), dict[Path, str]()
    for journal in journals:
        try:
            read.append(read_events(journal))
        except (AigonError, OSError) as error:
            unread[journal] = error.what if isinstance(error, AigonError) else str(error.strerror)
    return read, unread


def iterate_events(path: Path, skip: Sequence[str] = (), only: Sequence[str] = ()) -> Iterator[Event]:
    """Yield the events of a journal of any length one by one, without those named in `skip`, or `only` those.

    Raises as `read_events` does, for what it yields.
    """
    if path.exists():
        # The name of an event is the last thing on its line, where no text of another event can be.
        skipped, wanted = (tuple(f'"event":"{name}"}}\n'.encode() for name in names) for names in (skip, only))
        yield from decode_events(iterate_documents(path, skipped, wanted or (b"\n",)), path)


def decode_events(documents: Iterable[Mapping[str, object]], path: Path) -> Iterator[Event]:
    """Yield the events in these documents of the journal at `path`. Raises NewerJournal (exit 7)."""
    try:
        for document in documents:
            yield decode(document)
    except ValueError as error:
        raise NewerJournal(
            f"The journal of this run was written by another version of aigon: {error}",
            where=str(path),
            hint="Update aigon, or use the version that wrote it; the journal is left as it is",
            code=Exit.ENVIRONMENT,
        ) from None


def read_intact_events(data: bytes) -> tuple[Sequence[Event], bool]:
    """Return the events of a journal up to the first unreadable line, and whether that is all of it."""
    events: list[Event] = []
    documents = parse_lines(data)
    for document in documents:
        try:
            events.append(decode(document or {}))
        except ValueError:
            break
    return events, len(events) == len(documents)


def tail_events(path: Path, is_live: Callable[[], bool]) -> Iterator[Event | None]:
    """Yield the events of a run as its journal gets them, and None for each time that there is no more yet.

    A new run puts the journal aside: the iterator ends there too, and if the journal is deleted. Raises as
    `read_events` does.
    """
    first, offset, number, size = b"", 0, 0, CHUNK
    while True:
        live = is_live()  # before reading: what a run writes last is there when it has ended
        try:
            with path.open("rb") as file:
                begin = file.readline()
                if first and begin != first:
                    return
                first = begin if begin.endswith(b"\n") else b""
                file.seek(offset)
                data = file.read(size)
        except FileNotFoundError:
            if first:
                return
            data = b""
        has_more, whole = len(data) == size, data[: data.rfind(b"\n") + 1]
        size = 2 * size if has_more and not whole else CHUNK
        offset += len(whole)
        for document in parse_lines(whole):
            number += 1
            if document is None:
                raise damage_error("The journal of this run", f"{path}:{number}")
            yield from decode_events((document,), path)
        if has_more:
            continue
        if not live:
            return
        yield None


class EventOrder(Struct):
    """Checks the order of events: one run, begun once, resumed only by itself. `first` is how it began."""

    first: RunStarted | None = None

    def accepts(self, event: Event) -> bool:
        """Return whether `event` can come next."""
        if not isinstance(event, RunStarted):
            return self.first is not None
        if self.first is None:
            self.first = event
            return not event.resumed
        return event.resumed and event.run_id == self.first.run_id


def find_misplaced_event(events: Iterable[Event]) -> int | None:
    """Return the index of the first event that cannot come where it does."""
    order = EventOrder()
    return next((index for index, event in enumerate(events) if not order.accepts(event)), None)
