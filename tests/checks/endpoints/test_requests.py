"""What is asked of a running server, and what its answers have to be."""

import json
from typing import Any

import pytest

from aigon.model.checks import Finding, TestCounts
from tests.checks.endpoints.conftest import Found
from tests.lab import Lab

USER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["id", "name"],
    "properties": {"id": {"$ref": "parts/id.yaml#/$defs/id"}, "name": {"type": "string"}},
}
ID = "$defs:\n  id: {type: integer, minimum: 1}\n"
NO_COOKIE = {"properties": {"headers": {"not": {"required": ["cookie"]}}}}


def messages(finding: Finding) -> dict[str, str]:
    """What was not as expected, by request."""
    return {problem.test: problem.message for problem in finding.problems}


def had(**headers: str) -> dict[str, Any]:
    """That the server got these headers."""
    return {"json": {"headers": {name.replace("_", "-"): value for name, value in headers.items()}}}


def raw(line: str) -> dict[str, Any]:
    """That the server got this path and query."""
    return {"json": {"raw": line}}


def test_everything_that_can_be_asked_is_sent_as_it_stands(lab: Lab, found: Found) -> None:
    lab.write("schemas/user.json", json.dumps(USER))
    lab.write("schemas/parts/id.yaml", ID)
    post, form = {"method": "POST", "path": "/echo"}, "application/x-www-form-urlencoded"
    requests = [
        "GET /health",
        "/echo",
        {"method": "post", "path": "/users", "json": {"name": "Ada", "tags": [1, {"a": None}]},
         "expect": {"status": 201, "schema": "schemas/user.json", "json": {"tags": [1.0, {"a": None}]}},
         "save": {"id": "$.id", "where": "headers.location", "tag": "$.tags[-1]"}},
        {"path": "/users/${id}", "expect": {"json": {"id": "${id}", "name": "Ada", "tags": [1, "${tag}"]}}},
        {"name": "by its address", "path": "${where}", "expect": {"json": {"name": "Ada"}}},
        {"path": "/users/99", "expect": 404},
        {"path": "/users/98", "expect": [200, "4xx"]},
        {"path": "/echo/straße/日本?a=b c&d=%20",
         "expect": raw("/echo/stra%C3%9Fe/%E6%97%A5%E6%9C%AC?a=b%20c&d=%20")},
        {"path": "/echo//evil.example/x%zz", "query": {"q": ["a&b", "ä/${id}"], "n": 1.5, "on": True},
         "expect": raw("/echo//evil.example/x%25zz?q=a%26b&q=%C3%A4%2F1&n=1.5&on=true")},
        {"method": "PUT", "path": "/echo", "form": {"a": "x y", "b": ["1", 2], "c": "${id}"},
         "headers": {"X-Id": "id-${id}"},
         "expect": {**had(x_id="id-1", content_type=form), "text": ["a=x%20y&b=1&b=2&c=1", "PUT"]}},
        post | {"text": "<x>$${id} ${id}</x>", "headers": {"content-type": "text/xml"},
                "expect": {**had(content_type="text/xml"), "text": "<x>$${id} 1</x>"}},
        post | {"json": None, "expect": {"json": {"body": "null", "method": "POST"}}},
        post | {"expect": had(content_length="0")},
        {"method": "HEAD", "path": "/page", "expect": {"headers": {"content-type": "text/html", "x-no": False}}},
        {"method": "OPTIONS", "path": "/nothing", "expect": {"status": 204, "headers": {"content-length": False}}},
        {"path": "/page", "expect": {"text": "Grüße", "headers": {"Content-Length": True}}},
        {"path": "/chunked", "expect": {"text": "hello world"}},
        {"path": "/squeezed", "expect": {"json": {"squeezed": True}}},
        {"path": "/moved", "expect": {"status": 302, "headers": {"location": "/users"}}},
        {"path": "/events", "expect": {"text": "tick"}, "timeout": 5},
        {"path": "/login", "save": {"session": "cookies.session"}},
        {"name": "with the cookie", "path": "/echo", "expect": had(cookie="session=s3")},
        {"name": "without it", "path": "/echo", "cookies": False, "expect": {"schema": NO_COOKIE}},
        {"path": "/echo", "headers": {"X-Session": "${session}"}, "expect": had(x_session="s3")},
        {"path": "/env", "expect": {
            "json": {"AIGON_ENDPOINTS": None, "MINE": "on ${port}"},
            "text": ['"PORT": "${port}"', '"AIGON_PORT": "${port}"', "node_modules/.bin", '/db"']}},
    ]  # fmt: skip
    lab.write("node_modules/.bin/tool", "")
    for module in ("aigon/__init__", "httpx2", "jsonschema", "referencing"):  # nobody's but aigon's own are loaded
        lab.write(f"{module}.py", "raise SystemExit(0)\n")
    own = {"MINE": "on {port}", "SPACE": "{scratch}/db"}
    finding = found("--", requests=requests, ready="/health", env=own, theirs={"PYTHONPATH": str(lab.root)})
    assert messages(finding) == {}
    assert (finding.status, finding.summary, finding.exit_code) == ("pass", "25/25 passed", 0)
    assert finding.counts == TestCounts(25, 25) and finding.command.endswith("app.py '{port}' --")
    assert finding.fingerprints == () and finding.excerpt == ""


