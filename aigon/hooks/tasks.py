"""A program of the project's that is told of each change of a task, where hooks run."""

import json
from collections.abc import Sequence

from aigon.config.models import Config
from aigon.hooks.hook import HURRIED_SECONDS, Hook, HookContext, explain_block, make_command_hook, run_hook
from aigon.journal.tasks import Task, Tasks, build_task_document
from aigon.text.amounts import format_count
from aigon.text.quoting import fold

TASKS_POINT = "tasks"
Change = tuple[str, Task]
"""`TaskCreate` or `TaskUpdate`, and the task as it is now."""


def make_teller(config: Config, context: HookContext) -> tuple[Hook, ...]:
    """Return the program of `tasks.command` as a hook, if there is one."""
    own = config.tasks
    if not own.command:
        return ()
    passed = tuple(own.pass_)
    hook = make_command_hook(
        TASKS_POINT, "tasks.command", own.command, context.root, context.env, float(own.timeout), passed=passed
    )
    return (hook,)


def list_changes(before: Tasks, after: Tasks) -> tuple[Change, ...]:
    """Return the tasks that are new or other than before."""
    if before is after:
        return ()
    known = {task.id: build_task_document(task) for task in before.all}
    changed = (task for task in after.all if known.get(task.id) != build_task_document(task))
    return tuple(("TaskUpdate" if task.id in known else "TaskCreate", task) for task in changed)


def tell_changes(hook: Hook, context: HookContext, changes: Sequence[Change], number: int) -> str:
    """Run the program once for each change, until it fails. Return what a person should know then, or ""."""
    for index, (tool, task) in enumerate(changes):
        document = {"tool": tool, "task": build_task_document(task)}
        text = context.redact(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
        result = run_hook(hook, context, text + b"\n", number, HURRIED_SECONDS if context.stop.look() else None)
        if result.status != "ok":
            left = f"; {format_count(len(changes) - index, 'change')} of tasks not told" if len(changes) > 1 else ""
            blocked = explain_block(hook, context, result)
            return f"tasks.command failed ({fold(result.output, 200)}){left}{f'. {blocked}' if blocked else ''}"
    return ""
