"""Submodules: a commit of another repository that nobody sees in the diff.

`review` if one is new, moved, or takes the place of files, and if .gitmodules changes, since it says where the code
comes from. Taking one away is a `note`.
"""

import posixpath
from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.sightings import report_file
from aigon.text.quoting import fold

RULE = "submodule"
_GITLINK = "160000"
_WHY = (
    "Its code is in another repository, where this change does not show it. "
    "Put the code here, or let a person look at what was brought in."
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each submodule and each .gitmodules that changed."""
    for edit in edits.files:
        if what := _describe(edit):
            is_there = edit.after is not None or edit.mode == _GITLINK
            yield report_file(RULE, "review" if is_there else "note", f"{what} {_WHY}", edit)


def _describe(edit: Edit) -> str:
    path = fold(edit.path)
    was_submodule = edit.base_mode == _GITLINK and edit.before is not None
    if edit.mode == _GITLINK:
        return f"The submodule {path} {'points to another commit' if was_submodule else 'is new'}."
    if was_submodule:
        return f"The submodule {path} is gone."
    is_list = posixpath.basename(edit.path) == ".gitmodules"
    return f"{path} changed, which says where submodules come from." if is_list else ""
