"""The file systems that a run writes to: which they are, and what they have left."""

import errno
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aigon.files.system_errors import explain_os_error, find_volumes, nearest_existing, probe_volume
from aigon.model.resources import Volume
from aigon.process.meter import Meter

TEMPORARY = "temporary files"


def list_volumes(root: Path, objects: Path, home: Path, folder: Path) -> tuple[Volume, ...]:
    """Return the file systems of a run's folders, each by the first of the folders on it."""
    places = {
        "the workspace": root,
        "git's objects": objects,
        "aigon's records": home,
        "prompts and logs": folder,
        # As agents and checks have it: Python itself goes elsewhere without a word where nothing can be written there.
        TEMPORARY: Path(os.environ.get("TMPDIR") or tempfile.gettempdir()),
    }
    return find_volumes(places, TEMPORARY)


def require_writable(what: str, *folders: Path) -> None:
    """Raise AigonError (exit 7), beginning with `what`, if one of the folders cannot be written.

    A run asks before it enters the branch: commits there could not be undone, and would be in the way of the next run.
    """
    for place in map(nearest_existing, folders):
        if not os.access(place, os.W_OK | os.X_OK):
            number = errno.EROFS if os.statvfs(place).f_flag & os.ST_RDONLY else errno.EACCES
            raise explain_os_error(what, OSError(number, os.strerror(number), str(place)))


def measure_volumes(meter: Meter, own: Sequence[Path]) -> tuple[Volume, ...]:
    """Return what they have left now. A block is written into folders of aigon's `own` to see that it can be."""
    volumes = meter.now()
    for folder in own:
        volumes = tuple(probe_volume(volume, folder) for volume in volumes)
    return volumes
