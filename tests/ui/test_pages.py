"""What the pages say about a repository, and what their forms do."""

import json
import re

import pytest
from msgspec.structs import replace

from aigon.journal.events import Event, IterationFinished, RunStarted, TurnEnded
from aigon.model.changes import Concern
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, NeedsHuman
from tests.journal.tried import looked
from tests.lab import SPEC, Lab
from tests.ui.desk import ORIGIN, Desk, take_environment
from tests.views.report.accounts import ended, iterations, started

ATTACK = "</p><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def desk(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Desk:
    take_environment(lab, monkeypatch)
    lab.spec("done <!-- verify: test -f done.txt -->", "It reads well <!-- human -->")
    lab.write("docs/specs/features/01-inbox/feature-export.md", "# Feature: Export\n\n## Acceptance Criteria\n")
    lab.commit("specs")
    return Desk(lab)


def waiting(word: str = "needs eyes") -> list[Event]:
    """A run that ended with a question."""
    events = [started(), *iterations([1, 1]), ended(NeedsHuman((2,), word), 30)]
    concern, verdict = (
        Concern("special-cases", "review", word, ("a.py",), "key"),
        Verdict(2, "unclear", "human", "", word),
    )
    return [
        replace(each, concerns=(concern,), verdicts=(each.verdicts[0], verdict, *each.verdicts[2:]))
        if isinstance(each, IterationFinished)
        else each
        for each in events
    ]


def test_the_board_has_every_feature_by_stage(desk: Desk) -> None:
    page = desk.get("/")
    inbox, progress = page.index('data-stage="inbox"'), page.index('data-stage="in-progress"')
    assert inbox < page.index("Export") < progress < page.index(">Dark mode<")
    assert re.search(r"<b>0</b> need you", page)
    assert 'action="/do/prioritise"' in page and 'data-to="backlog"' in page


def test_a_move_runs_the_verb_and_says_so(desk: Desk) -> None:
    page = desk.post("prioritise", feature="export", back="/")
    assert "Feature export is in the backlog." in page
    assert desk.lab.path("docs/specs/features/02-backlog/feature-43-export.md").is_file()


def test_a_refusal_of_a_verb_is_a_page_with_what_to_do(desk: Desk) -> None:
    page = desk.post("stop", status=409, feature="42")
    assert "No loop runs on feature 42" in page and "aigon feature-status 42" in page
    assert "There is no such page" in desk.post("format", status=404, feature="42")


RALPH = {"ralph": "on", "max_iterations": "7", "promise": "ALL_GREEN"}


def test_a_feature_is_created_edited_and_its_commands_accepted(desk: Desk) -> None:
    lab, form = (
        desk.lab,
        {"title": "Night", "description": "For night owls.", "criteria": "dark\n- it is <!-- verify: ls -->"},
    )
    assert "Ralph Wiggum mode" in desk.get("/new") and 'max="20"' in desk.get("/new")
    page = desk.save("/new", {**form, **RALPH})
    assert "Feature night is in the inbox" in page and 'value="codex"' in page
    spec = lab.read("docs/specs/features/01-inbox/feature-night.md")
    assert spec.startswith("---\nmode: ralph\nmax_iterations: 7\npromise: ALL_GREEN\n---\n# Feature: Night\n")
    assert "- [ ] dark\n- [ ] it is <!-- proposed: verify: ls -->" in spec and "Not in force yet" in page
    assert "in force" in desk.post("accept", feature="night", back="/feature/night")
    assert "<!-- verify: ls -->" in lab.read("docs/specs/features/01-inbox/feature-night.md")
    lab.commit("accepted")
    edit = desk.get("/feature/night/edit")
    assert "For night owls." in edit and 'name="ralph" checked' in edit and 'value="7"' in edit
    body = {"description": "Shorter.\r\n\r\n## Acceptance Criteria\r\n\r\n- [ ] it is <!-- verify: ls -->\r\n"}
    assert "is saved" in desk.save("/feature/night/edit", {"title": "Night mode", **body})
    spec = lab.read("docs/specs/features/01-inbox/feature-night.md")
    assert spec.startswith("# Feature: Night mode\n") and "<!-- verify: ls -->" in spec and "\r" not in spec
    lab.sound()


