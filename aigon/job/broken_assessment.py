"""A look that had no room on disk: what failed in it says nothing about the work."""

import errno

from aigon.files.error_words import Lacking, explained
from aigon.files.system_errors import refusal
from aigon.job.assessment import Look
from aigon.model.resources import Volume, find_full_volume, format_bytes
from aigon.process.meter import Meter


def require_room(meter: Meter, look: Look) -> None:
    """Raise AigonError (exit 7) where something is red in a look that had no room: that says nothing about the work.

    Nothing was decided then. A resume looks at the very same work anew, and pays no turn for that.
    """
    meter.sample()
    if not look.complete or _green(look):
        return
    if isinstance(meter.trouble, Lacking):
        raise meter.trouble
    if isinstance(meter.trouble, OSError):
        raise refusal("The checks could not run, so nothing was decided", meter.trouble)
    if volume := find_full_volume(meter.least):
        raise _broken(volume)


def _green(look: Look) -> bool:
    passed = all(finding.status == "pass" for finding in look.findings)
    return passed and all(verdict.status == "met" for verdict in look.verdicts)


def _broken(volume: Volume) -> Lacking:
    what, do = explained(errno.EROFS if volume.problem else errno.ENOSPC, volume.mounted)
    least = "" if volume.problem or volume.free is None else f" (down to {format_bytes(volume.free)})"
    said = f"Checks failed while {what}{least}, so nothing was decided"
    again = "then run again with --resume: the work is looked at anew, and no turn is paid for that"
    return Lacking(said, where=f"{volume.place} ({volume.holds})", hint=f"{do}, {again}")
