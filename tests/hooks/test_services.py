"""Services that are told how a run ended: real requests to loopback, and a program that shows notifications."""

import json
import logging
from pathlib import Path

import pytest

from aigon.config.loading import parse_configuration
from aigon.hooks import services
from aigon.hooks.notifications import NotifySink, NotifyTarget
from aigon.hooks.services import explain_unusable_service, make_teller, resolve_service
from aigon.journal.state import State
from aigon.run.config_origin import redact_value
from tests.hooks.test_notify import END, server, status

BODY = json.dumps({"text": "all is proven", "success": True}).encode()


def tell(given: str, env: dict[str, str] | None = None) -> str:
    return make_teller(given, env or {})(BODY, 5.0)


def test_a_service_is_named_by_a_word_a_variable_or_an_address() -> None:
    env = {"SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/T/B/x", "NTFY_TOPIC": "builds", "MINE": "json://h"}
    assert [resolve_service(given, env) for given in ("slack", "ntfy", "$MINE", "${MINE}", " json://h ")] == [
        env["SLACK_WEBHOOK_URL"], "ntfys://builds", "json://h", "json://h", "json://h"]  # fmt: skip
    assert resolve_service("ntfy", {"NTFY_TOPIC": "https://ntfy.sh/builds"}) == "https://ntfy.sh/builds"
    assert explain_unusable_service("slack", {}) == "the variable SLACK_WEBHOOK_URL is not set"
    assert explain_unusable_service("$GONE", {}) == "the variable GONE is not set"
    assert explain_unusable_service("telegram", {}).startswith("it is neither desktop, slack, ntfy nor an address")
    assert explain_unusable_service("", {}) == "it names no service"


def test_notify_may_be_one_word_or_a_list_with_words() -> None:
    for written in ('"desktop"', '["desktop"]', '[{"to": "desktop"}]'):
        (only,) = parse_configuration([("c", f'{{"notify": {written}}}'.encode())]).notify
        assert (only.to, only.on) == ("desktop", [])


def test_an_address_is_shown_without_its_secret() -> None:
    for given, shown in {
        "slack://T1/B2/secret": "slack://[redacted]",
        "ntfys://my-topic": "ntfys://[redacted]",
        "https://hooks.slack.com/services/T1/B2/secret": "https://hooks.slack.com/[redacted]",
        "$MINE": "$MINE",
        "desktop": "desktop",
    }.items():
        assert redact_value(("notify",), [{"to": given}], free=False) == [{"to": shown}]


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "has_modules", lambda _name: False)
    reason = explain_unusable_service("ntfys://topic", {})
    assert reason.startswith("apprise is not installed: ") and "install" in reason and "notify]" in reason


@pytest.mark.parametrize("name", ["notify-send", "osascript"])
def test_the_desktop_is_told_by_its_own_program(name: str, tmp_path: Path) -> None:
    program, told = tmp_path / name, tmp_path / "told"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}\n')
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert explain_unusable_service("desktop", env) == ""
    assert tell("desktop", env) == ""
    assert "all is proven" in told.read_text().splitlines()
    program.write_text("#!/bin/sh\necho no display >&2\nexit 1\n")
    assert tell("desktop", env) == "no display"
    assert "there is no program notify-send" in explain_unusable_service("desktop", {"PATH": "/nowhere"})


def test_ntfy_and_json_are_posted_to() -> None:
    pytest.importorskip("apprise")
    with server(status(200, b"{}")) as (url, got):
        host = url.split("/")[2]
        assert tell("ntfy", {"NTFY_TOPIC": f"ntfy://{host}/builds"}) == ""
        assert tell(f"json://{host}/path") == ""
    assert json.loads(got[0])["topic"] == "builds"
    assert json.loads(got[0])["message"] == "all is proven"
    assert json.loads(got[1])["message"] == "all is proven"


def test_slack_is_posted_to_where_its_address_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apprise")
    from apprise.plugins.slack import NotifySlack

    with server(status(200, b"ok")) as (url, got):
        monkeypatch.setattr(NotifySlack, "webhook_url", url.partition("/services")[0])
        address = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
        assert explain_unusable_service("slack", {"SLACK_WEBHOOK_URL": address}, thorough=True) == ""
        assert tell("slack", {"SLACK_WEBHOOK_URL": address}) == ""
    assert "all is proven" in got[0].decode()


def test_a_failure_is_a_warning_without_the_secret(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("apprise")
    with server(status(403, b"no")) as (url, _):
        address = f"json://{url.split('/')[2]}/secret-path"
        NotifySink([NotifyTarget("notify[0].to", make_teller(address, {}), 30.0, aside=True)], State())(END)
    assert logging.getLogger("apprise").propagate is False  # pytest listens all the same
    (said,) = (record.getMessage() for record in caplog.records if record.name == "aigon")
    assert said.startswith("notify[0].to could not be notified of the end of the run: ")
    assert "403" in said and "secret" not in said


def test_an_address_that_no_service_has_is_found_before_it_is_needed() -> None:
    pytest.importorskip("apprise")
    for address in ("nonsense://hunter22", "slack://nonsense/hunter22"):
        reason = explain_unusable_service(address, {}, thorough=True)
        assert reason.startswith("apprise does not know its address")
        assert "hunter22" not in reason
