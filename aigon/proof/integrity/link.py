"""Symbolic links that lead out of the tree, or stand where the base had a file.

`review`: what such a link shows depends on the machine, so the tree that was proven is not the code that runs; a link
over a file hides what became of it. A relative link that stays in the tree is nothing. A target that goes up after it
went down (`a/../../b`) is not resolved but reported: what it means depends on links in between.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.sightings import key
from aigon.text.quoting import code_span, fold

RULE = "link"
LINK = "120000"


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each link that is new or leads elsewhere now."""
    for edit in edits.files:
        if edit.mode == LINK and edit.after is not None and edit.after != (edit.before if _was_link(edit) else None):
            reason = _reason(edit.path, edit.after)
            if reason or (edit.before is not None and not _was_link(edit)):
                what = (
                    f"{fold(edit.path)} is a symbolic link to {code_span(edit.after) or 'nothing'}: "
                    f"{reason or 'it stands where the base has a file'}. What is behind it was not proven. "
                    "Put the file itself there, or link within the repository."
                )
                yield Concern(RULE, "review", what, (edit.path,), key(RULE, edit))


def _was_link(edit: Edit) -> bool:
    return edit.base_mode == LINK


def _reason(path: str, target: str) -> str:
    """Why a link is one that nobody can follow safely; "" for one that can be."""
    if not target or "\0" in target:
        return "it leads nowhere"
    if posixpath.isabs(target) or re.match(r"[A-Za-z]:|\\|~", target):
        return "it is absolute, so it leads out of the repository"
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = [i for i, part in enumerate(parts) if part == ".."]
    if ups and ups[-1] != len(ups) - 1:
        return "it goes up again after it went down"
    landed = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if landed == ".." or landed.startswith("../"):
        return "it leads out of the repository"
    return "it leads into git's own files" if ".git" in landed.split("/") else ""
