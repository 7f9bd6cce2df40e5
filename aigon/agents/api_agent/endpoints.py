"""Tools of a project's own services, from `mcp_endpoints.json`: the tool `odoo_create_invoice` is the endpoint
`create_invoice` of the service `odoo_mcp`.

    {"odoo_mcp": {"url": "https://...", "endpoints": ["create_invoice"],
                  "auth_required": true, "api_key_env": "ODOO_KEY"},
     "shop": {"url": "https://...", "endpoints": {"order": "/v2/orders", "stock": "Says what is in stock.",
                                                  "refund": {"path": "/v2/refunds", "description": "..."}}}}
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from aigon.agents.api_agent.tool import ToolFailure, ToolOutput, Work

FILES = ("mcp_endpoints.json", ".aigon/mcp_endpoints.json")
SECONDS = 60.0
"""A service that answers later than this has failed."""
LARGEST = 1024 * 1024
"""Bytes of an answer that are read."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What the API takes as the name of a tool."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What an endpoint does, where that is said, and its path below the service's address, where it is not its name."""

    description: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """One service and its endpoints by name."""

    name: str
    url: str
    endpoints: Mapping[str, Endpoint]
    auth_required: bool = False
    api_key_env: str = ""

    @property
    def prefix(self) -> str:
        """What its tools' names begin with."""
        return self.name.removesuffix("_mcp") + "_"


def load_services(checkout: Path, note: Callable[[str], None]) -> tuple[Service, ...]:
    """Return the services of a project; what is malformed is noted and left out."""
    found: dict[str, Service] = {}
    for file in (checkout / name for name in FILES):
        for name, value in _read_document(file, note).items():
            try:
                found.setdefault(name, _parse_service(name, value))
            except ValueError as error:
                note(f"{file.name}: the service {name!r} is left out: {error}")
    return tuple(sorted(found.values(), key=lambda service: (-len(service.prefix), service.name)))


def _read_document(file: Path, note: Callable[[str], None]) -> Mapping[str, object]:
    try:
        value = json.loads(file.read_bytes()) if file.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        note(f"{file.name} is left out: {error}")
        return {}
    if not isinstance(value, dict):
        note(f"{file.name} is left out: it is not a JSON object")
        return {}
    return value


def _parse_service(name: str, value: object) -> Service:
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    url, variable = value.get("url"), value.get("api_key_env") or ""
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("`url` has to be an http or https address")
    if not isinstance(variable, str):
        raise ValueError("`api_key_env` has to be the name of a variable")
    return Service(
        name, url, dict(_parse_endpoints(value.get("endpoints"))), value.get("auth_required") is True, variable
    )


def _parse_endpoints(value: object) -> Iterator[tuple[str, Endpoint]]:
    """Yield names in a list, or names and what is said about each: a path, which begins with `/`, or a description."""
    if isinstance(value, list):
        for each in value:
            yield from _parse_endpoints(
                {each["name"]: each} if isinstance(each, dict) and "name" in each else {str(each): ""}
            )
    elif isinstance(value, dict):
        yield from ((str(name), _parse_endpoint(about)) for name, about in value.items())
    else:
        raise ValueError("`endpoints` has to be a list of names")


def _parse_endpoint(about: object) -> Endpoint:
    if isinstance(about, str):
        return Endpoint(path=about) if about.startswith("/") else Endpoint(about)
    if not isinstance(about, dict):
        return Endpoint()
    description, path = (about.get(key) or "" for key in ("description", "path"))
    if not isinstance(description, str) or not isinstance(path, str):
        raise ValueError("`description` and `path` of an endpoint have to be texts")
    return Endpoint(description, path)


def build_tools(known: tuple[Service, ...]) -> dict[str, tuple[dict[str, object], Work]]:
    """Definition and work of every tool by its name; where two are called alike, the longer prefix has the name."""
    found: dict[str, tuple[dict[str, object], Work]] = {}
    for service in known:
        for endpoint, about in service.endpoints.items():
            name = service.prefix + endpoint
            if _NAME.fullmatch(name):
                found.setdefault(name, (_definition(name, service, endpoint, about), _work(service, endpoint)))
    return found


def _definition(name: str, service: Service, endpoint: str, about: Endpoint) -> dict[str, object]:
    described = about.description or f"Calls the endpoint {endpoint} of the service {service.name}."
    return {"name": name, "description": described, "input_schema": {"type": "object", "additionalProperties": True}}


def _work(service: Service, endpoint: str) -> Work:
    return lambda given: ToolOutput(call_endpoint(service, endpoint, given))


def explain_unknown(name: str, known: tuple[Service, ...]) -> str:
    """Return what to tell a model that used a tool which is not there; empty if no service has that prefix."""
    service = next((each for each in known if name.startswith(each.prefix)), None)
    if service is None:
        return ""
    asked, there = name.removeprefix(service.prefix), ", ".join(service.endpoints) or "none"
    return f"The service {service.name} has no endpoint {asked!r}. It has: {there}"


def call_endpoint(service: Service, endpoint: str, given: Mapping[str, Any]) -> str:
    """Return what the endpoint answers. Raises Wrong for every way in which it does not."""
    import httpx2

    try:
        path = service.endpoints[endpoint].path.lstrip("/")
        url = f"{service.url.rstrip('/')}/{quote(path, safe='/?=&%:@,;+') or quote(endpoint, safe='/')}"
        status, text = _post(url, dict(given), _headers(service))
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise ToolFailure(f"The service {service.name} could not be asked: {type(error).__name__}: {error}") from None
    if not 200 <= status < 300:
        raise ToolFailure(f"The service {service.name} answered {endpoint} with {status}: {text}")
    return text


def _post(url: str, given: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, str]:
    """Status and text of the answer, up to LARGEST. A redirect is not followed: it could lead the key elsewhere."""
    import httpx2

    body = bytearray()
    with httpx2.stream("POST", url, json=given, headers=headers, timeout=SECONDS, follow_redirects=False) as answer:
        for chunk in answer.iter_bytes():
            body += chunk
            if len(body) > LARGEST:
                break
        return answer.status_code, bytes(body[:LARGEST]).decode("utf-8", "replace")


def _headers(service: Service) -> dict[str, str]:
    if not service.auth_required:
        return {}
    key = os.environ.get(service.api_key_env, "").strip() if service.api_key_env else ""
    if not key:
        named = f"the variable {service.api_key_env} is not set" if service.api_key_env else "no `api_key_env` is given"
        raise ToolFailure(f"The service {service.name} needs a key, and {named}")
    return {"Authorization": f"Bearer {key}"}
