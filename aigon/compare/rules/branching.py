"""How much a change adds to the branching of code: a rule of thumb for complexity, the same for every candidate.

Counted are the words and signs that make a path of their own (`if`, `for`, `while`, `case`, `catch`, `and`, `&&`, ...),
outside of comments and strings; that is cyclomatic complexity less the functions. Conditional expressions with `?` are
not counted, since that sign means other things as well. The libraries that count it precisely take minutes for some
texts, and these texts are chosen by agents; this takes time that grows with the text.
"""

import re
from collections.abc import Iterable

from aigon.model.changes import Edit
from aigon.proof.analysis.languages import LONGEST, Family, family, is_code
from aigon.proof.analysis.text import bare

_COMMON = r"\b(?:if|for|while|case|catch|when)\b|&&|\|\|"
_COUNTED: dict[Family, str] = {
    "python": r"\b(?:if|elif|for|while|except|case|and|or)\b",
    "c": _COMMON,
    "hash": rf"{_COMMON}|\b(?:elif|elsif|unless|until|rescue|foreach)\b",
    "dash": r"(?i:\b(?:if|elseif|for|while|when|and|or)\b)",
}


def added(edits: Iterable[Edit]) -> int | None:
    """How many more branches the code has after these edits; None where a file of it cannot be read."""
    total = 0
    for edit in edits:
        before, after = branches(edit.path, edit.before), branches(edit.path, edit.after)
        if before is None or after is None:
            return None
        total += after - before
    return total


def branches(path: str, text: str | None) -> int | None:
    """The branches in a text; 0 for a file that is not there or is no code, None for one that is too long."""
    if text is None or not is_code(path) or family(path) not in _COUNTED:
        return 0
    if len(text) > LONGEST:
        return None
    return len(re.findall(_COUNTED[family(path)], bare(text, path)))
