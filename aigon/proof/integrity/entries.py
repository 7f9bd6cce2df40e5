"""What a change brings that its lines do not show: attributes of git, programs, forged marks of aigon's, links."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from aigon.languages import LONGEST, extension, is_code, line_at, line_of, without_comments
from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.proof.analysis.sightings import (
    Sighting,
    find_new,
    find_pattern,
    list_product,
    list_words,
    report,
    report_file,
)
from aigon.spec.features import ROOT
from aigon.text.quoting import code_span, fold

_ATTRIBUTES = "attributes"
_ATTRIBUTES_WHY = (
    "It changes what people, git and archives see of the code. Leave attributes of source files as they were."
)
_ATTRIBUTE, _ORDINARY = find_pattern(_ATTRIBUTES, "attribute"), find_pattern(_ATTRIBUTES, "ordinary")
_OF_GIT = list_words(_ATTRIBUTES, "of_git")
_LEFT_OUT = find_pattern(_ATTRIBUTES, "left_out", re.IGNORECASE)


def _look_at_attributes(edits: Edits) -> Iterator[Concern]:
    """Report .gitattributes lines that change what git does with source files: run programs on them, hide them.

    `filter` and `diff` name programs that git runs, `binary`, `-diff` and `linguist-generated` keep reviewers from
    seeing lines, `export-ignore` keeps files out of an archive, `working-tree-encoding` makes the checked-out bytes
    others than the committed ones. For data, lock files, generated and vendored files these are ordinary, as are line
    endings, the drivers that are part of git, and leaving tests or documentation out of an archive.
    """
    files = [edit for edit in edits.files if posixpath.basename(edit.path) == ".gitattributes"]
    yield from report(_ATTRIBUTES, find_new(files, _see_attributes), _ATTRIBUTES_WHY)


def _see_attributes(_: str, text: str) -> Iterable[Sighting]:
    for number in range(1, min(text.count("\n") + 2, 2000)):
        line = line_of(text, number)[:1000]
        split = re.match(r'"([^"]*)"(.*)|(\S+)(.*)', line)
        pattern, rest = ((split[1] or split[3] or ""), (split[2] or split[4] or "")) if split else ("", "")
        attributes = [name for name in _ATTRIBUTE.findall(rest) if not _is_harmless(name, pattern)]
        if attributes and not pattern.startswith("#") and _can_reach_source(pattern):
            yield Sighting(number, line, f"sets {', '.join(attributes[:3])} for source files")


def _is_harmless(attribute: str, pattern: str) -> bool:
    name, _, value = attribute.partition("=")
    if name in ("diff", "merge"):
        return value in _OF_GIT
    return name == "export-ignore" and _LEFT_OUT.match(pattern) is not None


def _can_reach_source(pattern: str) -> bool:
    """Return whether a pattern can mean source code: it names such files, a folder, or everything."""
    if pattern.startswith("[attr]"):
        return True
    if _ORDINARY.search(pattern):
        return False
    name = posixpath.basename(pattern.rstrip("/"))
    ending = extension(name.replace("*", "x").replace("[", "").replace("]", ""))
    return is_code(f"x.{ending}") if ending else not re.fullmatch(r"[A-Z]+|\.\w+", name)


_EXECUTABLES = "executables"
_LONG, _ENDLESS = 5_000, 50_000
"""Characters of a line. Judgements: source that people wrote stays far below both."""
_COMPILED, _LOADED = list_words(_EXECUTABLES, "compiled"), list_words(_EXECUTABLES, "loaded")
_UNPACKED = find_pattern(_EXECUTABLES, "unpacked")
_EXECUTABLES_WHY = "Nobody can see what it does. Put source there that can be read, or build it where it is needed."


def _look_at_executables(edits: Edits) -> Iterator[Concern]:
    """Report what a person cannot review: programs, compiled code, very long lines, text that is unpacked and run.

    `review` if product code could be run from it: compiled code that Python or the system loads, a source file that is
    longer than the rules read, or has a line of more than 50,000 characters for the first time, code that decodes a
    text and runs it. Lines of more than 5,000 characters (hardly any source has one) and other new programs are a
    `note`.
    """
    for edit in edits.files:
        if verdict := _judge_executable(edit):
            yield report_file(_EXECUTABLES, verdict[1], f"{fold(edit.path)} {verdict[0]}. {_EXECUTABLES_WHY}", edit)
    yield from report(
        _EXECUTABLES, find_new([e for e in list_product(edits) if is_code(e.path)], _see_unpacked), _EXECUTABLES_WHY
    )


def _judge_executable(edit: Edit) -> tuple[str, ConcernLevel] | None:
    if edit.after is None or edit.mode in ("120000", "160000"):
        return None
    if extension(edit.path) in _COMPILED or (edit.after.startswith(("\x7fELF", "MZ")) and "\0" in edit.after):
        loaded = extension(edit.path) in _LOADED and edit.part == "product"
        return "is compiled code", "review" if loaded else "note"
    if is_code(edit.path) or edit.part == "product":
        before, longest = edit.before or "", max(map(len, edit.after.split("\n")))
        longest_before = max(map(len, before.split("\n")))
        code = is_code(edit.path) and edit.part in ("product", "other")
        if code and len(edit.after) > max(LONGEST, len(before)):
            return f"is source code of {len(edit.after):,} characters", "review"
        if longest > max(_LONG, longest_before):
            endless = code and longest > _ENDLESS and longest_before <= _LONG
            return f"has a line of {longest:,} characters", "review" if endless else "note"
    return ("is a new program", "note") if edit.mode == "100755" and edit.before is None else None


def _see_unpacked(path: str, text: str) -> Iterator[Sighting]:
    plain = re.sub(r"[^\n]{4000,}", lambda m: m[0][:4000].ljust(len(m[0])), without_comments(text, path))
    for match in _UNPACKED.finditer(plain):
        line = line_at(text, match.start())
        yield Sighting(line, line_of(text, line), "unpacks a text and runs it")


_FORGED = "forged"
_TRAILER = find_pattern(_FORGED, "trailer", re.MULTILINE | re.IGNORECASE)
_LOG, _SPEC = find_pattern(_FORGED, "log"), find_pattern(_FORGED, "spec")
_RESULTS = find_pattern(_FORGED, "results", re.MULTILINE)
_TICKED, _CRITERIA = find_pattern(_FORGED, "ticked", re.MULTILINE), find_pattern(_FORGED, "criteria", re.MULTILINE)
_FORGED_WHY = "Only aigon says what was proven, from its own journal. Take it out."


def _look_at_marks(edits: Edits) -> Iterator[Concern]:
    """Report forgeries of aigon's own marks: trailers of its commits, specs, iteration logs and state files.

    aigon reads none of these from the agent's commits, but people read them and believe them. `review` for a trailer
    in a commit message of the agent, and for a log or state file that claims results; a file that only has such a name
    is a `note`. New specs are ordinary if a feature writes one for the inbox.
    """
    for message in edits.messages:
        if trailer := _TRAILER.search(message):
            what = f"A commit of the agent has one of aigon's trailers: {code_span(trailer[0].strip(), 120)}."
            yield Concern(_FORGED, "review", f"{what} {_FORGED_WHY}", (), hash_change([_FORGED, message]))
    for edit in edits.files:
        if level := _choose_mark_level(edit):
            yield report_file(
                _FORGED, level, f"{fold(edit.path)} looks like a record that aigon keeps. {_FORGED_WHY}", edit
            )


def _choose_mark_level(edit: Edit) -> ConcernLevel | None:
    if edit.after is None or edit.after == edit.before:
        return None
    if _LOG.search(edit.path):
        return "review" if _RESULTS.search(edit.after) else "note"
    if edit.before is None and _SPEC.search(edit.path) and not edit.path.startswith(f"{ROOT}/"):
        return "review" if _TICKED.search(edit.after) and _CRITERIA.search(edit.after) else "note"
    return None


LINK, SUBMODULE = "link", "submodule"
_LINK, _GITLINK = "120000", "160000"
_LINK_HINT = "What is behind it was not proven. Put the file itself there, or link within the repository."
_SUBMODULE_WHY = (
    "Its code is in another repository, where this change does not show it. "
    "Put the code here, or let a person _look_at_links at what was brought in."
)


def _look_at_links(edits: Edits) -> Iterator[Concern]:
    """Report links and submodules that are new or lead elsewhere now, and each .gitmodules that changed.

    A link that leads out of the tree, or replaces a file of the base, is a `review`: what it shows depends on the
    machine, so the tree that was proven is not the code that runs; a link over a file hides what became of it. A
    relative link that stays in the tree is nothing. A target that goes up after it went down (`a/../../b`) is not
    resolved but reported: what it means depends on links in between.

    A submodule is a commit of another repository that the diff does not show: `review` if one is new, moved, or takes
    the place of files, and if .gitmodules changes, since it says where the code comes from. Taking one away is a
    `note`.
    """
    for edit in edits.files:
        if reason := _judge_link(edit):
            what = f"{fold(edit.path)} is a symbolic link to {code_span(edit.after or '') or 'nothing'}: {reason}."
            yield report_file(LINK, "review", f"{what} {_LINK_HINT}", edit)
        if what := _describe_submodule(edit):
            is_there = edit.after is not None or edit.mode == _GITLINK
            yield report_file(SUBMODULE, "review" if is_there else "note", f"{what} {_SUBMODULE_WHY}", edit)


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


class Rule(Struct, frozen=True):
    """A rule that shares this file: its name for people, and what it does."""

    RULE: str
    look: Callable[[Edits], Iterator[Concern]]


attributes, executables = Rule(_ATTRIBUTES, _look_at_attributes), Rule(_EXECUTABLES, _look_at_executables)
forged, links = Rule(_FORGED, _look_at_marks), Rule("links", _look_at_links)
