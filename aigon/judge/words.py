"""What a criterion's words say: which identifiers it names, and what may count as proof of it."""

import re
from collections.abc import Mapping

_NAMED = re.compile(r"`+([^`]+)`+")
_WORD = re.compile(r"[^\W_][\w.-]*[^\W_]|[^\W_]")
_SMALL = (
    "the and for that this with from are is was be been has have had its not but can may must should shall will when "
    "then than each every any all one two into onto over under after before where which while does do if in of on to "
    "a an as at by it or no so there their they them you your also only used uses use using without within"
)
_STOP = frozenset(_SMALL.split())
_NAMED_WEIGHT, _WORD_WEIGHT = 5, 1

_DOCUMENTATION = re.compile(
    r"\b(docs?|documented|documenting|documentation|readme|doc-?strings?|code comments?|comments?|commented|change-?log"
    r"|release notes?|help text|usage text|man page|tutorial|explain(s|ed)?|explanation|described|jsdoc|javadoc"
    r"|rustdoc|contributing|guide)\b|^\W*(document|describe)s?\b",
    re.IGNORECASE,
)
_REMOVAL = re.compile(
    r"\b(remov(e|es|ed|al|ing)|delet(e|es|ed|ion|ing)|drop(s|ped)?|no longer|not? .{0,40}any ?more|gone|get rid|rid of"
    r"|renam(e|es|ed|ing)|replac(e|es|ed|ing)|eliminat(e|es|ed)|unused|clean(ed)? up|move[sd]?|strip(ped)?)\b",
    re.IGNORECASE,
)


def is_documentation(criterion: str) -> bool:
    """Whether it asks for words for people, so that a comment, a docstring or prose can be what proves it.

    By its own words: docs, documented, documentation, README, docstring, comment, changelog, release notes, help
    text, explained, described, guide and the like, or `Document ...` at its beginning.
    """
    return bool(_DOCUMENTATION.search(criterion))


def is_removal(criterion: str) -> bool:
    """Whether it asks that something be gone, so that a removed line can be what proves it.

    By its own words: remove, delete, drop, rename, replace, move, no longer, gone and the like.
    """
    return bool(_REMOVAL.search(criterion))


def weights(criterion: str) -> Mapping[str, int]:
    """The words to look for in paths and hunks, in lower case; what stands in backticks weighs most."""
    found = {word.lower(): _WORD_WEIGHT for word in _WORD.findall(criterion)}
    found = {word: weight for word, weight in found.items() if len(word) > 2 and word not in _STOP}
    for quoted in _NAMED.findall(criterion):
        found |= {part.lower(): _NAMED_WEIGHT for part in (quoted.strip(), *_WORD.findall(quoted)) if len(part) > 1}
    return found
