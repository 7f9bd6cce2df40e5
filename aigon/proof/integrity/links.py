"""Symbolic links and submodules: entries of git whose content is elsewhere.

A link that leads out of the tree, or replaces a file of the base, is a `review`: what it shows depends on the machine,
so the tree that was proven is not the code that runs; a link over a file hides what became of it. A relative link that
stays in the tree is nothing. A target that goes up after it went down (`a/../../b`) is not resolved but reported: what
it means depends on links in between.

A submodule is a commit of another repository that the diff does not show: `review` if one is new, moved, or takes the
place of files, and if .gitmodules changes, since it says where the code comes from. Taking one away is a `note`.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.sightings import report_file
from aigon.text.quoting import code_span, fold

RULE = "links"
LINK, SUBMODULE = "link", "submodule"
_LINK, _GITLINK = "120000", "160000"
_HINT = "What is behind it was not proven. Put the file itself there, or link within the repository."
_WHY = (
    "Its code is in another repository, where this change does not show it. "
    "Put the code here, or let a person look at what was brought in."
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each link and submodule that is new or leads elsewhere now, and each .gitmodules that changed."""
    for edit in edits.files:
        if reason := _judge_link(edit):
            what = f"{fold(edit.path)} is a symbolic link to {code_span(edit.after or '') or 'nothing'}: {reason}."
            yield report_file(LINK, "review", f"{what} {_HINT}", edit)
        if what := _describe_submodule(edit):
            is_there = edit.after is not None or edit.mode == _GITLINK
            yield report_file(SUBMODULE, "review" if is_there else "note", f"{what} {_WHY}", edit)


def _judge_link(edit: Edit) -> str:
    was_link = edit.base_mode == _LINK
    if edit.mode != _LINK or edit.after is None or (was_link and edit.after == edit.before):
        return ""
    replaces = "" if edit.before is None or was_link else "it replaces a file of the base"
    return _find_danger(edit.path, edit.after) or replaces


def _find_danger(path: str, target: str) -> str:
    """Return why a link cannot be followed safely; "" for one that can."""
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


def _describe_submodule(edit: Edit) -> str:
    path = fold(edit.path)
    was_submodule = edit.base_mode == _GITLINK and edit.before is not None
    if edit.mode == _GITLINK:
        return f"The submodule {path} {'points to another commit' if was_submodule else 'is new'}."
    if was_submodule:
        return f"The submodule {path} is gone."
    is_list = posixpath.basename(edit.path) == ".gitmodules"
    return f"{path} changed, which says where submodules come from." if is_list else ""
