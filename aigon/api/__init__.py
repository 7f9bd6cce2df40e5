"""aigon as a library: what commands, servers and pages call. Typed data in, typed data out.

Nothing here needs a terminal, reads the current folder or installs signal handlers, and every function may be called
from any thread. Whatever runs an agent, checks or hooks starts a process of its own. Errors are `AigonError` with the
exit code that the command of the same name ends with.

- `project.py`: `open_project` and `Project`, one repository
- `runs.py`: runs on record, and their events as they happen
- `programs.py`: the processes that a project starts
"""

from typing import TYPE_CHECKING, Any

from aigon.api.project import FeatureInfo, Project, open_project
from aigon.errors import AigonError

if TYPE_CHECKING:
    from aigon.api.programs import StartedRun, ValidationResult
    from aigon.api.runs import RunInfo

__all__ = ["AigonError", "FeatureInfo", "Project", "RunInfo", "StartedRun", "ValidationResult", "open_project"]


def __getattr__(name: str) -> Any:
    """Import result types when they are asked for."""
    from importlib import import_module

    if name in ("StartedRun", "ValidationResult"):
        return getattr(import_module("aigon.api.programs"), name)
    if name == "RunInfo":
        return getattr(import_module("aigon.api.runs"), name)
    raise AttributeError(name)
