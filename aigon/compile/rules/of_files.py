"""Proposals that look at files: whether they are there, what they say, how large they are."""

import re
import shlex
from collections.abc import Sequence

from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.rules.literal_call import is_path, name_of
from aigon.compile.rules.of_python import Found, literals
from aigon.compile.rules.phrases import NUMBER
from aigon.compile.rules.wording import Literal, Wording

_PAGES = {"readme": "README.md", "changelog": "CHANGELOG.md", "change log": "CHANGELOG.md", "license": "LICENSE"}
_UNITS = {"b": 1, "k": 1000, "kb": 1000, "kib": 1024, "mb": 1_000_000, "mib": 1024 * 1024}
_BOUNDS = {"most": "<=", "below": "<", "least": ">=", "above": ">"}
_A_MENTION = "a mention is found; whether it explains anything is not asked"


def exists(said: Wording, found: Found, around: Surroundings) -> Proposal | None:  # noqa: ARG001
    """The file `X` exists."""
    paths = _paths(literals(said, found, "names"))
    tests = " && ".join(f"test {'-d' if path.endswith('/') else '-f'} {shlex.quote(path)}" for path in paths)
    return Proposal("verify", tests, "whether it is there is what is asked", "sure") if paths else None


def absent(said: Wording, found: Found, around: Surroundings) -> Proposal | None:  # noqa: ARG001
    """The file `X` is removed."""
    paths = _paths(literals(said, found, "names"))
    tests = " && ".join(f"test ! -e {shlex.quote(path)}" for path in paths)
    return Proposal("verify", tests, "whether it is gone is what is asked", "sure") if paths else None


def says(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """README mentions `--round`; `--round` is documented in README."""
    place = _place(said, found, around)
    words = [each.text for each in literals(said, found, "names")]
    if not place or not words or any(len(word) < 2 for word in words):
        return None
    command = " && ".join(_grep(word, place, around) for word in words)
    return Proposal("verify", command, _A_MENTION, "likely")


def says_not(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`src/` no longer contains `print`. What is not there at all says nothing, so the place has to be there."""
    place = _place(said, found, around)
    words = [each.text for each in literals(said, found, "names")]
    if not place or not words or any(len(word) < 2 for word in words):
        return None
    command = " && ".join([f"test -e {shlex.quote(place)}", *(f"! {_grep(word, place, around)}" for word in words)])
    return Proposal("verify", command, "the word is not found there any more", "likely")


def size(said: Wording, found: Found, around: Surroundings) -> Proposal | None:  # noqa: ARG001
    """`dist/app.js` is smaller than 50 kB."""
    paths = _paths(literals(said, found, "names"))
    number = float(found["number"].replace(",", ""))
    symbol = bound_of(found)
    if not paths or not symbol or not re.fullmatch(NUMBER, found["number"]):
        return None
    unit = found["unit"].rstrip("s")
    option = "-l" if unit == "line" else "-w" if unit == "word" else "-c"
    limit = number * _UNITS.get(unit, 1)
    command = f"wc {option} < {shlex.quote(paths[0])} {symbol} {limit:.0f}"
    return Proposal("metric", command, "the number is counted, and held against the bound", "sure")


def bound_of(found: Found) -> str:
    """The comparator of the bound that was found; empty where none was."""
    return next((symbol for name, symbol in _BOUNDS.items() if found[name]), "")


def _paths(named: Sequence[Literal]) -> list[str]:
    """The paths, or nothing where one of the names is none."""
    texts = [each.text.removeprefix("./") for each in named]
    return texts if texts and all(is_path(text) for text in texts) else []


def _place(said: Wording, found: Found, around: Surroundings) -> str:
    """The file or folder that is spoken of, as the project has it."""
    if found["in"]:
        text = said.literal(found["in"]).text.removeprefix("./")
        known = around.file(text)
        return known or (text if is_path(text) and not name_of(text).endswith("__all__") else "")
    word = found["place"].removesuffix(" guide").removesuffix(" page")
    if word in ("docs", "documentation"):
        return "docs" if any(path.startswith("docs/") for path in around.files) else ""
    stem = "security" if word.startswith("security") else word.replace(" ", "")
    return around.page(stem) or _PAGES.get(word, f"{stem.upper()}.md")


def _grep(word: str, place: str, around: Surroundings) -> str:
    """`grep` for `word` as a whole: `--round` is not found in `--rounding`, nor `add` in `address`."""
    if not around.is_folder(place):
        return f"grep -q{matching(word)} {shlex.quote(place)}"
    # A feature's own spec below docs/ holds the words of its criteria.
    leave_out = " --exclude-dir=specs" if place.rstrip("/") == "docs" else ""
    return f"grep -rIq{matching(word)}{leave_out} {shlex.quote(place.rstrip('/'))}"


def matching(word: str) -> str:
    """Options and pattern of a search for `word` as a whole."""
    if re.fullmatch(r"\w+", word):
        return f"w {word}"
    if re.fullmatch(r"\w.*\w", word) and "-" not in word:
        return f"wF -e {shlex.quote(word)}"
    if re.search(r"[\w-]", word[0] + word[-1]):
        return f"E -e {shlex.quote(_whole(word))}"
    return f"F -e {shlex.quote(word)}"


def _whole(word: str) -> str:
    """An extended regular expression for `word` with nothing before or after it that would make it longer."""
    escaped = re.sub(r"([][\\.^$*+?(){}|])", r"\\\1", word)
    before = "(^|[^[:alnum:]_-])" if re.match(r"[\w-]", word) else ""
    after = "([^[:alnum:]_-]|$)" if re.search(r"[\w-]$", word) else ""
    return before + escaped + after
