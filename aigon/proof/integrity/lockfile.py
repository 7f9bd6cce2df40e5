"""Changed lock files. A `note`: tools write them, and they follow the dependencies."""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.manifests import is_lock
from aigon.proof.analysis.sightings import report_file
from aigon.text.quoting import fold

RULE = "lockfile"


def look(edits: Edits) -> Iterator[Concern]:
    """Report each of them."""
    for edit in edits.files:
        if is_lock(edit.path):
            what = f"{fold(edit.path)} changed. See that it follows from the dependencies, and names the same registry."
            yield report_file(RULE, "note", what, edit)
