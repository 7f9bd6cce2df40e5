"""Promises: phrases with which an agent claims to be done. A look follows anyway, and says what they were worth."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from aigon.errors import usage
from aigon.model.values import ROLES, Finding, Role, Verdict
from aigon.text.counting import list_criteria

DEFAULT = "COMPLETE"
LONGEST = 100
"""Characters of a phrase: the prompt has to hold it whole."""
_MADE = re.compile(r"<promise>(.*?)</promise>", re.DOTALL)
_ROLE_WORDS: dict[str, Role] = {
    "test": "tests", "tests": "tests", "build": "build", "builds": "build", "lint": "lint", "linted": "lint",
    "type": "types", "types": "types", "endpoint": "endpoints", "endpoints": "endpoints", "script": "script",
    "validation": "script",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Promise:
    """A phrase that the agent said, and whether what aigon saw bears it out; `why` says what does not."""

    text: str
    kept: bool
    why: str = ""


def phrases(given: Sequence[str]) -> tuple[str, ...]:
    """The phrases that are looked for: those `given`, each once, else the default.

    Raises AigonError (exit 2) for one that nobody could say between the tags.
    """
    found = tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in given))
    for phrase in found:
        if not phrase or len(phrase) > LONGEST or not phrase.isprintable() or set("<>") & set(phrase):
            hint = f"Give a word or two such as {DEFAULT} or TESTS_PASS: up to {LONGEST} characters, no < and no >"
            raise usage(f"A promise cannot be {phrase[:LONGEST]!r}", where="--promise", hint=hint)
    return found or (DEFAULT,)


def made(said: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that stand between the tags in `said`, exactly and in this case, each once in their own order."""
    found = {" ".join(text.split()) for text in _MADE.findall(said)}
    return tuple(phrase for phrase in phrases if " ".join(phrase.split()) in found)


def judged(
    phrases: Iterable[str], findings: Sequence[Finding], verdicts: Sequence[Verdict], forgiven: Collection[str] = ()
) -> tuple[Promise, ...]:
    """Whether each was kept: a phrase that names roles (`TESTS_PASS`) by the checks of these, any other by everything.

    Checks that are `forgiven`, by name, may be red where everything is meant, as they may for the run itself.
    """
    return tuple(_judged(phrase, findings, verdicts, forgiven) for phrase in phrases)


def _judged(
    phrase: str, findings: Sequence[Finding], verdicts: Sequence[Verdict], forgiven: Collection[str]
) -> Promise:
    roles = _roles(phrase)
    concerned = [f for f in findings if f.role in roles or (not roles and f.check not in forgiven)]
    red = [f.title for f in concerned if f.status != "pass"]
    open_ = [] if roles else [v.criterion for v in verdicts if v.status != "met"]
    without = [role for role in roles if role not in {f.role for f in concerned}]
    why = [f"not green: {', '.join(red)}"] if red else []
    why += [f"not proven: {list_criteria(open_)}"] if open_ else []
    why += [f"there is no check of the role {', '.join(without)}"] if without else []
    return Promise(phrase, not why, "; ".join(why))


def _roles(phrase: str) -> tuple[Role, ...]:
    """The roles that a phrase speaks of, each once."""
    words = re.split(r"[\W_]+", phrase.lower())
    return tuple(dict.fromkeys(_ROLE_WORDS[word] for word in words if word in _ROLE_WORDS))


assert set(_ROLE_WORDS.values()) <= set(ROLES), "every word names a role"
