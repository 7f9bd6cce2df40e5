"""The result that a criterion's command needs besides exit 0: a number or a text that it prints, or a time.

Every kind is a row of `DECISION_RULES`. A program only runs: it is aigon that compares and measures.
"""

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping

from msgspec import Struct

from aigon.model.checks import Quantity
from aigon.model.criteria import CriterionKind
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


def append_block(argument: str, block: str) -> str:
    """Return `./table ==` with the text of the fenced block below it; anything else as it is."""
    if not _BELOW.fullmatch(argument):
        return argument
    return write_text(argument.removesuffix("==").rstrip(), block.removesuffix("\n"))


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