def test_a_form_that_is_refused_comes_back_with_its_text(desk: Desk) -> None:
    page = desk.save("/new", {"title": "Export", "description": "My <b>words", "criteria": "one"}, 400)
    assert "exists already" in page and "My &lt;b&gt;words" in page and "one</textarea>" in page
    page = desk.save("/new", {"title": "Other", "ralph": "on", "max_iterations": "21"}, 400)
    assert "Max Iterations is 21" in page and 'name="ralph" checked' in page
    assert desk.save("/feature/42/edit", {"title": "Other", "description": "x"}, 400)
    desk.lab.sound()


def test_a_start_needs_a_limit_on_its_cost(desk: Desk) -> None:
    before = desk.lab.fingerprint()
    for form in (
        {},
        {"max_cost": ""},
        {"max_cost": "-1"},
        {"max_cost": "nan"},
        {"max_cost": "5", "max_iterations": "21"},
    ):
        page = desk.post("start", status=400, feature="42", **form)
        assert "cost" in page.lower() or "Max Iterations" in page
    assert desk.lab.fingerprint() == before


def test_a_feature_shows_its_criteria_and_the_evidence(desk: Desk) -> None:
    page = desk.get("/feature/42")
    assert "No run yet" in page and "test -f done.txt" in page and "Decided by a person" in page
    desk.record([started(), *iterations([1, 2])])
    page = desk.get("/feature/42")
    assert "Broken off" in page and "2 of" in page and 'action="/do/resume"' in page


