"""The report of aigon's own program for endpoints, as it wrote it for real servers (FastAPI and http.server)."""

import json
from typing import Any

import pytest

from aigon.checks.endpoints.plan import EndpointReport, RequestOutcome, SchemathesisRun
from aigon.model.checks import TestCounts
from tests.checks.parsers.captured import captured, read, reading


def test_a_request_is_a_test_with_its_name_and_what_was_not_as_expected() -> None:
    assert (reading("endpoints-passed.json").summary, reading("endpoints-passed.json").counts) == (
        "2/2 passed",
        TestCounts(2, 2),
    )
    found = reading("endpoints-failed.json")
    assert (found.summary, found.counts) == ("1/4 passed, 1 error", TestCounts(4, 1, 2, 0, 1))
    assert [(problem.test, problem.message[:60]) for problem in found.problems] == [
        ("POST /users", 'expected 201, got 422: {"detail":[{"type":"missing","loc":["'),
        ("GET /users/${id}", "not asked: no earlier request saved a value as id"),
        ("GET /ok (2)", "the header x-total is not there; $.ok: expected false, got t"),
    ]
    assert found.tests == {
        "GET /ok": "passed", "POST /users": "failed", "GET /users/${id}": "error", "GET /ok (2)": "failed"
    }  # fmt: skip


def test_a_server_that_did_not_come_up_is_said_first_and_nothing_is_counted() -> None:
    found = reading("endpoints-crashed.json")
    assert found.understood and found.counts is None and found.tests == {}
    assert found.summary.startswith("the server ended (exit 3) before it was ready: ERROR: Error loading ASGI app.")
    assert [(problem.rule, problem.test) for problem in found.problems] == [("server", "")]


def test_a_server_that_ended_meanwhile_is_said_first_beside_what_was_asked() -> None:
    found = reading("endpoints-ended.json")
    assert found.summary == "the server ended (exit 7) at GET /die: ValueError: there is nothing left to serve"
    assert found.counts == TestCounts(3, 1, 1, 0, 1)
    assert [problem.test for problem in found.problems] == ["", "GET /die", "GET /users/1"]


def test_an_operation_that_schemathesis_tried_is_a_test_beside_the_requests() -> None:
    found = reading("endpoints-schemathesis.json")
    assert (found.summary, found.counts) == ("4/5 passed", TestCounts(5, 4, 1))
    (problem,) = found.problems
    assert problem.test == "schemathesis: GET /users/{id}"
    assert problem.message == "ST103 Undocumented status code; Received: 404; Documented: 200, 422"
    assert found.tests["GET /ok"] == found.tests["schemathesis: GET /ok"] == "passed"


def test_what_a_server_prints_is_no_report() -> None:
    assert not read("endpoints", captured("endpoints-passed.json")).understood
    assert not read("endpoints", captured("endpoints-passed.json"), b"").understood


@pytest.mark.parametrize("report", [b"{}", b"[]", b'{"aigon": "else"}', b"{", b"\xff", b'{"aigon": ["endpoints"]}'])
def test_another_document_is_not_understood(report: bytes) -> None:
    assert not read("endpoints", b"", report).understood


@pytest.mark.parametrize("junit", ["", "<testsuites", "<!DOCTYPE x><testsuites/>", "{}"])
def test_a_report_of_schemathesis_that_cannot_be_read_is_no_pass_of_its_operations(junit: str) -> None:
    report = json.dumps(
        EndpointReport([RequestOutcome("GET /", "passed")], SchemathesisRun(1, junit)).encode()
    ).encode()
    found = read("endpoints", b"", report)
    assert found.summary == "the report of schemathesis cannot be read"
    assert found.counts == TestCounts(1, 1) and found.problems[0].rule == "server"


def test_rows_of_any_shape_are_left_out_and_never_an_exception() -> None:
    rows: list[Any] = [7, None, {}, {"name": 1, "result": "passed"}, {"name": "a", "result": "great"}, {"result": []}]
    rows += [{"name": "b", "result": "failed", "said": 7}, {"name": "c", "result": "error", "said": [1, "x\x1b[31m"]}]
    report = {"aigon": "endpoints", "requests": rows, "schemathesis": 1, "broken": None}
    found = read("endpoints", b"", json.dumps(report).encode())
    assert [(problem.test, problem.message) for problem in found.problems] == [("b", "failed"), ("c", "x")]
