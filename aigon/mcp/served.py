"""The repositories that a server was started for, and which of their features a client means."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from aigon.api import AigonError, Project, open_project
from aigon.errors import environment, usage

SEPARATOR = ":"
"""Between project and task in the ID of a task, where several projects are served."""


class ServedProjects(Struct, frozen=True):
    """Repositories by the folders that they were named by. They are opened anew for each call: they may be gone."""

    folders: tuple[Path, ...]

    def open_all(self) -> Iterator[Project]:
        """Yield every project that is still there."""
        for folder in self.folders:
            try:
                yield open_project(folder)
            except AigonError:
                continue

    def find_project(self, wanted: str) -> Project:
        """Return the project with this ID or path. Raises AigonError: exit 2 if it is unknown, 7 if it is gone."""
        for folder in self.folders:
            if Path(wanted) == folder:
                return open_project(folder)
        known = []
        for project in self.open_all():
            if wanted in (project.id, str(project.root)):
                return project
            known.append(f"{project.id} ({project.root})")
        if not self.folders:
            raise environment("This server serves no repository", hint="Start it in one, or name it: aigon mcp FOLDER")
        listed = f"Known: {', '.join(known)}" if known else "None of the repositories of this server is there any more"
        raise usage(f"There is no project {wanted!r:.120}", where="project_id", hint=listed)

    def find_task(self, task_id: str) -> tuple[Project, str]:
        """Return the project of a task, and the name of its feature there.

        Raises AigonError (exit 2) if none of the projects has it, or several do.
        """
        before, found, name = task_id.rpartition(SEPARATOR)
        if found:
            return self.find_project(before), name
        if len(self.folders) == 1:
            return open_project(self.folders[0]), task_id
        having = []
        for project in self.open_all():
            try:
                project.spec(task_id)
                having.append(project)
            except AigonError:
                continue
        if len(having) == 1:
            return having[0], task_id
        what = "No project has" if not having else f"{len(having)} projects have"
        raise usage(f"{what} a task {task_id!r:.120}", where="task_id", hint="list_tasks names the tasks of a project")

    def name_task(self, project: Project, feature: str) -> str:
        """Return the ID of a task: with that of its project, if there are several."""
        return feature if len(self.folders) == 1 else f"{project.id}{SEPARATOR}{feature}"
