"""Taskmaster: `.taskmaster/tasks/tasks.json`, whose tasks are features, with lists of them by tag in newer versions."""

import json
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import count_unused_keys, read_json, read_text
from aigon.text.patterns import compile_re

TITLE = "Taskmaster"
FILES = compile_re(r"(?:.*/)?tasks/tasks\.json")
_CARRIED = {"id", "title", "description", "testStrategy", "subtasks", "status"}
_OVER = ("done", "cancelled", "deferred")


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield each task that is still to do."""
    ((path, text),) = texts.items()
    document = read_json(text)
    tags = document.values() if isinstance(document, dict) and "tasks" not in document else [document]
    lists = [tag.get("tasks") for tag in tags if isinstance(tag, dict)]
    tasks = [task for tasks in lists if isinstance(tasks, list) for task in tasks if isinstance(task, dict)]
    if not tasks:
        raise ValueError("it has no list `tasks` of objects")
    to_do = [task for task in tasks if task.get("status") not in _OVER]
    if not to_do:
        raise ValueError(f"all of its tasks are {', '.join(_OVER[:-1])} or {_OVER[-1]}")
    for number, task in enumerate(to_do):
        spec = _read_task(task, path)
        over = {"tasks that are over": len(tasks) - len(to_do)} if number == 0 and len(tasks) > len(to_do) else {}
        yield replace(spec, left={**spec.left, **over})


def _read_task(task: Mapping[str, object], path: str) -> ImportedSpec:
    """Return a task: how it is to be tested and what its parts are, is what has to be true."""
    subtasks = task.get("subtasks")
    parts = [part for part in subtasks if isinstance(part, dict)] if isinstance(subtasks, list) else []
    strategy = read_text(task, "testStrategy")
    criteria = [ImportedCriterion(strategy)] if strategy else []
    criteria += [ImportedCriterion(": ".join(filter(None, _describe_part(part)))) for part in parts]
    left = count_unused_keys(task, _CARRIED)
    for part in parts:
        left += count_unused_keys(part, {*_CARRIED, "testStrategy"})
    original = {f"{path}, task {task.get('id')}": json.dumps(task, indent=2, ensure_ascii=False)}
    return ImportedSpec(read_text(task, "title"), tuple(criteria), original, read_text(task, "description"), left=left)


def _describe_part(part: Mapping[str, object]) -> tuple[str, str]:
    return read_text(part, "title"), read_text(part, "testStrategy", "description")
