""".gitattributes lines that change what git does with source files: run programs on them, hide them, leave them out.

`review` if a pattern reaches source code: `filter` and `diff` name programs that git runs, `binary`, `-diff` and
`linguist-generated` keep reviewers from seeing lines, `export-ignore` keeps files out of an archive,
`working-tree-encoding` makes the checked-out bytes others than the committed ones. For data, lock files, generated and
vendored files these are ordinary, as are line endings, the drivers that are part of git, and leaving tests or
documentation out of an archive.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.languages import extension, is_code, line_of
from aigon.proof.analysis.sightings import Sighting, find_new, find_pattern, list_words, report

RULE = "attributes"
_WHY = "It changes what people, git and archives see of the code. Leave attributes of source files as they were."
_ATTRIBUTE, _ORDINARY = find_pattern(RULE, "attribute"), find_pattern(RULE, "ordinary")
_OF_GIT = list_words(RULE, "of_git")
_LEFT_OUT = find_pattern(RULE, "left_out", re.IGNORECASE)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every .gitattributes that brings such a line."""
    files = [edit for edit in edits.files if posixpath.basename(edit.path) == ".gitattributes"]
    yield from report(RULE, find_new(files, _see), _WHY)


def _see(_: str, text: str) -> Iterable[Sighting]:
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
