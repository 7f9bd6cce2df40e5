"""Tables of tasks as other tools keep them: `prd.toon`, the same as JSON, and Markdown with `- [ ] T001: ...`.

TOON is read and written by the library toon-format, the extra `toon`. Everything in such a file is text, and what it
says of the state of a task is a claim.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, to_builtins

from aigon.errors import usage
from aigon.installation import require_extra
from aigon.spec.criteria import list_boxes
from aigon.text.amounts import join_words, size_error
from aigon.text.documents import suggest
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

PrdStatus = Literal["pending", "in-progress", "done", "skipped", "blocked"]
LARGEST_TABLE = 1024 * 1024
MOST_TASKS = 200
"""Tasks of one feature: each becomes a criterion."""
_SEPARATOR = "|"
_ID = r"[A-Za-z]{1,8}-?\d+(?:\.\d+)*"
_LABELLED = compile_re(rf"\**\[?({_ID})\]?\**\s*(?:[:.)–—]|(?=\s))\**\s*(\S.*)")
_NEEDS = compile_re(rf"\(depends on:?\s+({_ID}(?:\s*(?:,|and)\s*{_ID})*)\)", re.IGNORECASE)


class PrdTask(Struct, frozen=True):
    """A row. The fields are the columns, in their order; lists are joined with `|` in a cell."""

    id: str
    title: str
    description: str = ""
    status: PrdStatus = "pending"
    priority: str = ""
    complexity: str = ""
    parent_id: str = ""
    depends_on: tuple[str, ...] = ()
    files_to_create: tuple[str, ...] = ()
    files_to_modify: tuple[str, ...] = ()
    completed_at: str = ""
    commit_sha: str = ""
    iteration: int | None = None
    source: str = ""


class Prd(Struct, frozen=True):
    """A table of tasks and the project that they are of."""

    project: str
    tasks: tuple[PrdTask, ...]


def render_prd(prd: Prd) -> str:
    """Return the table as TOON. Raises AigonError (exit 7) without the extra."""
    require_extra("toon", "toon_format", purpose="TOON")
    from toon_format import encode

    done = sum(task.status == "done" for task in prd.tasks)
    rows = [
        {key: _SEPARATOR.join(value) if isinstance(value, tuple) else value for key, value in to_builtins(task).items()}
        for task in prd.tasks
    ]
    head = {"version": 1, "project": prd.project, "progress": {"total": len(rows), "done": done}}
    return str(encode({**head, "tasks": rows})) + "\n"


def parse_prd(raw: bytes, name: str) -> Prd:
    """Return the table in a TOON file. Raises one usage error that names everything that is wrong with it."""
    require_extra("toon", "toon_format", purpose="TOON")
    from toon_format import ToonDecodeError, decode

    return _parse_document(raw, name, "TOON", decode, (ToonDecodeError, RecursionError))


def _parse_document(
    raw: bytes, name: str, form: str, decode: Callable[[str], object], errors: tuple[type[Exception], ...]
) -> Prd:
    try:
        document = decode(_decode(raw, name))
    except errors as error:
        what, hint = f"Not valid {form}: {fold(str(error), 200)}", "Is the file whole? Fix that line, or write it anew"
        raise usage(what, where=name, hint=hint) from None
    rows = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(rows, list) and form == "JSON":
        hint = f"If it is of another tool: aigon feature-create --from {name}"
        raise usage("There is no list `tasks`", where=name, hint=hint)
    if not isinstance(rows, list):
        hint = "Is the file whole? It holds a table such as `tasks[2]{id,title,status}:`"
        raise usage("There is no table `tasks`", where=name, hint=hint)
    assert isinstance(document, dict), "it has rows"
    project = _read_text(document.get("project"))
    problems, tasks = list[str](), []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            problems.append(f"row {number} is no row of the table")
            continue
        values = {field: _READERS.get(field, _read_text)(row.get(field)) for field in PrdTask.__struct_fields__}
        which, status = f"task {fold(values['id'], 40)}" if values["id"] else f"row {number}", values["status"]
        problems += [f"{which} has no {key}" for key in ("id", "title") if not values[key]]
        if status not in get_args(PrdStatus):
            hint = suggest(status, get_args(PrdStatus))
            problems.append(f"{which} has the unknown status {fold(status, 40)!r}. {hint}")
        tasks.append(PrdTask(**values))
    return _require_sound(Prd(project, tuple(tasks)), problems, name)


def parse_task_list(raw: bytes, name: str) -> Prd:
    """Return the boxes of a Markdown file as tasks: `- [ ] T001: ...`. Raises usage errors as `parse_prd` does."""
    _decode(raw, name)
    tasks = []
    for number, (text, ticked) in enumerate(list_boxes(raw), 1):
        labelled, needs = _LABELLED.fullmatch(text), _NEEDS.search(text)
        id, title = (labelled[1], labelled[2]) if labelled else (f"T{number:03d}", text)
        depends_on = tuple(re.findall(_ID, needs[1])) if needs else ()
        tasks.append(PrdTask(id, title, status="done" if ticked else "pending", depends_on=depends_on))
    return _require_sound(Prd("", tuple(tasks)), [], name)


def split_label(text: str, otherwise: str) -> tuple[str, str]:
    """Return the ID that the text of a criterion begins with, or another one, and the rest of the text."""
    match = _LABELLED.fullmatch(text)
    return (match[1], match[2]) if match else (otherwise, text)


def group_by_dependencies(tasks: tuple[PrdTask, ...]) -> list[list[PrdTask]]:
    """Return the tasks in groups: each depends only on those before. Raises ValueError, which names a circle."""
    from graphlib import CycleError, TopologicalSorter

    by_id = {task.id: task for task in tasks}
    order = TopologicalSorter({task.id: [id for id in task.depends_on if id in by_id] for task in tasks})
    try:
        order.prepare()
    except CycleError as error:
        raise ValueError(" -> ".join(error.args[1])) from None
    groups = []
    while order.is_active():
        ready = set(order.get_ready())
        groups.append([task for task in tasks if task.id in ready])
        order.done(*ready)
    return groups


def _decode(raw: bytes, name: str) -> str:
    if len(raw) > LARGEST_TABLE:
        raise size_error("The file", len(raw), LARGEST_TABLE, where=name, hint="Split it into several features")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise usage("The file is not UTF-8", where=f"{name}: line {line}", hint="Save it as UTF-8") from None


def _read_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value).strip()


def _split(pattern: str) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        parts = value if isinstance(value, list) else re.split(pattern, _read_text(value))
        return tuple(filter(None, map(_read_text, parts)))

    return read


_READERS: Mapping[str, Callable[[object], Any]] = {
    "status": lambda value: _read_text(value).lower().replace("_", "-") or "pending",
    "depends_on": _split(r"[|,;\s]+"),
    "files_to_create": _split(r"[|;]"),
    "files_to_modify": _split(r"[|;]"),
    "iteration": lambda value: value if isinstance(value, int) and not isinstance(value, bool) else None,
}
"""What reads a column other than as text."""


def _require_sound(prd: Prd, problems: list[str], name: str) -> Prd:
    """Return the table. Raises one usage error (exit 2) that names all `problems`, and those between tasks."""
    every = [*problems, *_find_problems(prd.tasks)]
    if len(every) == 1:
        raise usage(every[0][:1].upper() + every[0][1:], where=name, hint="Fix that, and convert it again")
    if every:
        raise usage(f"{len(every)} things are wrong with the tasks", where=name, hint="\n         ".join(every))
    if not prd.tasks:
        raise usage("There are no tasks", where=name, hint="Write a row, or an item such as `- [ ] T001: what to do`")
    return prd


def _find_problems(tasks: tuple[PrdTask, ...]) -> Iterator[str]:
    ids = [task.id for task in tasks if task.id]
    if len(tasks) > MOST_TASKS:
        yield f"there are {len(tasks)} tasks, and a feature has {MOST_TASKS} at most: split the file"
    for id in dict.fromkeys(id for id in ids if ids.count(id) > 1):
        yield f"the ID {fold(id, 40)} occurs {ids.count(id)} times"
    for task in tasks:
        if unknown := [fold(id, 40) for id in task.depends_on if id not in ids]:
            yield f"task {fold(task.id, 40)} depends on {join_words(unknown)}, which does not exist"
    try:
        group_by_dependencies(tasks)
    except ValueError as error:
        yield f"tasks depend on each other in a circle: {fold(str(error), 200)}"


def read_table(raw: bytes, name: str) -> Prd:
    """Return the tasks in a file: Markdown or JSON by its ending, TOON otherwise. Raises AigonError (exit 2)."""
    if name.lower().endswith((".md", ".markdown")):
        return parse_task_list(raw, name)
    if name.lower().endswith(".json"):  # with the keys of TOON
        return _parse_document(raw, name, "JSON", json.loads, (ValueError, RecursionError))
    return parse_prd(raw, name)
