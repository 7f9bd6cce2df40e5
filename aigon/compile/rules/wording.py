"""The words of a criterion, with everything that is meant literally (code, paths, options, quotes) taken out.

Rules then match short English phrases instead of guessing where a name ends: `` `f(2)` returns `4` `` is
`§0 returns §1`.
"""

import re
from dataclasses import dataclass

_LABEL = re.compile(r"\s*(?:\[?[A-Za-z]{1,6}[ -]?\d+(?:\.\d+)*\]?\s*[:.)–—]\s*|[-–—]\s+)")
_LITERAL = re.compile(
    r"(?<!`)(?P<ticks>`++)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|\"(?P<double>[^\"]{1,200})\"|“(?P<curly>[^”]{1,200})”|(?<!\w)'(?P<single>[^']{1,200})'(?!\w)"
    r"|(?P<call>\b[A-Za-z_]\w*(?:\.\w+)*\([^()]*\))"
    r"|(?P<option>(?<![\w-])--[A-Za-z][\w-]*)"
    r"|(?P<verb>\b(?:GET|POST|PUT|PATCH|DELETE|HEAD) /[\w/{}:.-]*)"
    r"|(?P<path>(?<![\w/.])(?:[\w@.-]+/)*[\w@-][\w@.-]*\.(?:md|rst|txt|py|pyi|js|mjs|cjs|ts|tsx|jsx|json|ya?ml|toml|ini|"
    r"cfg|sh|html|css|scss|go|rs|rb|java|kt|c|h|cpp|sql|xml|csv|svg|png|lock|env)\b(?!\())"
    r"|(?P<dotted>\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.__\w+__|\b__\w+__\b)"
)
_MARKUP = re.compile(r"[*~]+|(?<!\w)_+|_+(?!\w)")
_PUNCTUATION = re.compile(r"[ .!;,]+$")


@dataclass(frozen=True, slots=True)
class Literal:
    """Something meant literally; `kind` is the group that found it: code, call, option, path, verb, dotted, quote."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Wording:
    """`skeleton` is the text in lower case with `§0`, `§1` ... in place of its `literals`."""

    text: str
    skeleton: str
    literals: tuple[Literal, ...]

    def literal(self, mark: str) -> Literal:
        """The literal that `§N` stands for."""
        return self.literals[int(mark.strip("§"))]

    def clauses(self) -> tuple["Wording", ...]:
        """The parts that are joined by `and`, `but`, `;` or a full stop, each with all the literals."""
        parts = re.split(r"\s*;\s*|\.\s+(?=\S)|,?\s+(?:and|but|while|plus|as well as)\s+", self.skeleton)
        return tuple(Wording(self.text, part.strip(" ,"), self.literals) for part in parts if part.strip(" ,"))


def wording(text: str) -> Wording:
    """The wording of a criterion's text."""
    text = _LABEL.sub("", text, count=1) if (found := _LABEL.match(text)) and found.end() < len(text) else text
    literals: list[Literal] = []

    def taken(found: re.Match[str]) -> str:
        kind = found.lastgroup or "code"
        inner = found["code"] if found["ticks"] else found[kind]
        kind = "code" if found["ticks"] else "quote" if kind in ("double", "curly", "single") else kind
        literals.append(Literal(inner.strip(), kind))
        return f"§{len(literals) - 1}"

    skeleton = _MARKUP.sub("", _LITERAL.sub(taken, text.replace("§", " "))).casefold()
    return Wording(text, _PUNCTUATION.sub("", " ".join(skeleton.split())), tuple(literals))
