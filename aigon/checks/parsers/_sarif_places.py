"""Where a SARIF result lies: URIs, their bases, and indices into tables, as paths."""

from urllib.parse import unquote

from aigon.checks.parsers import _json

_DEEPEST = 8
"""Bases that stand on one another."""


def place(result: _json.Row, run: _json.Row) -> tuple[str, int]:
    """File and line of the result's first location that names a file; ("", 0) for none."""
    for location in _json.rows(result.get("locations"))[:20]:
        physical = row(location.get("physicalLocation"))
        if file := path(row(physical.get("artifactLocation")), run):
            return file, _json.integer(row(physical.get("region")).get("startLine"))
    return "", 0


def path(artifact: _json.Row, run: _json.Row) -> str:
    """The path that an artifact location means, decoded; relative where it is, or where its base is nowhere given."""
    if not artifact.get("uri"):
        artifact = row(at(run.get("artifacts"), artifact.get("index")).get("location")) or artifact
    return unquote(_less_scheme(_uri(artifact, row(run.get("originalUriBaseIds"))))).removeprefix("./")


def _uri(artifact: _json.Row, bases: _json.Row) -> str:
    """The URI behind those that it is relative to, each of which may stand on another."""
    uri = _json.string(artifact.get("uri"))
    for _ in range(_DEEPEST):
        base = row(bases.get(_json.string(artifact.get("uriBaseId"))))
        if not base or ":" in uri.split("/")[0]:
            break
        uri, artifact = _joined(_json.string(base.get("uri")), uri), base
    return uri


def _joined(base: str, uri: str) -> str:
    return f"{base}{uri}" if not base or base.endswith("/") else f"{base}/{uri}"


def _less_scheme(uri: str) -> str:
    """A file's URI as a path. The project's own path may be gone from it by now: `file://src/a.py` is `src/a.py`."""
    if not uri.startswith("file:"):
        return uri
    return uri.removeprefix("file:").removeprefix("//").removeprefix("localhost/")


def row(value: object) -> _json.Row:
    """A dict as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def at(table: object, index: object) -> _json.Row:
    """The dict that stands at `index` in a list; an empty one where there is none."""
    if not isinstance(table, list) or not isinstance(index, int) or not 0 <= index < len(table):
        return {}
    return row(table[index])
