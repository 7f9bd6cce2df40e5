"""Write the tasks of a feature where people and other tools look for them: `.aigon/tasks-42.json`, `prd.toon`."""

from aigon.files.atomic import write_view
from aigon.installation import require_extra
from aigon.journal.codec import dump_indented
from aigon.journal.events import Event, RunFinished
from aigon.journal.tasks import build_tasks_document, build_tasks_table
from aigon.run.sinks import SinkContext
from aigon.spec.prd import render_prd


class TasksSink:
    """Writes the files whole when a task has changed, and at the end of the run: an edit of them does not stay."""

    def __init__(self, run: SinkContext) -> None:
        label = f"-{run.label}" if run.label else ""
        self._path = run.folder.parent.parent / f"tasks-{run.feature}{label}.json"
        self._table = run.folder / "prd.toon" if run.toon else None
        self._state, self._due = run.past.state, False

    def __call__(self, event: Event) -> None:
        before, self._state = self._state.tasks, self._state.apply(event)
        self._due = self._due or self._state.tasks != before or isinstance(event, RunFinished)

    def settle(self) -> None:
        """Write what is not written yet. Raises OSError if a file cannot be written."""
        if not self._due:
            return
        self._due, tasks = False, self._state.tasks
        write_view(self._path, [dump_indented(build_tasks_document(tasks)), b"\n"])
        if self._table:
            write_view(self._table, render_prd(build_tasks_table(tasks)))

    close = settle


def open_sink(run: SinkContext) -> TasksSink:
    """Return the sink, with the tasks of a run that is resumed. Raises AigonError (exit 7) if an extra is missing."""
    if run.toon:
        require_extra("toon", "toon_format", purpose="views.toon")
    return TasksSink(run)
