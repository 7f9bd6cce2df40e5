"""A table of tasks becomes one spec: criteria in order, ticks that claim, annotations that wait."""

from aigon.run.convert import render_spec
from aigon.spec.document import parse_spec
from aigon.spec.prd import Prd, PrdTask
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
    assert "## Skipped\n\n- T3: advertise\n" in text and spec.title == "Feature: Shop"


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
