"""The HTML comment that makes a criterion executable: `<!-- verify: pytest -->` and its kin.

An annotation that is nearly right is an error, never a plain comment: a criterion that a person wanted to be run must
not go to a judge because of a typing error.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct

from aigon.errors import usage
from aigon.model.criteria import COMMAND_KINDS, CriterionKind
from aigon.spec.expectation import DECISION_RULES, append_block
from aigon.text.patterns import compile_re

Bare = Literal["judge", "human"]

EXAMPLES: Mapping[CriterionKind, str] = {
    **{kind: DECISION_RULES[kind].example for kind in COMMAND_KINDS},
    "check": "<!-- check: tests -->",
}
_BARE: tuple[Bare, ...] = get_args(Bare)
# 0.75 takes every transposition, omission and doubled letter of the words; below it, plain words such as
# "verified" or "matrix" would be taken for slips.
_NEAR = 0.75
_OTHER_WORDS = frozenset(("point", "points", "second", "sprint", "sprints"))
"""What notes of people begin with, and is near to an annotation all the same."""
_MARK = compile_re(r"\\.|`+|<!--", re.DOTALL)
_ANNOTATION = compile_re(r"([A-Za-z][A-Za-z_-]*)\s*(?::(.*))?", re.DOTALL)
_MEANT = compile_re(rf"-*\s*(?:(?:{'|'.join(EXAMPLES)})\s*:|(?:judge|human)\s*(?::|$))", re.IGNORECASE)
_NO_COLON = compile_re(r"-*\s*(?:verify|metric)\s+[^\s:]", re.IGNORECASE)


class Annotation(Struct, frozen=True):
    """The way a criterion is decided; `command` follows the colon."""

    kind: CriterionKind
    command: str | None


class HtmlComment(Struct, frozen=True):
    """An HTML comment: `start` and `end` (exclusive) in its text; `closed`: `-->` ends it."""

    start: int
    end: int
    inner: str
    closed: bool = True

    @property
    def meant_as_annotation(self) -> bool:
        """True if it begins like an annotation."""
        return _MEANT.match(self.inner) is not None

    @property
    def lacks_colon(self) -> bool:
        """True if it begins with `verify` or `metric` and goes on like prose."""
        return _NO_COLON.match(self.inner) is not None


@lru_cache(maxsize=64)  # every look at an item asks again
def find_comments(text: str) -> tuple[HtmlComment, ...]:
    """Return the HTML comments of `text`, except in code spans or escaped (CommonMark 0.31, 2.4, 6.1)."""
    return tuple(_scan(text))


def strip_trailing_comments(text: str) -> str:
    """Return `text` without the comments at its end."""
    end = len(text)
    for comment in reversed(find_comments(text)):
        if text[comment.end : end].strip() or not comment.closed:
            break
        end = comment.start
    return text[:end].rstrip()


def parse_annotation(comment: HtmlComment, line: int, block: str | None = None) -> Annotation | None:
    """Return the annotation; None for a plain comment. Raises a usage error for a malformed one.

    `block` is the text of the fenced block in the same item, which what ends in `==` is continued by.
    """
    if not comment.closed and comment.meant_as_annotation:
        raise usage("An annotation is never closed", where=f"line {line}", hint="End it with --> on the same line")
    # `<!--- like this --->` has extra dashes.
    inner = comment.inner.strip("-") if comment.inner.startswith("-") else comment.inner
    match = _ANNOTATION.fullmatch(inner.strip())
    word = match[1].lower() if match else ""
    for bare in _BARE:
        if word == bare:
            return Annotation(bare, None)
    for kind in EXAMPLES:
        if match and word == kind:
            argument = (match[2] or "").strip()
            if kind == "prints" and block is not None:
                argument = append_block(argument, block)
            return Annotation(kind, _check_argument(kind, argument, line))
    if word and word not in _OTHER_WORDS:
        from difflib import get_close_matches

        for near in get_close_matches(word, [*EXAMPLES, *_BARE], 1, _NEAR):
            example = next((text for kind, text in EXAMPLES.items() if kind == near), f"<!-- {near} -->")
            what = f"Unknown annotation `{word}`; the nearest is `{near}`"
            raise usage(what, where=f"line {line}", hint=f"Write it like this: {example}")
    return None


def _scan(text: str) -> Iterator[HtmlComment]:
    at = 0 if "<!--" in text else len(text)
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] == "<!--":
            close = text.find("-->", mark.start() + 2)  # `<!-->` is a whole comment
            if close < 0:
                yield HtmlComment(mark.start(), len(text), text[at:], closed=False)
                return
            yield HtmlComment(mark.start(), close + 3, text[at:close])
            at = close + 3
        elif mark[0][0] == "`" and (end := re.compile(rf"(?<!`){mark[0]}(?!`)").search(text, at)):
            at = end.end()


def _check_argument(kind: CriterionKind, argument: str, line: int) -> str:
    """Return the argument. Raises a usage error if it cannot be one."""
    problem, advice = "", ""
    if not argument:
        problem = "says nothing after it"
    elif "\n" in argument:  # joined or not, one of both readings would run something else than what was meant
        problem, advice = "has more than one line", "Put the lines into a script. "
    elif kind != "check":
        try:
            DECISION_RULES[kind].read(argument)
        except ValueError as error:
            problem = str(error)
    if problem:
        hint = f"{advice}Write it like this: {EXAMPLES[kind]}"
        raise usage(f"The `{kind}` annotation {problem}", where=f"line {line}", hint=hint)
    return argument
