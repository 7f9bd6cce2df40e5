"""Post a JSON document to an address: http or https and nothing else, wherever the server would send it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib.error import HTTPError

SAID = 200
"""Bytes that are read of what a server says."""


def address(given: str, env: Mapping[str, str]) -> str:
    """The address; `$NAME` stands for the variable of that name, since addresses of chat services are secrets."""
    return env.get(given.strip().removeprefix("$").strip("{}"), "") if given.strip().startswith("$") else given.strip()


def shown(url: str) -> str:
    """The part of an address that is no secret."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port is not None else "")
    except ValueError:
        return "its address"


def unusable(given: str, env: Mapping[str, str]) -> str:
    """Empty for an address that can be posted to, else what is wrong with it and what to do."""
    url = address(given, env)
    if not url:
        return f"the variable {given.strip()} is not set" if given.strip() else "it has no address"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        usable = False
    return "" if usable else "its address is none that begins with https:// or http:// and names a host"


def post(url: str, body: bytes, seconds: float) -> str:
    """Post `body`, waiting `seconds` for each answer of the network: empty, or why it failed. No redirect is followed.

    Raises nothing.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """A POST that is redirected would arrive without its document, perhaps elsewhere than was meant."""

        def redirect_request(self, *_: object) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "aigon"}
    try:
        with build_opener(Stay).open(Request(url, body, headers), timeout=seconds):
            return ""
    except HTTPError as error:
        with error:
            return f"{shown(url)} answered {error.code} {_detail(error)}"
    except URLError as error:
        return f"{shown(url)}: {error.reason}"
    except (OSError, HTTPException, ValueError) as error:
        return f"{shown(url)}: {error or type(error).__name__}"


def _detail(error: "HTTPError") -> str:
    if 300 <= error.code < 400:
        return "and redirects, which is not followed; configure where it leads to"
    try:
        said = error.read(SAID).decode(errors="replace").strip()
    except OSError:
        said = ""
    return f"{error.reason}: {said}" if said else str(error.reason)
