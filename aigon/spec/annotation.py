"""The HTML comment that makes a criterion executable: `<!-- verify: pytest -->` and its kin.

An annotation that is nearly right is an error, never a plain comment: a criterion that a person wanted to be run must
not go to a judge because of a typing error.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from aigon.errors import usage
from aigon.model.criteria import CriterionKind

WithArgument = Literal["verify", "metric", "check"]
Bare = Literal["judge", "human"]

EXAMPLES: dict[WithArgument, str] = {
    "verify": "<!-- verify: python -m pytest tests/test_login.py -->",
    "metric": "<!-- metric: ./score.sh >= 8 -->",
    "check": "<!-- check: tests -->",
}
_BARE: tuple[Bare, ...] = get_args(Bare)
# 0.75 takes every transposition, omission and doubled letter of the five words; below it, plain words such as
# "verified" or "matrix" would be taken for slips.
_NEAR = 0.75
_MARK = re.compile(r"\\.|`+|<!--", re.DOTALL)
_ANNOTATION = re.compile(r"([A-Za-z][A-Za-z_-]*)\s*(?::(.*))?", re.DOTALL)
_MEANT = re.compile(r"-*\s*(?:(?:verify|metric|check)\s*:|(?:judge|human)\s*(?::|$))", re.IGNORECASE)
_NO_COLON = re.compile(r"-*\s*(?:verify|metric)\s+[^\s:]", re.IGNORECASE)
_METRIC = re.compile(
    r"(?P<command>.*[^\s<>=!])\s*(?P<operator>>=|<=|==|!=|>|<)\s*"
    r"(?P<bound>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """How a criterion is decided; `command` follows the colon."""

    kind: CriterionKind
    command: str | None


@dataclass(frozen=True, slots=True)
class HtmlComment:
    """An HTML comment: `start` and `end` (exclusive) in its text; `closed`: `-->` ends it."""

    start: int
    end: int
    inner: str
    closed: bool = True

    @property
    def meant_as_annotation(self) -> bool:
        """Whether it begins like an annotation."""
        return _MEANT.match(self.inner) is not None

    @property
    def lacks_colon(self) -> bool:
        """Whether it begins with `verify` or `metric` and goes on like prose."""
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


def parse_annotation(comment: HtmlComment, line: int) -> Annotation | None:
    """Return the annotation; None for a plain comment. Raises a usage error for a malformed one."""
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
            return Annotation(kind, _check_argument(kind, (match[2] or "").strip(), line))
    if word:
        from difflib import get_close_matches

        for near in get_close_matches(word, [*EXAMPLES, *_BARE], 1, _NEAR):
            example = next((text for kind, text in EXAMPLES.items() if kind == near), f"<!-- {near} -->")
            what = f"Unknown annotation `{word}`; the nearest is `{near}`"
            raise usage(what, where=f"line {line}", hint=f"Write it like this: {example}")
    return None


def split_metric(argument: str) -> tuple[str, str, float]:
    """Return command, operator and bound of `./score.sh >= 8`; the last comparator before a number counts.

    Raises ValueError if there is none, or no command before it.
    """
    found = _METRIC.fullmatch(argument.strip())
    if not found or not math.isfinite(bound := float(found["bound"])):
        raise ValueError(f"{argument!r} is not a command, a comparator (>= <= > < == !=) and a number")
    return found["command"], found["operator"], bound


def find_script(kind: CriterionKind, command: str | None) -> str:
    """Return what a shell runs for a `verify` or `metric` criterion; empty if something else decides."""
    if kind == "metric":
        return split_metric(command or "")[0]
    return (command or "") if kind == "verify" else ""


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


def _check_argument(kind: WithArgument, argument: str, line: int) -> str:
    """Return the argument. Raises a usage error if it cannot be one."""
    problem, advice = "", ""
    if not argument:
        problem = "says nothing after it"
    elif "\n" in argument:  # joined or not, one of both readings would run something else than what was meant
        problem, advice = "has more than one line", "Put the lines into a script. "
    elif kind == "metric":
        try:
            split_metric(argument)
        except ValueError:
            problem = "has no comparator and number at its end"
    if problem:
        hint = f"{advice}Write it like this: {EXAMPLES[kind]}"
        raise usage(f"The `{kind}` annotation {problem}", where=f"line {line}", hint=hint)
    return argument
