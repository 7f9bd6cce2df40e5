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
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from pydantic import BeforeValidator, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from aigon.agents.api_agent.tool import ToolFailure, ToolOutput, Work
from aigon.text.patterns import compile_re

FILES = ("mcp_endpoints.json", ".aigon/mcp_endpoints.json")
SECONDS = 60.0
"""A service that answers later than this has failed."""
LARGEST = 1024 * 1024
"""Bytes of an answer that are read."""
_NAME = compile_re(r"[A-Za-z0-9_-]{1,128}")
"""What the API takes as the name of a tool."""


@dataclass(frozen=True)
class Endpoint:
    """What an endpoint does, if that is said, and its path below the service's address, if that is not its name."""

    description: str = ""
    path: str = ""


def _check_url(url: object) -> object:
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("has to be an http or https address")
    return url


def _name_endpoints(value: object) -> dict[str, Any]:
    """Return each endpoint by its name. A list has names, or objects with one.

    What a mapping says of a name is a path, which begins with `/`, a description, or an object with both.
    """
    if isinstance(value, list):
        pairs = ((each["name"], each) if isinstance(each, dict) and "name" in each else (each, "") for each in value)
    elif isinstance(value, dict):
        pairs = ((name, about) for name, about in value.items())
    else:
        raise ValueError("has to be a list of names")
    return {str(name): _drop_nulls(about) for name, about in pairs}


def _drop_nulls(about: object) -> object:
    if isinstance(about, Endpoint):
        return about
    if isinstance(about, str):
        return {"path": about} if about.startswith("/") else {"description": about}
    return {key: text for key, text in about.items() if text is not None} if isinstance(about, dict) else {}


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Service:
    """One service and its endpoints by name."""

    name: str
    url: Annotated[str, BeforeValidator(_check_url)]
    endpoints: Annotated[dict[str, Endpoint], BeforeValidator(_name_endpoints)]
    auth_required: bool = False
    api_key_env: str = ""

    @property
    def prefix(self) -> str:
        """What its tools' names begin with."""
        return self.name.removesuffix("_mcp") + "_"


def load_services(checkout: Path, note: Callable[[str], None]) -> tuple[Service, ...]:
    """Return the services of a project; what is malformed is noted and left out."""
    services: dict[str, Service] = {}
    for file in (checkout / name for name in FILES):
        try:
            document = json.loads(file.read_bytes()) if file.is_file() else {}
            named = document.items()
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            note(f"{file.name} is left out: {describe_invalid(error)}")
            continue
        for name, value in named:
            try:
                about = {key: text for key, text in value.items() if text is not None} | {"name": name}
                services.setdefault(name, Service(**about))
            except (ValidationError, AttributeError, TypeError) as error:
                note(f"{file.name}: the service {name!r} is left out: {describe_invalid(error)}")
    return tuple(sorted(services.values(), key=lambda service: (-len(service.prefix), service.name)))


def describe_invalid(error: Exception) -> str:
    """Return what is wrong with an entry of a project's file, in a line."""
    if not isinstance(error, ValidationError):
        return "it is not a JSON object" if isinstance(error, AttributeError | TypeError) else str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = f"`{'.'.join(map(str, first['loc']))}`: " if first["loc"] else ""
    return place + first["msg"].removeprefix("Value error, ")


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
