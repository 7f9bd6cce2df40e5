"""Who is let in: a request has to come from a page of this server, or to have the token."""

import socket

import pytest

from aigon.api import AigonError
from aigon.ui.guard import Access
from aigon.ui.server import bind_socket
from tests.lab import Lab
from tests.ui.desk import ORIGIN, PORT, Desk, take_environment


@pytest.fixture
def desk(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(take_environment(lab, monkeypatch))


def test_nobody_gets_anything_without_the_token(desk: Desk) -> None:
    desk.client.cookies.clear()
    for path in ("/", "/static/ui.css", "/events/board", "/?token=", f"/?token={desk.access.session}", "/no"):
        assert desk.client.get(path).status_code == 403, path
    desk.client.cookies.set(desk.access.cookie, desk.access.token)
    assert desk.client.get("/").status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(desk: Desk) -> None:
    desk.client.cookies.clear()
    answer = desk.client.get(f"/approvals?token={desk.access.token}&agent=a%20b", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/approvals?agent=a+b")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and desk.access.token.lower() not in cookie
    assert desk.client.get("/approvals").status_code == 200


def test_a_ticket_admits_once(desk: Desk) -> None:
    desk.client.cookies.clear()
    ticket = desk.access.add_ticket()
    assert desk.client.get(f"/?token={ticket}", follow_redirects=False).status_code == 303
    desk.client.cookies.clear()
    assert desk.client.get(f"/?token={ticket}", follow_redirects=False).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", ""])
def test_a_name_that_only_leads_here_is_refused(desk: Desk, host: str) -> None:
    assert desk.client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:4711", "http://127.0.0.1:1", None]
)
def test_a_form_of_another_page_does_nothing(desk: Desk, origin: str | None) -> None:
    before = desk.lab.fingerprint()
    headers = {"origin": origin} if origin else {}
    assert desk.client.post("/do/prioritise", data={"feature": "dark"}, headers=headers).status_code == 403
    assert desk.lab.fingerprint() == before


def test_another_page_cannot_read_and_gets_no_leave_to(desk: Desk) -> None:
    answer = desk.client.get("/", headers={"origin": "http://evil.example"})
    assert answer.status_code == 403 and not [name for name in answer.headers if name.startswith("access-control")]
    asked = desk.client.options("/", headers={"origin": "http://evil.example", "access-control-request-method": "POST"})
    assert asked.status_code == 403 and not [name for name in asked.headers if name.startswith("access-control")]


def test_pages_may_run_and_load_only_what_is_the_servers_own(desk: Desk) -> None:
    for path in ("/", "/static/ui.js", "/nothing"):
        headers = desk.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    page = desk.get("/")
    assert " style=" not in page and "<style" not in page and "onclick" not in page
    assert page.count("<script ") == page.count('<script src="/static/')


def test_a_form_that_is_too_large_or_of_unknown_size_is_refused(desk: Desk) -> None:
    headers = {"origin": ORIGIN}
    assert desk.client.post("/do/stop", content=b"a" * 2_100_000, headers=headers).status_code == 413
    assert desk.client.post("/do/stop", content=iter([b"a=1"]), headers=headers).status_code == 413


def test_read_only_starts_and_decides_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(take_environment(lab, monkeypatch), read_only=True)
    assert "Read only" in desk.get("/")
    answer = desk.client.post("/do/stop", data={"feature": "42"}, headers={"origin": ORIGIN})
    assert answer.status_code == 403


def test_an_address_of_the_machine_is_known_by_number_and_not_by_name() -> None:
    everywhere = Access("0.0.0.0", 80)
    assert (
        not everywhere.is_local and everywhere.has_host("192.0.2.7:80") and not everywhere.has_host("evil.example:80")
    )
    named = Access("box.example", 80)
    assert named.has_host("box.example:80") and not named.has_host("192.0.2.7:80")
    assert Access("::1", 80).is_local and Access("::1", 80).address == "http://[::1]:80"


def test_a_port_in_use_is_an_error_that_says_so() -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AigonError, match=f"Port {port} of 127.0.0.1 cannot be used") as refused:
            bind_socket("127.0.0.1", port)
    assert refused.value.code == 7 and "--port 0" in refused.value.hint
    with pytest.raises(AigonError, match="no address") as unknown:
        bind_socket("no such host", 0)
    assert unknown.value.code == 2


def test_whoever_opens_the_address_before_the_server_is_up_waits_for_it() -> None:
    with bind_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), timeout=5):
        pass
