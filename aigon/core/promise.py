"""Promises: phrases with which an agent claims to be done. A look follows anyway, and says what they were worth."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aigon.core.model import ROLES, Finding, Role, Verdict

DEFAULT = "COMPLETE"
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


def made(said: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that stand between the tags in `said`, exactly and in this case, each once in their own order."""
    found = {" ".join(text.split()) for text in _MADE.findall(said)}
    return tuple(phrase for phrase in phrases if " ".join(phrase.split()) in found)


def judged(phrases: Iterable[str], findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[Promise, ...]:
    """Whether each was kept: a phrase that names a role (`TESTS_PASS`) by the checks of it, any other by everything."""
    return tuple(_judged(phrase, findings, verdicts) for phrase in phrases)


def _judged(phrase: str, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Promise:
    role = _role(phrase)
    concerned = [f for f in findings if role in (None, f.role)]
    red = [f.title for f in concerned if f.status != "pass"]
    open_ = [] if role else [str(v.criterion) for v in verdicts if v.status != "met"]
    why = [f"not green: {', '.join(red)}"] if red else []
    why += [f"not proven: criteria {', '.join(open_)}"] if open_ else []
    why += [f"there is no check of the role {role}"] if role and not concerned else []
    return Promise(phrase, not why, "; ".join(why))


def _role(phrase: str) -> Role | None:
    words = re.split(r"[\W_]+", phrase.lower())
    return next((_ROLE_WORDS[word] for word in words if word in _ROLE_WORDS), None)


assert set(_ROLE_WORDS.values()) <= set(ROLES), "every word names a role"
