"""The pages of `aigon ui` in a real browser, as a person uses them: from a feature's first line to its statistics."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab

pytestmark = pytest.mark.long
PAGES = ("feature/42", "approvals", "statistics", "new", "feature/export", "feature/42/diff/all")
ATTACK = "<script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
INBOX = "docs/specs/features/01-inbox/feature-export.md"
AXE = os.environ.get("AXE", "")
"""axe.min.js of npm's axe-core."""
WAITS = """
echo "I look around first"
while [ ! -e "$GO" ]; do sleep 0.1; done
echo done > done.txt
echo '<script>document.title = "taken"</script>'
"""


class Visit:
    """A browser on the pages of a laboratory. `said` is what its console said."""

    def __init__(self, lab: Lab, window: Any, address: str) -> None:
        self.lab, self.window, self.said = lab, window, list[str]()
        self.base = address.partition("/?")[0]
        window.on("console", lambda message: self.said.append(message.text))
        window.on("pageerror", lambda error: self.said.append(str(error)))
        window.goto(address)

    def go(self, path: str) -> Any:
        self.window.goto(self.base + path)
        return self.window

    def shoot(self, name: str) -> None:
        """Save a picture, if somebody wants to look at it."""
        if folder := os.environ.get("SHOTS"):
            self.window.screenshot(path=str(Path(folder) / f"ui-{name}.png"), full_page=True)


@contextmanager
def visited(browser: Any, lab: Lab, **how: Any) -> Iterator[Visit]:
    """The pages as `aigon ui` serves them that a person started from a terminal."""
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "aigon", "ui", "--json"]
    process = subprocess.Popen(
        command, cwd=lab.root, env=lab.env, stdin=inside, stderr=inside, stdout=subprocess.PIPE, start_new_session=True
    )
    os.close(inside)
    context = browser.new_context(**how)
    try:
        assert process.stdout
        about = json.loads(process.stdout.readline())
        assert about["decides"]
        visit = Visit(lab, context.new_page(), about["url"])
        yield visit
        assert visit.said == []
    except BaseException:
        visit.shoot("failed")
        raise
    finally:
        context.close()
        process.terminate()
        process.communicate(timeout=20)
        os.close(terminal)


@pytest.fixture
def desk(lab: Lab) -> Lab:
    """A repository with a feature of two criteria, whose agent waits until the file `go` is there."""
    lab.env |= {"GO": str(lab.home / "go")}
    lab.agent(WAITS)
    lab.config(profile="generic", env={"pass": ["GO"]}, guards={"allowUnknownCost": True})
    lab.spec("done <!-- verify: test -f done.txt -->", "It reads well <!-- human -->")
    lab.commit("spec")
    return lab


def test_a_feature_from_its_first_line_to_its_statistics(browser: Any, desk: Lab) -> None:
    with visited(browser, desk, viewport={"width": 1280, "height": 900}) as visit:
        window = visit.window
        window.get_by_role("link", name="New feature").click()
        window.get_by_label("Title").fill("Night mode")
        window.get_by_label("Description").fill("For people who read at night.")
        criteria = "done <!-- verify: test -f done.txt -->\nIt reads well <!-- human -->"
        window.get_by_label(re.compile("^Acceptance criteria")).fill(criteria)
        window.get_by_label("Ralph Wiggum mode").check()
        assert window.get_by_label("Max Iterations").input_value() == "10"
        assert window.get_by_label("Completion Signal").input_value() == "COMPLETE"
        visit.shoot("new")
        window.get_by_role("button", name="Create").click()
        window.get_by_text("Feature night-mode is in the inbox").wait_for()
        window.get_by_role("button", name="Accept and run these").click()
        window.get_by_text("What decides feature night-mode is in force").wait_for()
        window.get_by_label("Cost limit in US dollars").fill("5")
        window.get_by_role("button", name="Start", exact=True).click()
        window.get_by_text("has started").wait_for(timeout=60_000)
        visit.go("/")
        window.locator(".card.run").wait_for(timeout=30_000)
        name = window.locator(".card.run .id").inner_text()
        visit.go(f"/feature/{name}")
        window.get_by_text("I look around first").wait_for(timeout=30_000)
        assert window.locator("#criteria li.met").count() == 0
        visit.shoot("live")
        (desk.home / "go").touch()
        window.locator("#criteria li.met").wait_for(timeout=60_000)
        window.locator("#head").get_by_text("Needs you").wait_for(timeout=60_000)
        assert window.title().startswith(name)
        window.locator("#head").get_by_role("link", name="Decide").click()
        assert window.locator("tr.add").filter(has_text="done").count() >= 1
        visit.shoot("approvals")
        window.get_by_label("Why").fill("I have read it")
        window.get_by_role("button", name="Approve").click()
        window.get_by_text(f"Approved for feature {name}").wait_for(timeout=30_000)
        visit.go("/statistics")
        assert window.get_by_text("1 of 1 (n=1)").count() == 0 and window.get_by_text("Needs you").count() == 1
        decided = next(desk.home.glob("state/repos/*/features/*/decisions.jsonl")).read_text()
        assert "I have read it" in decided


