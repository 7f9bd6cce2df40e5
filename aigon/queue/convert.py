"""A table of tasks as one spec: a criterion for each task, in the order of what they depend on."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from aigon.errors import usage
from aigon.files import atomic
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing
from aigon.run.feature_stages import create_feature
from aigon.spec.document import parse_spec, tick_boxes
from aigon.spec.features import Feature
from aigon.spec.foreign import disarm_annotations, list_proposals
from aigon.spec.prd import LARGEST_TABLE, Prd, PrdTask, group_by_dependencies, read_table
from aigon.text.quoting import fold, list_item

MAX_TITLE_CHARS, MAX_DESCRIPTION_CHARS = 300, 2_000


class ConvertedTable(Struct, frozen=True):
    """The feature that was written: how many `criteria`, of which `claimed` are said to be done, and `skipped` tasks.

    `proposed` annotations came with the table and run nothing until a person accepts them.
    """

    feature: Feature
    criteria: int
    claimed: int
    skipped: int
    proposed: int


def convert_table(checkout: Checkout, path: Path, title: str, slug: str, how: Committing) -> ConvertedTable:
    """Write the spec of the tasks in a file into the inbox. Raises AigonError (exit 2) for a file that is malformed."""
    try:
        raw = atomic.read_bounded(path, LARGEST_TABLE, "The file", hint="Split it into several features")
    except OSError as error:
        raise usage(f"The file cannot be read: {error.strerror}", where=str(path), hint="Name another one") from error
    prd = read_table(raw, str(path))
    title = title or fold(prd.project, 100) or path.stem.replace("-", " ").replace("_", " ")
    content = render_spec(prd, title, path.name)
    feature = create_feature(checkout, title, slug, how, content=content)
    spec = parse_spec(content)
    claimed, skipped = sum(each.checked for each in spec.criteria), sum(t.status == "skipped" for t in prd.tasks)
    return ConvertedTable(feature, len(spec.criteria), claimed, skipped, len(list_proposals(content)))


def render_spec(prd: Prd, title: str, source: str) -> bytes:
    """Return the spec. Annotations in the table are kept as proposals; a task that is done is a ticked box, a claim.

    Tasks that depend on others come in a later stage.
    """
    wanted = tuple(task for task in prd.tasks if task.status != "skipped")
    groups = group_by_dependencies(wanted)
    ordered = [task for group in groups for task in group]
    lines = [*_render_stages(groups), f"# Feature: {fold(title, 100)}", "", f"The tasks of `{fold(source, 100)}`.", ""]
    lines += ["## Acceptance Criteria", "", *(line for task in ordered for line in _render_task(task))]
    if skipped := [task for task in prd.tasks if task.status == "skipped"]:
        lines += ["", "## Skipped", "", *(f"- {_label(task)}" for task in skipped)]
    spec = parse_spec(disarm_annotations("\n".join([*lines, ""]).encode("utf-8", "replace")))
    # A tick on a `human` item would be a person's approval, which nobody gave.
    done = {c.number: True for c, task in zip(spec.criteria, ordered, strict=True)
            if task.status == "done" and c.kind != "human"}  # fmt: skip
    return tick_boxes(spec, done)


def _render_stages(groups: list[list[PrdTask]]) -> Iterator[str]:
    if len(groups) < 2:
        return
    yield from ("---", "stages:")
    number = 1
    for group in groups:
        yield f"  - criteria: [{', '.join(str(number + at) for at in range(len(group)))}]"
        number += len(group)
    yield "---"


def _render_task(task: PrdTask) -> Iterator[str]:
    yield f"- [ ] {_label(task)}"
    notes = [fold(task.description, MAX_DESCRIPTION_CHARS)] if task.description else []
    for name, listed in (("Depends on", task.depends_on), ("Creates", task.files_to_create),
                         ("Changes", task.files_to_modify)):  # fmt: skip
        notes += [f"{name}: {fold(', '.join(listed), MAX_DESCRIPTION_CHARS)}"] if listed else []
    for note in notes:
        yield from ("", f"  {list_item(note, MAX_DESCRIPTION_CHARS)}")
    if notes:
        yield ""


def _label(task: PrdTask) -> str:
    return fold(f"{task.id}: {task.title}", MAX_TITLE_CHARS)
