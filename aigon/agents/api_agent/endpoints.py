"""Tools of a project's own services, from `mcp_endpoints.json`: the tool `odoo_create_invoice` is the endpoint
`create_invoice` of the service `odoo_mcp`.

    {"odoo_mcp": {"url": "https://...", "endpoints": ["create_invoice"],
                  "auth_required": true, "api_key_env": "ODOO_KEY"},
     "shop": {"url": "https://...", "endpoints": {"order": "/v2/orders", "stock": "Says what is in stock.",
                                                  "refund": {"path": "/v2/refunds", "description": "..."}}}}
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from msgspec import Struct, convert

from aigon.agents.api_agent.settings import ToolFailure, ToolOutput, Work
from aigon.text.patterns import compile_re

T = TypeVar("T")
FILES = ("mcp_endpoints.json", ".aigon/mcp_endpoints.json")
SECONDS = 60.0
"""A service that answers later than this has failed."""
LARGEST = 1024 * 1024
"""Bytes of an answer that are read."""
_NAME = compile_re(r"[A-Za-z0-9_-]{1,128}")
"""What the API takes as the name of a tool."""


class Endpoint(Struct, frozen=True):
    """The purpose of an endpoint, if given, and its path below the service's address, if that is not its name."""

    description: str = ""
    path: str = ""


class Service(Struct, frozen=True):
    """One service and its endpoints by name."""

    name: str
    url: str
    endpoints: dict[str, Endpoint]
    auth_required: bool = False
    api_key_env: str = ""

    @property
    def prefix(self) -> str:
        """The prefix of its tools' names."""
        return self.name.removesuffix("_mcp") + "_"


def _build_service(about: dict[str, Any]) -> Service:
    if urlsplit(str(about.get("url"))).scheme not in ("http", "https"):
        raise ValueError("`url` has to be an http or https address")
    return convert({**about, "endpoints": _name_endpoints(about.get("endpoints"))}, Service)


def _name_endpoints(value: object) -> dict[str, Any]:
    """Return each endpoint by its name. A list has names, or objects with one.

    What a mapping says of a name is a path, which begins with `/`, a description, or an object with both.
    """
    if isinstance(value, list):
        value = {(each["name"] if isinstance(each, dict) else each): each for each in value}
    if not isinstance(value, dict):
        raise ValueError("`endpoints` has to be a list of names")
    return {str(name): _describe_endpoint(about, str(name)) for name, about in value.items()}


def _describe_endpoint(about: object, name: str) -> dict[str, Any]:
    if isinstance(about, str) and about != name:
        return {"path": about} if about.startswith("/") else {"description": about}
    return {key: text for key, text in about.items() if text is not None} if isinstance(about, dict) else {}


def load_services(checkout: Path, note: Callable[[str], None]) -> tuple[Service, ...]:
    """Return the services of a project; what is malformed is noted and left out."""
    services: dict[str, Service] = {}
    for name in FILES:
        found = load_entries(checkout / name, "", "service", _build_service, note)
        services = {service.name: service for service in found} | services
    return tuple(sorted(services.values(), key=lambda service: (-len(service.prefix), service.name)))


def load_entries(
    file: Path, key: str, noun: str, build: Callable[[dict[str, Any]], T], note: Callable[[str], None]
) -> list[T]:
    """Return what `build` makes of each entry under `key` of a JSON file, with its `name`.

    What is malformed is noted and left out.
    """
    entries: list[T] = []
    try:
        document = json.loads(file.read_bytes()) if file.is_file() else {}
        named = (document.get(key, {}) if key else document).items()
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        note(f"{file.name} is left out: {describe_invalid(error)}")
        return entries
    for name, value in named:
        try:
            about = {option: given for option, given in value.items() if given is not None}
            entries.append(build(about | {"name": name}))
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            note(f"{file.name}: the {noun} {name!r} is left out: {describe_invalid(error)}")
    return entries


def describe_invalid(error: Exception) -> str:
    """Return what is wrong with an entry of a project's file, in a line."""
    return "it is not a JSON object" if isinstance(error, AttributeError | TypeError) else str(error)


def build_tools(known: tuple[Service, ...]) -> dict[str, tuple[dict[str, object], Work]]:
    """Return definition and work of every tool by its name; of two with one name, the longer prefix has it."""
    tools: dict[str, tuple[dict[str, object], Work]] = {}
    for service in known:
        for endpoint, about in service.endpoints.items():
            name = service.prefix + endpoint
            definition: dict[str, object] = {
                "name": name,
                "description": about.description or f"Calls the endpoint {endpoint} of the service {service.name}.",
                "input_schema": {"type": "object", "additionalProperties": True},
            }
            if _NAME.fullmatch(name):
                tools.setdefault(name, (definition, _build_work(service, endpoint)))
    return tools


def explain_unknown(name: str, known: tuple[Service, ...]) -> str:
    """Return what to tell a model that used a tool which is not there; empty if no service has that prefix."""
    service = next((each for each in known if name.startswith(each.prefix)), None)
    if service is None:
        return ""
    asked, there = name.removeprefix(service.prefix), ", ".join(service.endpoints) or "none"
    return f"The service {service.name} has no endpoint {asked!r}. It has: {there}"


def _build_work(service: Service, endpoint: str) -> Work:
    def work(given: Mapping[str, Any]) -> ToolOutput:
        import httpx2

        path = service.endpoints[endpoint].path.lstrip("/")
        try:
            url = f"{service.url.rstrip('/')}/{quote(path, safe='/?=&%:@,;+') or quote(endpoint, safe='/')}"
            status, text = _post(url, dict(given), _headers(service))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            what = f"{type(error).__name__}: {error}"
            raise ToolFailure(f"The service {service.name} could not be asked: {what}") from None
        if not 200 <= status < 300:
            raise ToolFailure(f"The service {service.name} answered {endpoint} with {status}: {text}")
        return ToolOutput(text)

    return work


def _post(url: str, given: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, str]:
    """Return status and text of the answer, up to LARGEST. No redirect is followed: it could lead the key elsewhere."""
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
