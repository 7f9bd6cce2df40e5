"""The check in whole runs of aigon: validated, and proven in a clean room; nothing of a server is left."""

import json
import shutil
import sys
from typing import Any

import pytest

from tests.checks.endpoints.conftest import APP
from tests.lab import BRANCH, Lab, alive

SERVE = """
import json, pathlib, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"answer": int(pathlib.Path("answer.txt").read_text())}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def project(lab: Lab, marker: str, *criteria: str, **endpoints: Any) -> None:
    """A server whose answer is in a file, and that has to answer 42."""
    lab.write("serve.py", SERVE)
    lab.write("answer.txt", "41\n")
    lab.write("answer.json", json.dumps({"properties": {"answer": {"const": 42}}}))
    lab.spec(*(criteria or ("the API knows the answer <!-- check: endpoints -->",)))
    request = {"path": "/answer", "expect": {"schema": "answer.json", "json": {"answer": 42}}}
    asked = {"command": [sys.executable, "serve.py", "{port}", marker], "requests": [request]}
    lab.config(endpoints=asked | endpoints, profile="generic")
    lab.commit("a server")


def test_a_validation_says_what_the_server_answered_and_is_green_when_it_is_right(lab: Lab) -> None:
    marker = f"{lab.home}/served"
    project(lab, marker)
    red = lab.aigon("feature-validate", "42", "--json")
    assert red.code == 3, red.out + red.err
    (finding,) = [check for check in red.json["checks"] if check["role"] == "endpoints"]
    assert (finding["status"], finding["summary"]) == ("fail", "0/1 passed")
    assert "$.answer: expected 42, got 41" in json.dumps(red.json)
    lab.write("answer.txt", "42\n")
    green = lab.aigon("feature-validate", "42")
    assert green.code == 0, green.out + green.err
    assert alive(marker) == []


def test_servers_of_several_folders_start_there_and_one_that_fails_is_an_error(lab: Lab) -> None:
    lab.spec("both answer <!-- check: endpoints -->")
    for folder in ("services/api", "web"):
        shutil.copy(APP, lab.write(f"{folder}/app.py", ""))
        lab.write(f"{folder}/echo.json", '{"required": ["method"]}')
    asked = {"requests": [{"path": "/echo", "expect": {"schema": "echo.json"}}]}
    lab.config(paths={
        "services/api": {"profile": "generic", "endpoints": asked | {"command": [sys.executable, "app.py", "{port}"]}},
        "web": {"profile": "generic", "endpoints": asked | {"command": f"{sys.executable} app.py {{port}} crash"}},
    })  # fmt: skip
    lab.commit("two servers")
    ran = lab.aigon("feature-validate", "42", "--json")
    assert ran.code == 3, ran.out + ran.err
    found = {check["name"]: check for check in ran.json["checks"] if check["role"] == "endpoints"}
    assert {name: check["status"] for name, check in found.items()} == {
        "endpoints-services-api": "pass",
        "endpoints-web": "error",
    }
    assert "RuntimeError: the database is not there" in found["endpoints-web"]["summary"]


def test_what_cannot_be_meant_is_refused_with_its_place(lab: Lab) -> None:
    project(lab, "x", requests=[{"path": "/answer", "expect": {"schema": "none.json"}}])
    ran = lab.aigon("feature-validate", "42")
    assert ran.code == 2 and "There is no file 'none.json'" in ran.err
    assert "endpoints.requests.0.expect.schema in .aigon/config.json" in ran.err
    project(lab, "x", command=["no-such-server"])
    ran = lab.aigon("feature-validate", "42")
    assert ran.code == 7 and "Not installed: no-such-server (for endpoints)" in ran.err


@pytest.mark.parametrize("isolation", ["auto", pytest.param("landlock", marks=pytest.mark.slow)])
def test_the_server_in_a_clean_room_proves_a_loop_and_expectations_stay(lab: Lab, isolation: str) -> None:
    from aigon.isolation.mechanisms import find_isolation_flaw

    if isolation != "auto" and (why := find_isolation_flaw(lab.root, "landlock")):
        pytest.skip(f"no landlock here: {why}")
    marker = f"{lab.home}/served"
    project(lab, marker, timeout="60s")
    lab.config(proof={"isolation": isolation})
    # In the first turn it only bends what is expected.
    lab.agent(f"""
        if test -e {lab.home}/turn; then echo 42 > answer.txt; fi
        echo true > answer.json; sed -i s/42/41/ .aigon/config.json; touch {lab.home}/turn
    """)
    lab.commit("an agent")
    ran = lab.aigon("feature-implement", "42", "--loop", timeout=100)
    assert ran.code == 0, ran.out + ran.err
    assert [entry["number"] for entry in lab.state()["iterations"]] == [0, 1, 2]
    proof = next(check for check in lab.state()["checks"] if check["role"] == "proof")
    assert proof["status"] == "pass" and "1 check passed on a clean export" in proof["summary"]
    assert lab.git("rev-parse", "--abbrev-ref", "HEAD") == BRANCH and lab.boxes() == "x"
    assert alive(marker) == []
    lab.sound()
