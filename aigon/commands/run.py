"""`aigon run`: work through tasks, and what an agent may ask for meanwhile."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from aigon.commands.common import answer, commits, here, json_option, yes_option
from aigon.commands.decide import agent_option, decide
from aigon.commands.root import LazyGroup
from aigon.errors import AigonError, Exit, usage
from aigon.text.amounts import format_count

if TYPE_CHECKING:
    from aigon.job.bookkeeping import Committing
    from aigon.journal.decisions import DecisionKind
    from aigon.model.requests import RequestKind


VERBS: dict[str, tuple[str, str]] = {
    "start": ("queue", "Build the features of the backlog."),
    "tasks": ("queue", "List the tasks of all open features."),
    "status": ("queue", "Show the started tasks and their results."),
    "done": ("run", "Mark a task as done: an agent's claim, or your approval."),
    "skip": ("run", "Skip a task: leave it to a person, or waive it."),
    "reset": ("run", "Undo done and skip."),
    "enqueue": ("run", "Propose another feature, or create it."),
    "convert": ("run", "Write a spec from a table of tasks."),
}
"""For each verb its module in `aigon.commands` and its line in the help."""


@click.group("run", cls=LazyGroup, verbs=VERBS)
def command() -> None:
    """Work through a list of tasks."""


_DECISIONS: dict["RequestKind", "DecisionKind"] = {"done": "approve", "skip": "waive", "reset": "reset"}
"""What a person decides by a word that inside a loop is an agent's claim."""
tasks_argument = click.argument("tasks", nargs=-1, required=True, metavar="TASK...")


def leave_note(kind: "RequestKind", as_json: bool, *, tasks: tuple[str, ...] = (), **about: Any) -> bool:
    """Inside a loop, note the request for it and say so; return whether this is inside one.

    Raises AigonError (exit 4) inside a loop where no turn of an agent shows, such as in a check.
    """
    from aigon.run.invocations import find_run_above

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


def _note_or_decide(
    kind: "RequestKind", tasks: tuple[str, ...], *, why: str = "", agent: str | None, as_json: bool, yes: bool
) -> int:
    """Inside a loop, note it of these tasks; outside, record a person's decision on those of one feature."""
    if leave_note(kind, as_json, tasks=tasks, text=why):
        return Exit.MET
    features = {task.rpartition(".")[0] for task in tasks}
    if len(features) > 1:
        raise usage("The tasks are of more than one feature", where=", ".join(tasks), hint="Decide on one at a time")
    feature = features.pop() or _find_own_feature()
    return decide(_DECISIONS[kind], feature, tasks, why=why, agent=agent, as_json=as_json, yes=yes)


def _find_own_feature() -> str:
    """Return the feature whose branch is checked out here. Raises AigonError (exit 2) if there is none."""
    from aigon.job.spec_locations import find_checked_out_feature

    with here() as checkout:
        feature = find_checked_out_feature(checkout.root)
    if feature is None:
        raise usage(
            "No feature's branch is checked out here",
            where="TASK",
            hint="A task is a feature and the number of its criterion, as in 42.1",
        )
    return feature.name_for_people


@click.command("done")
@tasks_argument
@agent_option
@json_option
@yes_option
def say_done(tasks: tuple[str, ...], agent: str | None, as_json: bool, yes: bool) -> int:
    """Mark TASK as done: a criterion such as 42.1, or 1 on the branch of its feature.

    Inside a loop it is the agent's claim, which the assessment after the turn confirms or refutes. Outside a loop it is
    the same as `aigon approve`.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 you did not agree.
    """
    return _note_or_decide("done", tasks, agent=agent, as_json=as_json, yes=yes)


@click.command("skip")
@tasks_argument
@click.option("--reason", required=True, metavar="TEXT", help="Give the reason.")
@agent_option
@json_option
@yes_option
def skip(tasks: tuple[str, ...], reason: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Skip TASK: a criterion such as 42.1, or 1 on the branch of its feature.

    Inside a loop the criterion stays open: the next turns work on the others first, and if it is still open at the end,
    the run asks a person. Outside a loop you waive it: it counts as decided, whatever the code does, and the outcome
    says so.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 you did not agree.
    """
    return _note_or_decide("skip", tasks, why=reason, agent=agent, as_json=as_json, yes=yes)


@click.command("reset")
@tasks_argument
@agent_option
@json_option
@yes_option
def reset(tasks: tuple[str, ...], agent: str | None, as_json: bool, yes: bool) -> int:
    """Undo what was decided about TASK: a criterion such as 42.1, or 1 on the branch of its feature.

    Inside a loop it undoes the agent's own `done` or `skip`, outside a loop every decision of a person about it.

    Exit codes: 0 noted or decided, 2 there is no such criterion, 4 you did not agree.
    """
    return _note_or_decide("reset", tasks, agent=agent, as_json=as_json, yes=yes)


@click.command("enqueue")
@click.argument("title", nargs=-1, required=True)
@click.option("--priority", type=click.Choice(["high", "medium", "low"]), help="Set its priority.")
@json_option
@click.pass_context
def enqueue(context: click.Context, title: tuple[str, ...], priority: str | None, as_json: bool) -> int:
    """Propose the feature TITLE (a few words), or create it.

    Inside a loop it is a proposal that the summary of the run lists; the current feature does not change. Outside a
    loop it is the same as `aigon feature-create`.

    Exit codes: 0 noted or created, 2 a feature of that name exists.
    """
    if leave_note("enqueue", as_json, text=" ".join(title), priority=priority or ""):
        return 0
    from aigon.commands.create import create

    made: int = context.invoke(create, title=title, priority=priority, as_json=as_json)
    return made


@click.command("convert")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--title", metavar="TEXT", default="", help="Name the feature.  [default: the project or the file]")
@click.option("--slug", metavar="NAME", default="", help="Name the feature if its title makes no good name.")
@commits
def convert(file: Path, title: str, slug: str, how: "Committing", as_json: bool) -> None:
    """Write a spec into the inbox from the tasks in FILE: prd.toon, JSON, or Markdown with `- [ ] T001: ...`.

    Each task becomes a criterion with its ID, after the tasks that it depends on. A finished task becomes a ticked box,
    which is a claim: the run proves it or unticks it. Annotations in FILE run nothing until you accept them with `aigon
    spec-compile ID --accept`.

    Exit codes: 0 written, 2 the file is malformed; the message lists everything that is wrong with it.
    """
    from aigon.job.job import hold_checkout
    from aigon.run.importing import convert_table

    with here() as checkout, hold_checkout(checkout):
        made = convert_table(checkout, file, title, slug, how)
    feature = made.feature
    lines = [f"Wrote {feature.path} with {format_count(made.criteria, 'criterion')}"]
    if made.claimed:
        lines.append(f"{format_count(made.claimed, 'task')} said to be done: a claim until a run proves it")
    if made.skipped:
        lines.append(f"{format_count(made.skipped, 'skipped task')} left out")
    lines.append(f"Next: aigon spec-compile {feature.slug} finds something to run that decides each criterion")
    if made.proposed:
        came = f"{format_count(made.proposed, 'annotation')} came with the file"
        lines[-1] = f"Next: aigon spec-compile {feature.slug} --accept ({came}, and nothing runs until you accept it)"
    lines.append(f"Then: aigon feature-prioritise {feature.slug}, and aigon run start builds it")
    document = {**to_builtins(made), "slug": feature.slug, "path": feature.path, "stage": feature.stage}
    answer({key: value for key, value in document.items() if key != "feature"}, "\n".join(lines), as_json)
