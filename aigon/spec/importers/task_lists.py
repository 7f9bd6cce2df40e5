"""Lists of tasks in JSON and TOON: `prd.json` of loops such as Ralph, `prd.toon`, and Taskmaster's `tasks.json`."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import to_builtins
from msgspec.structs import replace

from aigon.model.criteria import ImportedCriterion, ImportedSpec
from aigon.spec.importers import Format, count_unused_keys, read_json, read_text
from aigon.spec.prd import parse_prd
from aigon.text.patterns import compile_re

_STORIES = ("userStories", "user_stories", "stories")
_STORY_KEYS = {"id", "title", "name", "description", "acceptanceCriteria", "acceptance_criteria"}
_COMMANDS = ("testCommand", "verifyCommand", "command")
_TASK_KEYS = {"id", "title", "description", "testStrategy", "subtasks", "status"}
_OVER = ("done", "cancelled", "deferred")


def _read_prd_json(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield one feature: a loop proves all stories together, each below its own heading."""
    ((_, text),) = texts.items()
    document = read_json(text)
    document = document if isinstance(document, dict) else {"userStories": document}
    stories = next((value for key in _STORIES if isinstance(value := document.get(key), list)), [])
    if not stories or not all(isinstance(story, dict) for story in stories):
        raise ValueError(f"it has no list `{_STORIES[0]}` of objects")
    left: Counter[str] = Counter()
    criteria: list[ImportedCriterion] = []
    for story in stories:
        left += count_unused_keys(story, _STORY_KEYS)
        criteria += _read_story(story)
    left["commands that fit no comment"] = sum("\n" in each.annotation or "-->" in each.annotation for each in criteria)
    left += count_unused_keys(document, {*_STORIES, "project", "name", "title", "description"})
    title = read_text(document, "title", "name", "project")
    yield ImportedSpec(title, tuple(criteria), texts, read_text(document, "description"), left=+left)


def _read_story(story: Mapping[str, object]) -> Iterator[ImportedCriterion]:
    """Yield the criteria of a story; the story itself if it has none."""
    name = ": ".join(filter(None, (read_text(story, "id"), read_text(story, "title", "name"))))
    listed = story.get("acceptanceCriteria") or story.get("acceptance_criteria") or [read_text(story, "description")]
    for item in listed if isinstance(listed, list) else [listed]:
        if isinstance(item, dict):
            command = read_text(item, *_COMMANDS)
            text = read_text(item, "text", "description", "criterion", "title")
            yield ImportedCriterion(text, name, f"verify: {command}" if command else "")
        else:
            yield ImportedCriterion(str(item or name), name)


def _read_prd_toon(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield one feature: each task is a criterion."""
    ((path, text),) = texts.items()
    prd = parse_prd(text.encode(), path)
    left, criteria = Counter[str](), []
    for task in prd.tasks:
        left += count_unused_keys(to_builtins(task), ("id", "title", "description"))
        more = f" ({task.description})" if task.description else ""
        criteria.append(ImportedCriterion(f"{task.id}: {task.title}{more}"))
    yield ImportedSpec(prd.project, tuple(criteria), texts, left=left)


def _read_taskmaster(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
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
    for part in parts:
        said = (read_text(part, "title"), read_text(part, "testStrategy", "description"))
        criteria.append(ImportedCriterion(": ".join(filter(None, said))))
    left = count_unused_keys(task, _TASK_KEYS)
    for part in parts:
        left += count_unused_keys(part, {*_TASK_KEYS, "testStrategy"})
    original = {f"{path}, task {task.get('id')}": json.dumps(task, indent=2, ensure_ascii=False)}
    return ImportedSpec(read_text(task, "title"), tuple(criteria), original, read_text(task, "description"), left=left)


prd_json = Format("prd.json", _read_prd_json, compile_re(r"(?:.*/)?prd[^/]*\.json"))
prd_toon = Format("prd.toon", _read_prd_toon, compile_re(r".*\.toon"))
taskmaster = Format("Taskmaster", _read_taskmaster, compile_re(r"(?:.*/)?tasks/tasks\.json"))