def test_a_run_is_stopped_and_agents_are_compared(browser: Any, desk: Lab) -> None:
    desk.config(agents={"other": {"adapter": "command", "command": [str(desk.home / "mine-agent")]}})
    desk.commit("agents")
    with visited(browser, desk, viewport={"width": 768, "height": 900}) as visit:
        window = visit.go("/feature/42")
        window.get_by_label("Agent").fill("mine other")
        window.get_by_label("Cost limit in US dollars").fill("5")
        window.get_by_role("button", name="Start", exact=True).click()
        window.get_by_text("has started").wait_for(timeout=60_000)
        window.locator("#lanes article").nth(1).wait_for(timeout=30_000)
        window.get_by_text("I look around first").first.wait_for(timeout=30_000)
        visit.shoot("arena")
        lane = window.get_by_role("article", name="Agent other")
        lane.get_by_role("button", name="Stop").click()
        window.get_by_text("to stop after its iteration").wait_for(timeout=30_000)
        window.get_by_role("button", name="Stop now").click()
        lane.get_by_text("Interrupted").first.wait_for(timeout=60_000)
        assert window.locator("#matrix tbody tr").count() == 2


def test_the_keyboard_alone_moves_a_feature(browser: Any, desk: Lab) -> None:
    desk.write(INBOX, "# Feature: Export\n\n## Acceptance Criteria\n\n- [ ] x\n")
    desk.commit("inbox")
    with visited(browser, desk, viewport={"width": 1280, "height": 900}) as visit:
        window = visit.go("/")
        window.keyboard.press("Tab")
        assert window.evaluate("document.activeElement.className") == "skip"
        window.keyboard.press("Enter")
        for _ in range(40):
            window.keyboard.press("Tab")
            if window.evaluate("document.activeElement.getAttribute('aria-label')") == "Move Export":
                break
        window.keyboard.press("Enter")
        window.keyboard.press("Escape")
        assert not window.locator("details.menu[open]").count()
        window.keyboard.press("Enter")
        window.keyboard.press("Tab")
        assert window.evaluate("document.activeElement.textContent") == "To backlog"
        window.keyboard.press("Enter")
        window.get_by_text("is in the backlog").wait_for(timeout=30_000)


def test_a_card_is_dragged_to_the_next_stage(browser: Any, desk: Lab) -> None:
    desk.write(INBOX, "# Feature: Export\n\n## Acceptance Criteria\n\n- [ ] x\n")
    desk.commit("inbox")
    with visited(browser, desk, viewport={"width": 1440, "height": 900}) as visit:
        window = visit.go("/")
        window.drag_and_drop("#card-export", '[data-stage="done"]')
        assert window.locator(".note").count() == 0
        window.drag_and_drop("#card-export", '[data-stage="backlog"]')
        window.get_by_text("is in the backlog").wait_for(timeout=30_000)
        assert window.locator('[data-stage="backlog"]').get_by_text("Export").count() == 1


def test_a_tab_in_the_background_holds_no_connection_and_catches_up(browser: Any, desk: Lab) -> None:
    turn = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with visited(browser, desk, viewport={"width": 1280, "height": 900}) as visit:
        tabs = [visit.window]
        for _ in range(6):  # a browser opens six connections to a server
            tabs[-1].evaluate(turn, True)
            tabs.append(visit.window.context.new_page())
            tabs[-1].goto(f"{visit.base}/", timeout=30_000)
        tabs[-1].get_by_text("Live", exact=True).wait_for(timeout=30_000)
        desk.write(INBOX, "# Feature: Export\n\n## Acceptance Criteria\n\n- [ ] x\n")
        tabs[-1].get_by_text("Export").first.wait_for(timeout=30_000)
        assert visit.window.get_by_text("Export").count() == 0
        visit.window.evaluate(turn, False)
        visit.window.get_by_text("Export").first.wait_for(timeout=30_000)


def test_pages_can_be_read_and_used_without_javascript(browser: Any, desk: Lab) -> None:
    with visited(browser, desk, java_script_enabled=False, viewport={"width": 360, "height": 800}) as visit:
        window = visit.go("/feature/42")
        assert window.get_by_text("It reads well").count() == 1 and window.get_by_text("Decided by a person").count()
        window.get_by_role("button", name="Start", exact=True).click()
        assert window.get_by_text("needs a limit on its cost").count() == 1 or window.locator(":invalid").count() >= 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_break_no_rule_of_accessibility(browser: Any, desk: Lab, scheme: str) -> None:
    desk.spec(f"{ATTACK} <!-- verify: true -->", "It reads well <!-- human -->", extra=ATTACK)
    desk.write(INBOX, f"# Feature: {ATTACK} {'w' * 150}\n")
    desk.commit("hostile")
    (desk.home / "go").touch()
    assert desk.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 4
    with visited(browser, desk, color_scheme=scheme) as visit:
        for path in ("/", *(f"/{name}" for name in PAGES)):
            window = visit.go(path)
            for width in (360, 768, 1440):
                window.set_viewport_size({"width": width, "height": 900})
                assert window.evaluate("document.documentElement.scrollWidth") <= width, path
            assert window.title() != "taken"
            assert window.evaluate("document.querySelectorAll('main script, main img, [onerror]').length") == 0
            if AXE:
                window.evaluate(Path(AXE).read_text(encoding="utf-8"))
                found = window.evaluate("axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))")
                assert found == [], path
