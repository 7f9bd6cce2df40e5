"""Submodules: a commit of another repository that nobody sees in the diff.

`review` where one is new, moved, or takes the place of files, and where .gitmodules changes, since it says where the
code comes from. Taking one away is a `note`.
"""

import posixpath
from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.sightings import key
from aigon.text.quoting import fold

RULE = "submodule"
GITLINK = "160000"
_WHY = (
    "Its code is in another repository, where this change does not show it. "
    "Put the code here, or let a person look at what was brought in."
)


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each submodule and each .gitmodules that changed."""
    for edit in edits.files:
        seen = _seen(edit)
        if seen:
            level = "review" if edit.after is not None or edit.mode == GITLINK else "note"
            yield Concern(
                RULE, "note" if level == "note" else "review", f"{seen} {_WHY}", (edit.path,), key(RULE, edit)
            )


def _seen(edit: Edit) -> str:
    path = fold(edit.path)
    if edit.mode == GITLINK:
        moved = edit.base_mode == GITLINK and edit.before is not None
        return f"The submodule {path} {'points to another commit' if moved else 'is new'}."
    if edit.base_mode == GITLINK and edit.before is not None:
        return f"The submodule {path} is gone."
    return f"{path} changed, which says where submodules come from." if _is_list(edit.path) else ""


def _is_list(path: str) -> bool:
    return posixpath.basename(path) == ".gitmodules"
