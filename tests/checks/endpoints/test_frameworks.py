"""Servers as people write them, asked as docs/endpoints.md shows it. Express: `tests/real_projects`."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from aigon.model.checks import TestCounts
from tests.checks.endpoints.conftest import Checked, Found
from tests.compare.bench import ran, world_of
from tests.lab import Lab

APP = """
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

app = FastAPI()
users: dict[int, dict] = {}


class User(BaseModel):
    name: str


@app.get("/health")
def health() -> dict:
    return {"ok": True}


@app.post("/users", status_code=201)
def create(user: User) -> dict:
    users[len(users) + 1] = {"id": len(users) + 1, "name": user.name}
    return users[len(users)]


@app.get("/users/{id}", responses={404: {}})
def one(id: int) -> dict:
    if id not in users:
        raise HTTPException(404, "no such user")
    return users[id]
"""
LINE = f"{sys.executable} -m uvicorn main:app --port {{port}}"
REQUESTS = [
    {"method": "POST", "path": "/users", "json": {"name": "Ada"},
     "expect": {"status": 201, "json": {"name": "Ada"}}, "save": {"id": "$.id"}},
    {"path": "/users/${id}", "expect": {"headers": {"content-type": "application/json"}, "json": {"name": "Ada"}}},
    {"path": "/users/99", "expect": {"status": 404, "json": {"detail": "no such user"}}},
    {"method": "POST", "path": "/users", "json": {}, "expect": 422},
]  # fmt: skip
needs_fastapi = pytest.mark.skipif(
    not (find_spec("fastapi") and find_spec("uvicorn")), reason="fastapi and uvicorn are not installed"
)


@needs_fastapi
def test_a_fastapi_app_is_asked_and_a_wrong_answer_is_named(lab: Lab, found: Found) -> None:
    lab.write("main.py", APP)
    green = found(command=LINE, ready="/health", requests=REQUESTS)
    assert (green.status, green.summary) == ("pass", "4/4 passed"), green.excerpt
    lab.write("main.py", APP.replace('raise HTTPException(404, "no such user")', "raise KeyError(id)"))
    red = found(command=LINE, ready="/health", requests=REQUESTS)
    assert (red.status, red.counts) == ("fail", TestCounts(4, 3, 1))
    assert [(each.test, each.message[:24]) for each in red.problems] == [("GET /users/99", "expected 404, got 500: I")]
    assert "KeyError: 99" in Path(red.log).read_text()


@needs_fastapi
@pytest.mark.skipif(not shutil.which("schemathesis"), reason="schemathesis is not installed (pip install schemathesis)")
@pytest.mark.parametrize("place", ["/openapi.json", "openapi.yaml"])
def test_an_openapi_document_is_exercised_by_schemathesis(checked: Checked, lab: Lab, place: str) -> None:
    lab.env["PATH"] += f":{Path(shutil.which('schemathesis') or '').parent}"
    lab.write("main.py", APP.replace("return users[id]", "return users[id] if id != 1 else 1 // 0"))
    lab.write("schemathesis.toml", "[checks]\nnot_a_server_error.enabled = false\n")  # nobody is told to look away
    lab.write("openapi.yaml", DOCUMENT)
    lab.write("parts/user.yaml", "type: object\nrequired: [name]\nproperties: {name: {type: string}}\n")
    args = ["--max-examples", "3", "--phases", "examples,fuzzing,stateful", "--checks", "not_a_server_error"]
    check = checked(command=LINE, openapi={"file" if place[0] != "/" else "path": place, "args": args})
    assert check.missing == ""
    with world_of(lab) as world:
        finding = ran(world, [check])["endpoints"]
    assert finding.status == "fail", finding.excerpt
    assert "schemathesis: GET /users/{id}" in {problem.test for problem in finding.problems}, finding.problems
    assert any("Server error" in problem.message for problem in finding.problems)
    assert not lab.path(".hypothesis").exists() and not lab.path(".schemathesis").exists()


DOCUMENT = """
openapi: 3.1.0
info: {title: users, version: 2026-01-01}
servers: [{url: "https://api.example.com/"}]
paths:
  /users:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: "./parts/user.yaml"}}}}
      responses: {"201": {description: made}, "422": {description: wrong}}
  /users/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer, minimum: 1, maximum: 2}}]
      responses: {"200": {description: one}, "404": {description: none}}
"""
