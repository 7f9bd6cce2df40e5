"""Rooms of a proof are used side by side where nothing is shared: each has a loopback of its own, and no network."""

import socket
from collections.abc import Iterator

import pytest

from aigon.isolation.check_sandbox import choose_check_mechanism
from tests.lab import Lab

CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5)\n"
LISTEN = "import socket, time; place = socket.create_server(('127.0.0.1', {port})); time.sleep(0.2)\n"
COMPARES = "import sys; sys.path.append('lib'); import product; assert open('golden/words.txt').read()\n"
FIRST = "000/clean"


@pytest.fixture
def service(lab: Lab) -> Iterator[socket.socket]:
    """A service of the person's."""
    if choose_check_mechanism(lab.home / "private") != "namespaces":
        pytest.skip("no namespaces work here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def prove(lab: Lab, check: str, agent: str = "true", *criteria: str) -> list[str]:
    """The runs in rooms, by their folders, of a feature whose agent also changes the tests."""
    lab.write("tests/run.py", check)
    lab.write("lib/product.py", "")
    lab.spec("it works <!-- check: tests -->", "it is done <!-- verify: test -f done.txt -->", *criteria)
    lab.agent(f"touch done.txt; echo '# more' >> tests/run.py; {agent}")
    lab.config(checks={"tests": {"command": ["python3", "tests/run.py"], "role": "tests"}})
    lab.commit("a project")
    ran = lab.aigon(
        "feature-implement", "42", "--loop", "--max-iterations", "1", env={"AIGON_SANDBOX": "namespaces"}, timeout=100
    )
    assert ran.code == 0, ran.out + ran.err
    folders = [path for path in lab.root.glob(".aigon/runs/*/*/proof/*") if path.is_dir()]
    return sorted(f"{path.parts[-3]}/{path.name}" for path in folders)


def test_two_rooms_that_use_one_port_do_not_meet(lab: Lab, service: socket.socket) -> None:
    port = service.getsockname()[1]
    service.close()
    assert prove(lab, LISTEN.format(port=port)) == [FIRST, "001/base-tests", "001/clean"]


def test_what_needs_a_service_gets_it_and_runs_one_after_the_other(lab: Lab, service: socket.socket) -> None:
    check = CONNECT.format(port=service.getsockname()[1])
    assert prove(lab, check) == [FIRST, "000/with-network", "001/base-tests", "001/clean"]


def test_a_change_that_begins_to_need_a_service_is_proven_with_it(lab: Lab, service: socket.socket) -> None:
    change = CONNECT.format(port=service.getsockname()[1]).strip()
    check = "import sys; sys.path.append('lib'); import product\n"
    rooms = prove(lab, check, f'echo "{change}" > lib/product.py')
    assert rooms == [FIRST, "001/base-tests", "001/clean", "001/with-network"]


@pytest.mark.usefixtures("service")
def test_inputs_are_observed_where_they_are_read(lab: Lab) -> None:
    lab.write("golden/words.txt", "a word\n")
    controlled = ["001/control-commands", "001/control-words-commands"]
    assert prove(lab, COMPARES) == [FIRST, "001/base-tests", "001/clean", *controlled]


@pytest.mark.usefixtures("service")
def test_what_is_measured_is_observed_in_a_run_of_its_own(lab: Lab) -> None:
    lab.write("golden/words.txt", "a word\n")
    lab.write("accept.py", COMPARES)
    assert "001/inputs" in prove(lab, "", "", "it is quick <!-- seconds: python3 accept.py <= 20 -->")