def test_what_waits_is_decided_on_its_own_page(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.record(waiting())
    state = {"schema_version": 1, "feature_id": "42", "status": "needs_human", "agent": "claude", "iteration": 2,
             "max_iterations": 5, "criteria_met": 1, "criteria_total": 2, "started_at": "2026-11-20T10:00:00+00:00",
             "updated_at": "2026-11-20T10:30:00+00:00", "stop_reason": "needs eyes"}  # fmt: skip
    desk.lab.write(".aigon/loop-state-42.json", json.dumps(state))
    assert re.search(r"<b>1</b> needs you", desk.get("/"))
    page = desk.get("/approvals")
    assert "needs eyes" in page and 'value="special-cases"' in page and 'value="2"' in page
    asked: list[object] = []

    def run_verb(_root: object, *words: object) -> dict[str, object]:
        asked.append(words)
        return {}

    monkeypatch.setattr("aigon.api.changes.run_verb", run_verb)
    commit = re.search(r'name="commit" value="(\w*)"', page)
    assert commit
    desk.post("approve", feature="42", what="2", why="seen", commit=commit[1], back="/approvals")
    assert asked == [("approve", ("42", "2"), {"why": "seen", "agent": None, "yes": True}, 600.0)]
    assert "changed since you looked" in desk.post("approve", status=403, feature="42", what="2", commit="0" * 40)
    assert len(asked) == 1


def test_without_a_terminal_nothing_is_decided(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(take_environment(lab, monkeypatch), decides=False)
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.commit("spec")
    for verb in ("approve", "reject", "merge", "cancel", "reopen"):
        assert "no person started it from a terminal" in desk.post(verb, status=403, feature="42", what="1")
    assert 'action="/do/merge"' not in desk.get("/") and "decides nothing" in desk.get("/approvals")


def test_what_others_wrote_stays_text(desk: Desk) -> None:
    desk.lab.spec(
        f"{ATTACK} <!-- verify: true -->", name=SPEC, extra="[x](javascript:alert(3)) ![i](http://e.invalid/)"
    )
    desk.lab.write("docs/specs/features/01-inbox/feature-<b>x.md", f"# Feature: {ATTACK}\n")
    events = [
        replace(each, turn=replace(each.turn, said=ATTACK, model=ATTACK, detail=ATTACK)) if isinstance(each, TurnEnded)
        else replace(each, branch=f"feature-{ATTACK}", agent=ATTACK) if isinstance(each, RunStarted)
        else each
        for each in waiting(ATTACK)
    ]  # fmt: skip
    desk.record(events)
    for path in ("/", "/feature/42", "/approvals", "/statistics", "/feature/42/diff/all", f"/feature/{ATTACK}"):
        page = desk.client.get(path).text
        assert "<script>alert" not in page and "<img src=x" not in page and "javascript:" not in page.split("<main")[0]
        assert 'href="javascript' not in page and 'e.invalid/"' not in page


def test_a_form_leads_back_only_to_pages_of_this_server(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aigon.api.changes.run_verb", lambda *_: {})
    others = ("//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)")
    for back in (*others, "/feature/42?agent=a b"):
        form = {"feature": "export", "back": back}
        answer = desk.client.post("/do/stop", data=form, headers={"origin": ORIGIN}, follow_redirects=False)
        where = answer.headers["location"].partition("note=")[0]
        assert where == ("/feature/42?agent=a+b&" if "42" in back else "/?")


def test_statistics_are_counted_and_grouped(desk: Desk) -> None:
    assert "No run is on record" in desk.get("/statistics")
    desk.record(waiting())
    page = desk.get("/statistics?by=agent&since=2026-01-01")
    assert "By agent" in page and "claude" in page and "Needs you" in page
    desk.record([started(), *iterations([1, 2]), ended(Met(iteration=1), 30)])
    assert "<dt>Iterations to proven</dt><dd>n=1</dd>" in desk.get("/statistics")
    assert "is no day" in desk.get("/statistics?since=yesterday", 400)


def test_an_iteration_that_is_assessed_again_keeps_its_changes(desk: Desk) -> None:
    desk.record([started(), *iterations([1, 1]), looked(1, met=1, changes=())])
    assert "1 file <span" in desk.get("/feature/42")


def test_several_agents_are_side_by_side(desk: Desk) -> None:
    from aigon.model.agents import Candidate

    for label in ("cc", "cx"):
        records = desk.record([started(label, agent=label), *iterations([1, 2])], label=label)
        records.set_candidate(Candidate("42", "dark-mode", label, label, "arena", 1, f"feature-42-{label}", "/nowhere"))
    page = desk.get("/feature/42")
    assert page.count('<article class="panel lane') == 2 and "Criteria, side by side" in page
    assert 'href="/feature/42?agent=cx"' in page
    one = desk.get("/feature/42?agent=cx")
    assert "Acceptance criteria" in one and "All agents" in one


def test_an_iteration_shows_what_it_changed(desk: Desk) -> None:
    lab = desk.lab
    base = lab.git("rev-parse", "HEAD")
    lab.write("app.py", "print('<b>hello</b>')\n")
    lab.write(".gitattributes", "*.py -diff\n")
    commit = lab.commit("work")
    begin = replace(started(), base_commit=base, head=base)
    rows = [replace(each, checkpoint=commit) if isinstance(each, IterationFinished) and each.number else each
            for each in iterations([0, 1])]  # fmt: skip
    desk.record([begin, *rows])
    page = desk.get("/feature/42/diff/1")
    assert "print(&#39;&lt;b&gt;hello&lt;/b&gt;&#39;)" in page and "app.py" in page
    assert desk.get("/feature/42/diff/all") and desk.get("/feature/42/diff/9", 404)


@pytest.mark.parametrize("damage", ["cut", "damaged", "newer", "deleted"])
def test_a_journal_that_cannot_be_read_is_said_on_the_page(desk: Desk, damage: str) -> None:
    records = desk.record(waiting())
    assert "Needs you" in desk.get("/feature/42")
    data = records.journal.read_bytes()
    if damage == "cut":
        records.journal.write_bytes(data[: len(data) // 2])
        assert "Broken off" in desk.get("/feature/42")
    elif damage == "damaged":
        records.journal.write_bytes(data.replace(b"iteration_finished", b"iteration_finixhed", 1))
        assert "damaged" in desk.get("/feature/42")
    elif damage == "newer":
        from aigon.files.checksums import format_line

        records.journal.write_bytes(data + format_line('{"event": "from_the_future", "at": "2030-01-01"}'))
        assert "another version of aigon" in desk.get("/feature/42")
    else:
        records.journal.unlink()
        assert "journal of this run is gone" in desk.get("/feature/42")
    assert desk.get("/")


def test_a_stranger_page_is_a_page_with_a_way_back(desk: Desk) -> None:
    assert "There is no feature" in desk.get("/feature/nothing", 400)
    assert "There is no such page" in desk.get("/nothing", 404)
    assert desk.client.get("/do/stop").status_code == 405
