"""A server's life: ready or never, alive or not, and nothing of it left."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from aigon.model.checks import TestCounts
from aigon.process import server
from tests.checks.endpoints.conftest import Checked, Found
from tests.compare.bench import ran, world_of
from tests.lab import Lab, alive, until


@pytest.fixture
def foreign() -> Iterator[socket.socket]:
    """A server of somebody else: this very process."""
    server = socket.create_server(("127.0.0.1", 0))
    yield server
    server.close()


def port_of(server: socket.socket) -> int:
    port: int = server.getsockname()[1]
    return port


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return port_of(server)


def test_a_server_is_asked_when_the_path_that_says_so_answers_as_it_should(found: Found) -> None:
    finding = found("late", requests=["/health"], ready={"path": "/health", "status": 200})
    assert (finding.status, finding.summary) == ("pass", "1/1 passed")
    assert finding.duration >= 0.4


def test_a_server_that_is_never_ready_is_an_error_that_says_what_it_answered(found: Found) -> None:
    finding = found("sick", requests=["/echo"], ready={"path": "/health", "timeout": 0.7})
    assert (finding.status, finding.exit_code, finding.counts) == ("error", 2, None)
    assert "was not ready within 0.7 s: GET /health answered 503, not 2xx" in finding.summary
    assert [problem.rule for problem in finding.problems] == ["server"]
    assert "starting the server" in finding.excerpt


def test_a_server_that_listens_elsewhere_is_told_how_to_get_its_port(found: Found) -> None:
    finding = found("lost", requests=["/echo"], ready={"timeout": 1.0})
    assert finding.status == "error"
    assert "it listens on port " in finding.summary and "put {port} into its command" in finding.summary


def test_a_server_that_opens_no_port_is_an_error_and_its_deadline_is_kept(found: Found) -> None:
    begun = time.monotonic()
    finding = found("deaf", requests=["/echo"], ready={"timeout": "500ms"})
    assert (finding.status, time.monotonic() - begun < 5) == ("error", True)
    assert "not ready within 0.5 s: nothing accepts connections on its port" in finding.summary


def test_a_server_that_ends_before_it_is_ready_is_an_error_with_its_last_words(found: Found) -> None:
    finding = found("crash", requests=["/echo"])
    assert finding.status == "error"
    said = "the server ended (exit 1) before it was ready: RuntimeError: the database is not there"
    assert finding.summary == finding.problems[0].message == said
    assert "Traceback (most recent call last)" in finding.excerpt


def test_a_line_for_bash_that_names_no_program_is_an_error_that_says_so(found: Found) -> None:
    finding = found(command="cd . && no-such-server --port {port}", requests=["/echo"])
    assert finding.status == "error" and "(exit 127)" in finding.summary
    assert "no-such-server: command not found" in finding.summary


def test_a_server_that_ends_while_it_is_asked_is_an_error_that_names_the_request(found: Found) -> None:
    finding = found(requests=["/echo", "/die", "/users/1", "/echo"])
    said = "the server ended (exit 7) at GET /die: ValueError: there is nothing left to serve"
    assert (finding.status, finding.summary) == ("error", said)
    assert finding.counts == TestCounts(4, 1, 1, 0, 2)
    assert [(problem.test, problem.message) for problem in finding.problems[2:]] == [
        ("GET /users/1", "not asked"),
        ("GET /echo (2)", "not asked"),
    ]


def test_a_server_behind_a_launcher_that_ended_well_serves_on(found: Found, tmp_path: os.PathLike[str]) -> None:
    line = f"{sys.executable} app.py {{port}} {tmp_path}/daemon & disown; exit 0"
    finding = found(command=line, requests=["/echo"])
    assert (finding.status, finding.summary) == ("pass", "1/1 passed")
    assert alive(f"{tmp_path}/daemon") == []


def test_a_server_that_listens_only_where_localhost_leads_first_is_found(found: Found) -> None:
    if not socket.has_ipv6:
        pytest.skip("this Python has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    requests = ["/login", {"path": "/echo", "expect": {"json": {"headers": {"cookie": "session=s3"}}}}]
    assert found("six", requests=requests).summary == "2/2 passed"


def test_a_server_that_prints_without_end_is_asked_and_ended_all_the_same(found: Found) -> None:
    finding = found("loud", requests=[{"path": f"/echo/{n}"} for n in range(20)], stop=1)
    assert (finding.status, finding.summary) == ("pass", "20/20 passed")
    assert os.path.getsize(finding.log) < 20_000_000  # noqa: PTH202 - a text


def test_nothing_is_left_of_a_server_that_does_not_want_to_go(found: Found, tmp_path: os.PathLike[str]) -> None:
    marker = f"{tmp_path}/stubborn"
    finding = found("stubborn", marker, requests=["/echo"], stop=0.3)
    assert finding.status == "pass"
    with open(finding.log) as log:  # noqa: PTH123 - a text
        assert "did not end within 0.3 s after SIGTERM and was killed" in log.read()
    assert alive(marker) == []


def test_a_port_in_use_is_an_error_that_says_by_whom_and_nobody_else_is_asked(
    found: Found, foreign: socket.socket
) -> None:
    foreign.settimeout(5)
    asked = []
    threading.Thread(target=lambda: asked.append(foreign.accept()[0].recv(9)), daemon=True).start()
    finding = found(requests=["/echo"], port=port_of(foreign))
    assert finding.status == "error"
    assert f"the port {port_of(foreign)} cannot be used: in use by pid {os.getpid()} (" in finding.summary
    until(lambda: asked)
    assert asked == [b""]


def test_a_port_that_is_configured_is_the_one_that_the_server_gets(checked: Checked, lab: Lab) -> None:
    port = free_port()
    check = checked(requests=[{"path": "/env", "expect": {"json": {"PORT": str(port)}}}], port=port)
    assert check.exclusive and not checked(requests=["/"]).exclusive
    with world_of(lab) as world:
        assert ran(world, [check])["endpoints"].summary == "1/1 passed"


def test_what_takes_too_long_in_all_is_ended_with_everything_in_it(found: Found, tmp_path: os.PathLike[str]) -> None:
    marker = f"{tmp_path}/long"
    finding = found("stubborn", marker, requests=[{"path": "/sleep", "timeout": 60}] * 20, timeout=1.5, stop=60)
    assert (finding.status, finding.summary) == ("error", "timed out after 1.5 s")
    assert finding.duration < 10
    assert alive(marker) == []


def test_requests_that_together_take_too_long_are_an_error_that_says_what_was_asked(checked: Checked, lab: Lab) -> None:
    requests = ["/echo", {"path": "/sleep", "timeout": 60}, "/health"]
    check = replace(checked(requests=requests, timeout=2, stop=0.2), timeout=60.0)
    with world_of(lab) as world:
        finding = ran(world, [check])["endpoints"]
    assert finding.status == "error"
    assert 'the requests took longer than all of it may take ("timeout": 2 s)' in finding.summary
    assert finding.counts == TestCounts(3, 1, 1, 0, 1)


def test_two_checks_side_by_side_have_a_server_each(checked: Checked, lab: Lab) -> None:
    requests = [{"path": "/users", "method": "POST", "json": {"n": 1}, "expect": {"json": {"id": 1}}}]
    checks = [replace(checked(requests=requests), name=name) for name in ("endpoints-a", "endpoints-b")]
    with world_of(lab) as world:
        assert [each.summary for each in ran(world, checks).values()] == ["1/1 passed"] * 2


def test_an_agents_own_ports_are_used_where_it_has_some(found: Found) -> None:
    schema = {"properties": {"PORT": {"pattern": "^4[34]\\d\\d\\d$"}}}
    finding = found(requests=[{"path": "/env", "expect": {"schema": schema}}], theirs={"AIGON_PORT_BASE": "43950"})
    assert finding.summary == "1/1 passed"


def test_a_range_without_a_free_port_is_an_error_and_not_another_ones_port() -> None:
    assert 43950 <= server.find_free_port(43950) < 44050
    with socket.create_server(("127.0.0.1", 65535)):
        assert server.find_port_conflict(65535) == "in use" and server.find_port_holder(65535) == os.getpid()
        assert server.list_listening_ports([os.getpid()])[-1] == 65535
        with pytest.raises(OSError, match="no port from 65535"):
            server.find_free_port(65535)
    assert server.find_port_conflict(65535) == ""


def test_without_its_plan_the_program_says_where_the_servers_variables_go(checked: Checked, lab: Lab) -> None:
    with world_of(lab) as world:
        finding = ran(world, [replace(checked(requests=["/"]), env={"DEBUG": "1"})])["endpoints"]
    assert (finding.status, "endpoints.env" in finding.summary) == ("error", True)