RED: dict[str, tuple[dict[str, Any], str]] = {
    "status": ({"path": "/users/7"}, 'expected 2xx, got 404: {"detail": "no such user"}'),
    "statuses": ({"path": "/nothing", "expect": [200, "5xx"]}, "expected 200 or 5xx, got 204: an empty body"),
    "header": (
        {"path": "/page", "expect": {"headers": {"content-type": "text/plain"}}},
        "the header content-type: expected text/plain, got text/html; charset=latin-1",
    ),
    "no header": ({"path": "/page", "expect": {"headers": {"etag": True}}}, "the header etag is not there"),
    "a header": ({"path": "/moved", "expect": {"status": 302, "headers": {"location": False}}}, "is there: /users"),
    "subset": (
        {"path": "/env", "expect": {"json": {"MINE": ["x"], "PATH": True}}},
        '$.MINE: expected ["x"], got null; $.PATH: expected true, got "',
    ),
    "lists": (
        {"path": "/echo?a=1&a=2", "expect": {"json": {"query": {"a": ["1"]}, "nothing": 0}}},
        "$.query.a: expected 1 element, got 2 elements; $.nothing: expected 0, and it is missing",
    ),
    "schema": (
        {"path": "/echo", "expect": {"schema": {"properties": {"method": {"type": "integer"}}}}},
        "$.method: 'GET' is not of type 'integer'",
    ),
    "text": ({"path": "/page", "expect": {"text": "Servus"}}, 'the body does not contain "Servus": <p>Grüße</p>'),
    "no json": ({"path": "/chunked", "expect": {"json": 1}}, "no JSON (Expecting value at character 0): hello world"),
    "no utf-8": ({"path": "/page", "expect": {"json": {}}}, "the body is no JSON (not in UTF-8): <p>Grüße</p>"),
    "empty": ({"path": "/nothing", "expect": {"schema": True}}, "the body is empty, which is no JSON"),
    "deep": ({"path": "/deep", "expect": {"json": []}}, "nested too deeply"),
    "nan": ({"path": "/nan", "expect": {"json": {}}}, "NaN is no number of JSON"),
    "slow": ({"path": "/sleep", "timeout": 0.2}, "no whole answer within 0.2 s"),
    "drip": ({"path": "/drip", "timeout": 0.3}, "no whole answer within 0.3 s"),
    "events": ({"path": "/events", "expect": {"text": "tock"}, "timeout": 0.3}, "no whole answer within 0.3 s"),
    "huge": ({"path": "/huge", "expect": {"text": "y"}}, "the first 8 MiB of the body do not contain"),
    "huge json": ({"path": "/huge", "expect": {"json": 1}}, "the body is longer than 8 MiB"),
    "bomb": ({"path": "/bomb", "expect": {"json": 1}}, "the body is longer than 8 MiB"),
    "not squeezed": ({"path": "/not_squeezed"}, "the body is not encoded as its headers say"),
    "bad": ({"path": "/bad"}, "no valid HTTP answer"),
    "cut": ({"path": "/cut"}, "no valid HTTP answer"),
    "redirect": ({"path": "/moved"}, "expected 2xx, got 302"),
    "save": ({"path": "/env", "save": {"user": "$.users[0].id"}}, "nothing to save as user at $.users[0].id"),
    "no header to save": ({"path": "/env", "save": {"e": "headers.etag"}}, "nothing to save as e at headers.etag"),
    "nothing to save": ({"path": "/nothing", "save": {"n": "$.id"}}, "nothing to save as n at $.id: the body is empty"),
    "unsaved": ({"path": "/users/${user}"}, "not asked: no earlier request saved a value as user"),
    "saves": ({"path": "/elsewhere", "save": {"away": "headers.location"}, "expect": 201}, "expected 201, got 200"),
    "away": ({"path": "${away}"}, "'http://example.invalid/x' is not an address on the server that was started"),
}


def test_everything_that_is_not_as_expected_is_named_and_no_answer_holds_anybody_up(found: Found) -> None:
    finding = found(requests=[{"name": name, **request} for name, (request, _) in RED.items()], timeout=60)
    said = messages(finding)
    assert [(name, said[name]) for name, (_, wanted) in RED.items() if wanted not in said[name]] == []
    assert finding.counts == TestCounts(len(RED), 0, len(RED) - 2, 0, 2)
    assert (finding.status, finding.exit_code) == ("fail", 1)
    assert finding.summary == f"0/{len(RED)} passed, 2 errors"
    assert len(finding.fingerprints) == len(RED) and "requests were answered as expected" in finding.excerpt


@pytest.mark.slow
def test_the_same_answers_have_the_same_fingerprints_on_another_port(found: Found) -> None:
    requests = ["/health", "/nowhere", {"path": "/echo", "expect": {"json": {"headers": {"host": "x"}}}}]
    first, second = found(requests=requests), found(requests=requests)
    assert first.fingerprints == second.fingerprints and len(first.fingerprints) == 2
    assert first.summary == "1/3 passed"
