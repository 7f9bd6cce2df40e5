"""An answer of the server, as far as it was read."""

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from aigon.text.fingerprints import plain

LARGEST = 8 * 1024 * 1024
"""Bytes of a body that are read: far more than anybody compares, few enough to hold."""
SHOWN = 160
"""Characters of a body that a message shows."""
_TAG = re.compile(r"<[^<>]*>")
_CHARSET = re.compile(
    r"charset=\"?(utf-?(?:8|16|32)(?:[-_]?[lb]e)?|(?:us-)?ascii|iso-?8859-\d{1,2}|latin-?\d|(?:windows-?|cp)\d{3,4}"
    r"|shift_?jis|euc-?(?:jp|kr)|gb(?:2312|k|18030)|big5|koi8-[ru])\b",
    re.I | re.ASCII,
)
"""Encodings of texts. Python knows others (`punycode`, `undefined`) that would take for ever, or fail."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`cut` says that the body is longer than what was read of it; `seconds` is how long all of it took."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    cut: bool = False
    seconds: float = 0.0
    cookies: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> list[str]:
        """The values of a header, whatever the case of its name."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def text(self) -> str:
        """The body as text, in the encoding that it says it has."""
        charset = _CHARSET.search(next(iter(self.header("content-type")), ""))
        try:
            return self.body.decode(charset[1] if charset else "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """The body as JSON. Raises ValueError, for people, where it is none."""
        if self.cut:
            raise ValueError(f"the body is longer than {LARGEST >> 20} MiB")
        if not self.body.strip():
            raise ValueError("the body is empty, which is no JSON")
        try:
            return json.loads(self.body, parse_constant=_refuse)
        except RecursionError:
            raise ValueError("the body is JSON that is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"the body is no JSON ({_reason(error)}): {self.brief()}") from None

    def gist(self) -> str:
        """The body on one line, shortened, a page of HTML without its tags: what an error page says."""
        html = any(value.startswith("text/html") for value in self.header("content-type"))
        return _short(_TAG.sub(" ", self.text()[: SHOWN * 10])) if html else self.brief()

    def brief(self) -> str:
        """The body on one line, shortened."""
        return _short(self.text()[: SHOWN * 10])


def _short(text: str) -> str:
    text = " ".join(plain(text).split())
    return (text if len(text) <= SHOWN else f"{text[:SHOWN]}…") or "an empty body"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
