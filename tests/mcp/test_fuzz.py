"""Arguments made from the schemas of the tools, well-formed and not: no crash, and a refused call changes nothing."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from aigon.mcp.server import READS, WRITES, ServedProjects, build_server
from tests.lab import Lab

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["42", "light-mode", "", ".", "../x", "a:b", "-1", "--help", "\x00", "é", "feature-42-dark-mode"]
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a property's schema allows, as far as its types and bounds go."""
    if "anyOf" in schema:
        return st.one_of([values(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "integer":
            return st.integers(schema.get("minimum", -1), schema.get("maximum", 30))
        case "number":
            return st.floats(schema.get("minimum", -1), 0.01, allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return NAMES | st.text(max_size=30)


@pytest.fixture
def served(home: Lab) -> Lab:
    """A repository with two features. No agent can start, so a start never succeeds."""
    home.config(judge={"backend": "none"}, agents={"gone": {"command": ["/nonexistent/x"]}}, defaultAgent="gone")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.spec("done", name="docs/specs/features/01-inbox/feature-light-mode.md")
    home.commit("specs")
    return home


Session = tuple[BlockingPortal, Client, dict[str, Any]]


@pytest.fixture
def session(served: Lab) -> Iterator[Session]:
    """A client of a server in this process, and the schemas of its tools."""
    server = build_server(ServedProjects((served.root,)), lambda _context: "")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield portal, client, {tool.name: tool.input_schema for tool in portal.call(client.list_tools).tools}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_arguments_crash_a_tool(
    served: Lab, session: Session, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    portal, client, schemas = session
    name = data.draw(st.sampled_from([*READS, *WRITES]))
    arguments = {}
    for key, schema in schemas[name].get("properties", {}).items():
        if key == "project_id":
            arguments[key] = data.draw(st.just(str(served.root)) | JUNK)
        elif key in schemas[name].get("required", ()) or data.draw(st.booleans()):
            arguments[key] = data.draw(values(schema) | JUNK)
    if name == "start_task" and arguments.get("agent") and arguments.get("task_id") == "42":
        arguments["agent"] = "gone"
    before = fingerprint(served)
    with caplog.at_level(logging.ERROR):
        result = portal.call(client.call_tool, name, arguments)
    if result.is_error:
        words = getattr(result.content[0], "text", "")
        assert "Traceback" not in words and "Error executing tool" not in words, (name, arguments, words)
        assert fingerprint(served) == before, (name, arguments)
    assert not [record for record in caplog.records if record.exc_info]


def fingerprint(lab: Lab) -> list[tuple[str, bytes]]:
    """What a refused call must leave as it is."""
    specs = [(str(path), path.read_bytes()) for path in sorted(lab.path("docs").rglob("*.md"))]
    return [*specs, *[(str(path), path.read_bytes()) for path in sorted(lab.path(".git/refs/heads").rglob("*"))]]
