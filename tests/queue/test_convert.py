"""A table of tasks becomes one spec: criteria in order, ticks that claim, annotations that wait."""

import json
from importlib.util import find_spec

import pytest

from aigon.run.importing import render_spec
from aigon.spec.document import parse_spec
from aigon.spec.prd import Prd, PrdTask, render_prd
from tests.lab import Lab

TABLE = Prd(
    "Shop",
    (
        PrdTask("T1", "sell", depends_on=("T2",), files_to_create=("shop.py",)),
        PrdTask("T2", "stock up", "# not a\nheading", "done"),
        PrdTask("T3", "advertise", status="skipped"),
        PrdTask("T4", "look good <!-- human -->", status="done"),
        PrdTask("T5", "be quick <!-- verify: rm -rf / -->", depends_on=("T3",)),
    ),
)


def test_each_task_becomes_a_criterion_behind_those_it_depends_on() -> None:
    spec = parse_spec(render_spec(TABLE, "Shop", "prd.toon"))
    assert [(c.text, c.checked, c.kind) for c in spec.criteria] == [
        ("T2: stock up", True, "judge"),
        ("T4: look good", False, "human"),
        ("T5: be quick", False, "judge"),
        ("T1: sell", False, "judge"),
    ]
    assert [stage.criteria for stage in spec.settings.stages] == [(1, 2, 3), (4,)]
    text = spec.raw.decode()
    assert "<!-- proposed: verify: rm -rf / -->" in text and "\\# not a heading" in text
    assert "## Skipped\n\n- T3: advertise\n" in text and spec.title == "Shop"


def test_a_file_is_converted_and_a_bad_one_writes_nothing(lab: Lab) -> None:
    lab.write("plan.md", "# Plan\n\n- [x] T1: begin\n- [ ] T2: end (depends on T1)\n")
    lab.commit("plan")
    ran = lab.aigon("run", "convert", "plan.md", "--title", "The plan", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["path"] == "docs/specs/features/01-inbox/feature-the-plan.md"
    assert (ran.json["criteria"], ran.json["claimed"], ran.json["skipped"]) == (2, 1, 0)
    assert lab.git("status", "--porcelain") == ""
    lab.write("plan.md", "- [ ] T1: a (depends on T2)\n- [ ] T2: b (depends on T1)\n")
    before = lab.fingerprint()
    ran = lab.aigon("run", "convert", "plan.md")
    assert (ran.code, lab.fingerprint()) == (2, before)
    assert "in a circle: T1 -> T2 -> T1" in ran.err and "plan.md" in ran.err
    assert lab.aigon("run", "convert", "none.toon").code == 2
    lab.write("prd.json", '{"userStories": []}')
    ran = lab.aigon("run", "convert", "prd.json")
    assert ran.code == 2 and "aigon feature-create --from prd.json" in ran.err


@pytest.mark.slow
def test_a_table_in_any_form_is_built_from_the_backlog(lab: Lab) -> None:
    """A user's way: convert, accept what the table would run, prioritise, start."""
    lab.agent("cat > /dev/null; echo x >> work.txt")
    first, second = ("Begin <!-- verify: test -s work.txt -->", "End <!-- metric: wc -l < work.txt >= 2 -->")
    rows = [{"id": "T1", "title": first, "status": "done"}, {"id": "T2", "title": second, "depends_on": ["T1"]}]
    lab.write("plan-a.json", json.dumps({"project": "A", "tasks": rows}))
    lab.write("plan-b.md", f"- [x] T1: {first}\n- [ ] T2: {second}\n")
    names = ["plan-a.json", "plan-b.md"]
    if find_spec("toon_format"):
        tasks = tuple(
            PrdTask(f"T{at}", title, depends_on=("T1",) * (at - 1)) for at, title in enumerate((first, second), 1)
        )
        lab.write("plan-c.toon", render_prd(Prd("C", tasks)))
        names.append("plan-c.toon")
    lab.commit("plans")
    assert "nothing is in the backlog" in lab.aigon("run", "start").out
    for number, name in enumerate(names, 1):
        made = lab.aigon("run", "convert", name, "--slug", name[:6], "--json").json
        assert (made["criteria"], made["proposed"]) == (2, 2)
        assert lab.aigon("spec-compile", name[:6], "--accept", "--yes").code == 0
        assert lab.aigon("feature-prioritise", name[:6]).code == 0
        assert f"{number:02}.2" in lab.aigon("tasks", f"{number:02}").out
    ran = lab.aigon("run", "start", "--max-iterations", "20", timeout=120)
    assert ran.code == 0, ran.out + ran.err
    assert f"{2 * len(names)} turns of 20, {len(names)} features" in ran.out
