"""What `aigon run done`, `skip`, `reset` and `enqueue` share: inside a loop a note for it, else a person's decision."""

from typing import TYPE_CHECKING, Any

import click

from aigon.commands.approve import agent_option, decide
from aigon.commands.common import answer
from aigon.errors import AigonError, Exit, usage

if TYPE_CHECKING:
    from aigon.journal.decisions import DecisionKind
    from aigon.model.requests import RequestKind

TASK_HINT = "A task is a feature and the number of its criterion, as in 42.1"
tasks_argument = click.argument("tasks", nargs=-1, required=True, metavar="TASK...")

__all__ = ["agent_option", "decide_tasks", "leave_note", "tasks_argument"]


def leave_note(kind: "RequestKind", as_json: bool, *, tasks: tuple[str, ...] = (), **about: Any) -> bool:
    """Inside a loop, note the request for it and say so; return whether this is inside one.

    Raises AigonError (exit 4) inside a loop where no turn of an agent shows, such as in a check.
    """
    from aigon.run.authority import find_run_above

    why = find_run_above()
    if not why:
        return False
    from aigon.loop.mailbox import find_mailbox, post_request

    mailbox = find_mailbox()
    if mailbox is None:
        what = f"`aigon run {kind}` is for agents in their turn, and for people outside of a loop"
        raise AigonError(what, where=why, hint="Run it in your own shell", code=Exit.NEEDS_HUMAN)
    for task in tasks or ("",):
        post_request(mailbox, kind, task=task, **about)
    noted = f"{kind} {', '.join(tasks)}".strip()
    answer({"noted": kind, "tasks": list(tasks)}, f"Noted: {noted}. The loop reads it after your turn", as_json)
    return True


def decide_tasks(
    verb: "DecisionKind", tasks: tuple[str, ...], *, why: str, agent: str | None, as_json: bool, yes: bool
) -> int:
    """Record a person's decision on tasks of one feature; the exit code."""
    features = {task.rpartition(".")[0] for task in tasks}
    if len(features) > 1:
        raise usage("The tasks are of more than one feature", where=", ".join(tasks), hint="Decide on one at a time")
    feature = features.pop() or _find_own_feature()
    return decide(verb, feature, tasks, why=why, agent=agent, as_json=as_json, yes=yes)


def _find_own_feature() -> str:
    """Return the feature whose branch is checked out here. Raises AigonError (exit 2) if there is none."""
    from aigon.commands.common import here
    from aigon.job.spec_locations import find_checked_out_feature

    with here() as checkout:
        feature = find_checked_out_feature(checkout.root)
    if feature is None:
        raise usage("No feature's branch is checked out here", where="TASK", hint=TASK_HINT)
    return feature.name_for_people
