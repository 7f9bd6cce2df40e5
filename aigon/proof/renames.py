"""Names that the words of a spec give to something that is there: the base's tests follow them, and ask for no less.

"`calc.add` is renamed to `calc.plus`": where the base's tests fail, aigon itself writes the new name into them, in code
and never in a text. The author of the spec chose the names, and no agent, so what passes then needs no person.
"""

import builtins
import keyword
import re
from collections.abc import Mapping

from aigon.model.criteria import Spec
from aigon.proof.analysis.languages import bare, is_code, words
from aigon.proof.analysis.sightings import list_patterns
from aigon.spec import markdown
from aigon.text.patterns import compile_re

_COMMENT = compile_re(r"<!--.*?-->", re.DOTALL)
_QUOTES = compile_re(r"[`*\"“”]|\(\)")
_COMMON = {*keyword.kwlist, *dir(builtins), *words("true false null undefined nil this void string number boolean")}
"""Names of the languages themselves: `str -> bytes` is about types."""


def read_renames(spec: Spec) -> dict[str, str]:
    """Return the new name by the old one, each without what it belongs to; nothing that has two new names."""
    found: dict[str, set[str]] = {}
    for token in markdown.parse_page(spec.raw).tokens:
        text = " ".join(_QUOTES.sub("", _COMMENT.sub("", token.content)).split()) if token.type == "inline" else ""
        for pattern in list_patterns("renames", "says") if text else ():
            for match in pattern.finditer(text):
                (owner, _, old), (new_owner, _, new) = (match[name].rpartition(".") for name in ("old", "new"))
                if old != new and new_owner in ("", owner) and not {old, new} & _COMMON:
                    old, new = (new, old) if token.content.count('Revert "') % 2 else (old, new)  # as git says it
                    found.setdefault(old, set()).add(new)
    return {old: new.pop() for old, new in found.items() if len(new) == 1}


def choose_made(renames: Mapping[str, str], product: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return those that a change makes: its code has the old name less often than before, and the new one more."""
    counts = [_count_names(path, *both) for path, both in product.items() if is_code(path)] if renames else []

    def grew(name: str) -> int:
        return sum(after.count(name) - before.count(name) for before, after in counts)

    return {old: new for old, new in renames.items() if grew(old) < 0 < grew(new)}


def _count_names(path: str, before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = (re.findall(r"\w+", bare(text, path)) for text in (before, after))
    return old, new


def follow_renames(renames: Mapping[str, str], path: str, text: str) -> str:
    """Return the text with the new names in its code, as it is if it is none."""
    if not renames or not is_code(path):
        return text
    names = compile_re(rf"(?<![\w$])(?:{'|'.join(map(re.escape, renames))})(?![\w$])")
    end, parts = 0, []
    for match in names.finditer(bare(text, path)):
        parts += [text[end : match.start()], renames[match[0]]]
        end = match.end()
    return "".join([*parts, text[end:]])
