"""End a run when a file called example-stop is in the home folder."""

from pathlib import Path
from typing import Any


def stop(_limits: Any, _state: Any, _probe: Any) -> str:
    """Return why the run has to end; empty to let it go on."""
    return "the file example-stop exists" if Path.home().joinpath("example-stop").exists() else ""
