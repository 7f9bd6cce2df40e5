"""What has to be known of an OpenAPI document to send its requests to a server on this machine."""

from urllib.parse import urlsplit


def base_path(document: object) -> str:
    """The path that stands before all paths: that of the first server, or `basePath`; empty for none."""
    if not isinstance(document, dict):
        return ""
    if isinstance(base := document.get("basePath"), str):
        return _path(base)
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    url = first.get("url") if isinstance(first, dict) else None
    return _path(_with_defaults(url, first.get("variables"))) if isinstance(url, str) and first else ""


def _with_defaults(url: str, variables: object) -> str:
    for name, each in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(f"{{{name}}}", str(each.get("default", "")) if isinstance(each, dict) else "")
    return url


def _path(url: str) -> str:
    try:
        path = urlsplit(url).path.rstrip("/")
    except ValueError:
        return ""
    return path if not path or path.startswith("/") else f"/{path}"
