"""Which unannotated criteria a check decides on its own: "All tests pass", "Lint is clean", "It builds".

Only when the whole item says that and nothing else; whatever says more is left to a judge.
"""

import re
from collections.abc import Mapping

from aigon.model.checks import Role

_LABEL = re.compile(r"(?:[a-z]{1,6}[ -]?\d+(?:\.\d+)*\s*[:.)–—-]|\[[a-z]{1,6}[ -]?\d+(?:\.\d+)*\]:?)\s*")
_MODAL = r"(?:(?:must|should|shall|will|all|still|continue to|now) )*"
_GREEN = rf"(?:is|are|be|stays?|remains?) {_MODAL}(?:clean|green|passing|successful)"
_PASS = rf"{_MODAL}(?:pass(?:es)?|succeeds?|{_GREEN})"
_CODE = r"(?:the )?(?:project|code ?base|code|app|application|package|repository|repo)"
_LINT = r"(?:lint(?:er|ing)?)"
_NO = r"(?:there are )?(?:no|zero|0)"
_ERRORS = r"(?:errors?|issues?|problems?|failures?)"
_COMPLAINTS = r"(?:errors?|issues?|problems?|warnings?|violations?)(?:(?: or | and |/)(?:errors?|warnings?))?"

_PHRASES: Mapping[Role, str] = {
    "tests": rf"(?:(?:(?:all|the|of|our|existing|automated|unit|project|project's) )*(?:tests|test cases|test suite)"
    rf"|(?:each|every) (?:unit )?test) {_PASS}(?: successfully)?"
    rf"|{_NO} (?:(?:unit )?test failures|failing (?:unit )?tests|(?:unit )?tests fail)",
    "lint": rf"(?:the )?(?:code )?{_LINT}(?: checks?)? (?:{_PASS}|reports {_NO} {_COMPLAINTS})"
    rf"(?: (?:cleanly|without (?:any )?{_COMPLAINTS}|with {_NO} {_COMPLAINTS}))?"
    rf"|{_NO} {_LINT} {_COMPLAINTS}|{_CODE} {_MODAL}passes (?:the )?{_LINT}",
    "build": rf"(?:the )?(?:project )?build (?:{_PASS}|{_MODAL}works)(?: without (?:any )?{_ERRORS})?"
    rf"|(?:(?:it|{_CODE}) {_MODAL}(?:builds?|compiles?)|builds|compiles)"
    rf"(?: (?:successfully|cleanly|without (?:any )?{_ERRORS}))?"
    rf"|{_NO} build {_ERRORS}",
    "types": rf"(?:the )?type[ -]?check(?:s|ing|er)? {_PASS}(?: without (?:any )?{_ERRORS})?"
    rf"|(?:the )?types {_MODAL}(?:check|are clean)|{_NO} (?:type|typing|typescript)(?:[ -]?check(?:ing)?)? {_ERRORS}"
    rf"|{_CODE} {_MODAL}(?:type[ -]?checks|passes (?:the )?type[ -]?check(?:s|ing)?)",
}
_ROLES: Mapping[Role, re.Pattern[str]] = {role: re.compile(phrase) for role, phrase in _PHRASES.items()}
# The longest phrase above has about 90 characters; the bound keeps what is tried short for any input.
_LONGEST = 120


def role_of(text: str) -> Role | None:
    """The role whose check decides `text` completely, None when a judge has to."""
    if len(text) > _LONGEST:
        return None
    said = " ".join(re.sub(r"[*_`~]", "", text).casefold().split())
    said = said[label.end() :] if (label := _LABEL.match(said)) else said
    said = said.rstrip(" .!;,")
    return next((role for role, phrase in _ROLES.items() if phrase.fullmatch(said)), None)
