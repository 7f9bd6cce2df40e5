"""The HTML comment that makes a criterion executable (`<!-- verify: pytest -->`), and what its command has to come to.

An annotation that is nearly right is an error, never a plain comment: a criterion that a person wanted to be run must
not go to a judge because of a typing error. A program only runs: it is aigon that compares and measures.
"""

import json
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct

from aigon.errors import usage
from aigon.model.checks import Quantity
from aigon.model.criteria import COMMAND_KINDS, CriterionKind
from aigon.text.patterns import compile_re

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_BOUND = compile_re(
    rf"(?P<script>.*[^\s<>=!])\s*(?P<symbol>>=|<=|==|!=|>|<)\s*(?P<wanted>{_NUMBER})\s*",
    re.DOTALL,
)
_QUOTED = compile_re(r"""(?P<script>.*\S)\s+==\s+(?P<wanted>"(?:[^"\\]|\\.)*"|'[^']*')""", re.DOTALL)
_PLAIN = compile_re(r"(?P<script>.*\S)\s+==\s+(?P<wanted>\S.*)", re.DOTALL)
_BELOW = compile_re(r"\S.*\s==", re.DOTALL)


class Expectation(Struct, frozen=True):
    """`script` is what bash runs. `symbol` compares what comes of it with `wanted`, a text or a number as written."""

    script: str
    symbol: str = ""
    wanted: str = ""


def read_bound(argument: str) -> Expectation:
    """Read `./score.sh >= 8`; the last comparator before a number counts. Raises ValueError."""
    found = _BOUND.fullmatch(argument.strip())
    if not found or not math.isfinite(float(found["wanted"])):
        raise ValueError("has no comparator and number at its end")
    return Expectation(found["script"], found["symbol"], found["wanted"])


def read_limit(argument: str) -> Expectation:
    """Read `./build.sh <= 2.5`: a bound that less is better than. Raises ValueError."""
    limit = read_bound(argument)
    if limit.symbol not in ("<=", "<") or float(limit.wanted) <= 0:
        raise ValueError("has to end in <= or < and a number above 0")
    return limit


def read_text(argument: str) -> Expectation:
    """Read `./greet Ada == Hello, Ada!`; the last `==` between white space counts that is in no quoted text.

    A text in double quotes is read as in JSON (`\\n`, `\\t`, `\\"`), in single quotes literally. Raises ValueError.
    """
    argument = argument.strip()
    if _BELOW.fullmatch(argument):
        raise ValueError("has nothing after its ==, and no fenced block follows in its item")
    if found := _QUOTED.fullmatch(argument):
        text = found["wanted"]
        try:
            wanted: str = json.loads(text, strict=False) if text[0] == '"' else text[1:-1]
            wanted.encode()
        except ValueError:
            raise ValueError(r"has a text that cannot be read: in double quotes, write \" and \\ and \n") from None
        return Expectation(found["script"], "==", wanted)
    found = _PLAIN.fullmatch(argument)
    if not found:
        raise ValueError("has no == and text at its end")
    if found["wanted"][0] in "\"'" or found["wanted"][-1] in "\"'":
        raise ValueError("has a text of which a part is in quotes: write the whole text in quotes")
    return Expectation(found["script"], "==", found["wanted"])


def read_checklist(argument: str) -> Expectation:
    """Read `docs/launch.md`: a file of the repository, whose boxes count. Raises ValueError."""
    path = argument.strip()
    if path.startswith(("/", "~")) or ".." in path.split("/") or not path.isprintable():
        raise ValueError("needs the path of a file inside the repository")
    return Expectation(f"cat -- {shlex.quote(path)}", wanted=path)


def write_text(script: str, text: str) -> str:
    """Return what `read_text` reads, in quotes only where it takes them."""
    plain = f"{script} == {text}"
    try:
        if text.isprintable() and read_text(plain) == Expectation(script, "==", text):
            return plain
    except ValueError:
        pass
    return f"{script} == {json.dumps(text, ensure_ascii=False)}"


class DecisionRule(Struct, frozen=True):
    """A kind of criterion that a command decides.

    `read` takes what follows the colon and raises ValueError with what is wrong about it; `verb` is what the criterion
    does with the command, `demand` what has to come of that, `method` how it is decided; `quantity` is what aigon
    measures.
    """

    example: str
    read: Callable[[str], Expectation]
    verb: str
    demand: str
    method: str
    quantity: Quantity = ""


DECISION_RULES: Mapping[str, DecisionRule] = {
    "verify": DecisionRule(
        "<!-- verify: python -m pytest tests/test_login.py -->",
        Expectation,
        "runs",
        "must exit 0",
        "by its command, which has to exit with 0",
    ),
    "prints": DecisionRule(
        "<!-- prints: ./greet Ada == Hello, Ada! -->",
        read_text,
        "compares",
        "must print exactly {wanted}",
        "by what its command prints",
    ),
    "metric": DecisionRule(
        "<!-- metric: ./score.sh >= 8 -->",
        read_bound,
        "measures",
        "its number must be {symbol} {wanted}",
        "by the number that its command prints",
    ),
    "seconds": DecisionRule(
        "<!-- seconds: ./build.sh <= 2.5 -->",
        read_limit,
        "times",
        "must take {symbol} {wanted} seconds by aigon's clock",
        "by the time that its command takes, by aigon's clock",
        "seconds",
    ),
    "checklist": DecisionRule(
        "<!-- checklist: docs/launch.md -->",
        read_checklist,
        "reads",
        "every box in it must be ticked, which people do",
        "by the boxes of a file, which people tick",
    ),
}


def read_expectation(kind: CriterionKind, command: str | None) -> Expectation | None:
    """Return what the command of a criterion has to come to; None if something else decides it.

    Raises ValueError for a command that no annotation could have.
    """
    row = DECISION_RULES.get(kind)
    return row.read(command or "") if row else None


def find_script(kind: CriterionKind, command: str | None) -> str:
    """Return what a shell runs for a criterion; empty if no command decides it."""
    expected = read_expectation(kind, command)
    return expected.script if expected else ""


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
            if kind == "prints" and block is not None and _BELOW.fullmatch(argument):
                argument = write_text(argument.removesuffix("==").rstrip(), block.removesuffix("\n"))
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
