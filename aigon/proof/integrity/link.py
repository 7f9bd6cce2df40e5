"""Symbolic links that lead out of the tree, or replace a file of the base.

`review`: what such a link shows depends on the machine, so the tree that was proven is not the code that runs; a link
over a file hides what became of it. A relative link that stays in the tree is nothing. A target that goes up after it
went down (`a/../../b`) is not resolved but reported: what it means depends on links in between.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.sightings import report_file
from aigon.text.quoting import code_span, fold

RULE = "link"
_LINK = "120000"


def look(edits: Edits) -> Iterator[Concern]:
    """Report each link that is new or leads elsewhere now."""
    for edit in edits.files:
        was_link = edit.base_mode == _LINK
        if edit.mode != _LINK or edit.after is None or (was_link and edit.after == edit.before):
            continue
        replaces = "" if edit.before is None or was_link else "it replaces a file of the base"
        if reason := _find_danger(edit.path, edit.after) or replaces:
            what = f"{fold(edit.path)} is a symbolic link to {code_span(edit.after) or 'nothing'}: {reason}."
            hint = "What is behind it was not proven. Put the file itself there, or link within the repository."
            yield report_file(RULE, "review", f"{what} {hint}", edit)


def _find_danger(path: str, target: str) -> str:
    """Return why a link is one that nobody can follow safely; "" for one that can be."""
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
