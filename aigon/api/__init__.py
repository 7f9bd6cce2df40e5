"""aigon as a library: what commands, servers and pages call. Typed data in, typed data out.

Nothing here needs a terminal, reads the current folder or installs signal handlers, and every function may be called
from any thread. Whatever runs an agent, checks or hooks starts a process of its own. Errors are `AigonError` with the
exit code that the command of the same name ends with.

- `project.py`: `open_project` and `Project`, one repository
- `runs.py`: runs on record, and their events as they happen
- `watch.py`: the same with what agents do, as the lines of a log, and once more from the record
- `changes.py`: specs read, written and moved between stages, and the processes that a project starts
"""

from typing import TYPE_CHECKING, Any

from aigon.api.project import FeatureInfo, Project, open_project
from aigon.errors import AigonError

if TYPE_CHECKING:
    from aigon.api.changes import SpecInfo, StartedRun, ValidationResult
    from aigon.api.runs import RunInfo
    from aigon.api.watch import LogPage

__all__ = [
    "AigonError", "FeatureInfo", "LogPage", "Project", "RunInfo", "SpecInfo", "StartedRun", "ValidationResult",
    "open_project",
]  # fmt: skip
_MODULES = {"LogPage": "watch", "RunInfo": "runs", "SpecInfo": "changes", "StartedRun": "changes",
            "ValidationResult": "changes"}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import result types when they are asked for."""
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"aigon.api.{_MODULES[name]}"), name)
