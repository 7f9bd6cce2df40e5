"""What `endpoints` may say in the configuration, and what is refused before anything is started."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from aigon.checks.endpoints.check import endpoint_check
from aigon.checks.endpoints.plan import LARGEST_PLAN, VARIABLE, unpack_plan
from aigon.checks.execution import render_command
from aigon.checks.project import ProjectOnDisk
from aigon.config.endpoints import Endpoints, Expect, Ready, Request
from aigon.config.loading import parse_configuration
from aigon.config.sections import list_fields, read_section
from aigon.errors import AigonError
from tests.checks.endpoints.conftest import Checked
from tests.lab import Lab

FILE = ".aigon/config.json"


def loaded(**endpoints: Any) -> Endpoints:
    document = {"endpoints": {"command": "server", "requests": ["/"], **endpoints}}
    config = parse_configuration([(FILE, json.dumps(document).encode())]).endpoints
    assert config is not None
    return config


def refused(**endpoints: Any) -> str:
    with pytest.raises(AigonError) as error:
        loaded(**endpoints)
    assert (error.value.code, error.value.where) == (2, FILE)
    return f"{error.value.what} | {error.value.hint}"


def test_short_forms_mean_what_the_long_ones_say() -> None:
    config = loaded(requests=["/a", "delete /b", {"path": "/c", "expect": [201, "4xx"]}], ready="/up", openapi="o.yaml")
    assert [(each.method, each.path) for each in config.requests] == [("GET", "/a"), ("DELETE", "/b"), ("GET", "/c")]
    assert config.requests[2].expect.status == ["201", "4xx"]
    assert (config.ready.path, config.ready.timeout, config.ready.status) == ("/up", 60.0, ["2xx"])
    assert config.openapi and config.openapi.file == "o.yaml"
    assert (config.timeout, config.stop, config.port, config.requests[0].timeout) == (300.0, 5.0, None, 10.0)
    served = loaded(openapi="/openapi.json", timeout="2m").openapi
    assert served and (served.path, served.file) == ("/openapi.json", None)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"path": "https://api.example.com/users"}, "aigon asks no other server than the one that it starts"),
        ({"path": "http://localhost:8000/users"}, "aigon asks no other server"),
        ({"path": "//example.com/x"}, "aigon asks no other server"),
        ({"path": "users"}, "has to begin with /"),
        ({"path": "${base}/users"}, "has to begin with /"),
        ({"path": "/a#b"}, "cannot have a fragment"),
        ({"path": "/a", "method": "GET /"}, "has to be a method"),
        ({"path": "/a", "method": "CONNECT"}, "has to be a method"),
        ({"path": "/a", "json": {}, "text": ""}, "has several bodies (json, text); keep one"),
        ({"path": "/a", "headers": {"a b": "c"}}, "an invalid header name: 'a b'"),
        ({"path": "/a", "headers": {"a": "b\r\nc: d"}}, "has a line break in a"),
        ({"path": "/a", "expect": 99}, "has to be a status such as 201"),
        ({"path": "/a", "expect": "6xx"}, "has to be a status such as 201"),
        ({"path": "/a", "expect": []}, "has to be a status such as 201"),
        ({"path": "/a", "expect": {"status": True}}, "has to be a status such as 201"),
        ({"path": "/a", "save": {"id": "id"}}, "'id' is not one of $.name, headers.NAME and cookies.NAME"),
        ({"path": "/a", "save": {"1d": "$.id"}}, "cannot call a value '1d'"),
        ({"path": "/a", "save": {"port": "$.id"}}, "cannot call a value 'port'"),
        ({"path": "/a", "timeout": 0}, "not a positive duration"),
        ({"path": "/a", "timeout": True}, "has to be a duration"),
        ({"path": "/a", "query": {"q": None}}, "endpoints.requests.0.query.q"),
        ({}, "endpoints.requests.0"),
        (7, "endpoints.requests.0"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(request_: Any, said: str) -> None:
    message = refused(requests=[request_])
    assert said in message and "Value error" not in message


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"command": " "}, "'endpoints.command': must not be empty"),
        ({"command": []}, "'endpoints.command': must not be empty"),
        ({"command": ["a", "{report}"]}, "that file is aigon's own"),
        ({"requests": []}, 'asks nothing: name "requests", or an "openapi" document'),
        ({"port": 0}, "endpoints.port"),
        ({"port": "80"}, "endpoints.port"),
        ({"openapi": {}}, "needs either a file of the project or a path on the server"),
        ({"openapi": {"file": "a", "path": "/a"}}, "needs either a file"),
        ({"openapi": {"path": "/a", "args": ["--url", "http://x"]}}, "aigon's to say"),
        ({"env": {"A=B": "c"}}, "an invalid variable name"),
        ({"reqests": []}, "Did you mean 'requests'?"),
        ({"ready": {"pth": "/"}}, "Unknown configuration key 'endpoints.ready.pth' | Did you mean 'path'?"),
        ({"requests": [{"path": "/", "expects": 200}]}, "'endpoints.requests.0.expects' | Did you mean 'expect'?"),
        ({"requests": [{"path": "/", "expect": {"schem": {}}}]}, "'schema'?"),
    ],
)
def test_a_key_that_cannot_be_meant_is_refused_with_its_place(keys: dict[str, Any], said: str) -> None:
    assert said in refused(**keys)


def test_the_check_is_a_program_of_aigons_own_with_the_plan_in_a_variable(checked: Checked, lab: Lab) -> None:
    lab.write("services/api/user.json", '{"type": "object"}')
    request = {"path": "/", "expect": {"schema": "user.json"}}
    check = checked(requests=[request, request, "GET /"], folder="services/api", timeout=60)
    assert (check.name, check.role, check.parser, check.cwd, check.timeout) == (
        "endpoints", "endpoints", "endpoints", "services/api", 60.0
    )  # fmt: skip
    assert check.argv[:2] == (sys.executable, "-I") and check.argv[-3:] == (sys.executable, "app.py", "{port}")
    assert (check.missing, check.remember, check.source) == ("", True, FILE)
    plan = unpack_plan(check.env[VARIABLE])
    assert plan.names == ["GET /", "GET / (2)", "GET / (3)"]
    assert plan.documents == {"services/api/user.json": '{"type": "object"}'}
    assert plan.programs[0] == ".venv/bin" and "../../node_modules/.bin" in plan.programs
    assert render_command(check).endswith("app.py '{port}'")
    assert render_command(checked(command="FOO=1 serve --port {port}", requests=["/"])) == "FOO=1 serve --port {port}"


def unresolved(checked: Checked, **config: Any) -> AigonError:
    with pytest.raises(AigonError) as error:
        checked(**config)
    assert error.value.code == 2 and error.value.hint
    return error.value


def test_what_refers_to_nothing_is_refused_before_anything_is_started(checked: Checked, lab: Lab) -> None:
    def schema(value: object) -> dict[str, Any]:
        return {"requests": [{"path": "/", "expect": {"schema": value}}]}

    lab.write("a.json", '{"$ref": "missing.json"}')
    lab.write("b.json", '{"$ref": "#/$defs/none"}')
    lab.write("c.json", "{")
    lab.write("d.yaml", "a: [")
    lab.write("e.json", '{"$ref": "../../../../etc/passwd"}')
    lab.write("f.json", b"\xff")
    lab.write("g.json", "[]")
    files = ("none.json", "../outside.json", "/etc/passwd", *(f"{name}.json" for name in "abcefg"), "d.yaml")
    said = {name: str(unresolved(checked, **schema(name))) for name in files}
    assert "There is no file 'none.json' in the project" in said["none.json"]
    assert "endpoints.requests.0.expect.schema in .aigon/config.json" in said["none.json"]
    assert all("There is no file" in said[name] for name in ("../outside.json", "/etc/passwd", "a.json", "e.json"))
    assert (
        "#/$defs/none" in said["b.json"] and "cannot be read" in said["c.json"] and "cannot be read" in said["d.yaml"]
    )
    assert "not in UTF-8" in said["f.json"] and "a schema is an object" in said["g.json"]
    assert "is not valid under any" in str(unresolved(checked, **schema({"type": "strin"})))
    assert "https://example.com/x" in str(unresolved(checked, **schema({"$ref": "https://example.com/x"})))
    assert "cannot be read" in str(unresolved(checked, **schema({"$ref": "file:///etc/passwd"})))
    assert "There is no file 'o.yaml'" in str(unresolved(checked, openapi="o.yaml"))


def test_a_value_that_no_earlier_request_saves_is_refused_with_the_nearest_one(checked: Checked) -> None:
    first = {"path": "/users", "save": {"user": "$.id"}}
    error = unresolved(checked, requests=[first, {"path": "/users/${usr}"}])
    assert "No request before GET /users/${usr} saves a value as 'usr'" in error.what
    assert "Did you mean 'user'?" in error.hint and "requests.1" in error.where
    assert "saves a value as 'user'" in unresolved(checked, requests=[{"path": "/${user}"}, first]).what
    assert "saves a value as 'x'" in unresolved(checked, requests=[{"path": "/", "expect": {"json": ["${x}"]}}]).what
    assert checked(requests=[{"path": "/", "text": "$${x} ${port} ${base}"}]).missing == ""


def test_a_program_that_is_missing_is_said_like_any_missing_tool(checked: Checked, lab: Lab) -> None:
    for command in (["no-such-server", "{port}"], "no-such-server --port {port}"):
        check = checked(command=command, requests=["/"])
        assert (check.missing, "endpoints.command" in check.hint) == ("no-such-server", True)
    for line in ("cd web && no-such-server", "FOO=1 exec x", "exec {python} -m x", "./server", "if true; then x; fi"):
        assert checked(command=line, requests=["/"]).missing == "", line
    lab.write(".venv/bin/no-such-server", "#!/bin/sh\n", executable=True)
    assert checked(command="no-such-server", requests=["/"]).missing == ""


def test_without_schemathesis_a_document_is_not_passed_over(lab: Lab) -> None:
    lab.write("o.json", '{"openapi": "3.1.0"}')
    config = read_section(Endpoints, {"command": [sys.executable], "openapi": "o.json"})
    nowhere = ProjectOnDisk(lab.root, {"PATH": str(lab.root)})
    check = endpoint_check(config, lab.root, ".", nowhere)
    assert (check.missing, "pip install schemathesis" in check.hint) == ("schemathesis", True)
    lab.write(".venv/bin/schemathesis", "#!/bin/sh\n", executable=True)
    check = endpoint_check(config, lab.root, ".", ProjectOnDisk(lab.root, {"PATH": str(lab.root)}))
    assert str(lab.root / ".venv/bin/schemathesis") in check.argv
    assert unpack_plan(check.env[VARIABLE]).openapi == "o.json"


def test_what_is_too_large_to_hand_on_is_refused(checked: Checked) -> None:
    import random

    noise = random.Random(1).randbytes(LARGEST_PLAN).hex()
    error = unresolved(checked, requests=[{"path": "/", "text": noise}])
    assert "too large" in error.what


def test_every_example_of_the_page_is_valid_and_every_key_is_explained() -> None:
    page = (Path(__file__).parents[3] / "docs" / "endpoints.md").read_text(encoding="utf-8")
    examples = re.findall(r"(?ms)^```json\n(.*?)^```$", page)
    assert len(examples) == 3
    for example in examples:
        assert parse_configuration([(FILE, example.encode())]).endpoints
    named = set(re.findall(r"(?m)^\| `([a-z.]+)` \|", page))
    kinds = [("", Endpoints), ("", Request), ("ready.", Ready), ("expect.", Expect)]
    keys = {at + key for at, kind in kinds for key in list_fields(kind)}
    assert keys - named == {"requests", "openapi"}
