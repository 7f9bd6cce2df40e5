"""Working through the backlog: order, dependencies, caps over features, what an earlier start left unfinished."""

import os
import signal
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.queue.backlog import plan_backlog
from aigon.queue.tasks import combine_task_codes
from tests.lab import Lab, finish, until
from tests.queue.vaults import AGENT, count_turns, hold

BACKLOG = "docs/specs/features/02-backlog"


def write_spec(lab: Lab, id: str, slug: str, head: str, *criteria: str) -> None:
    """Write a spec of the backlog."""
    items = "".join(f"- [ ] {each}\n" for each in criteria or ("it was tried <!-- verify: test -f tried.txt -->",))
    text = f"---\n{head}\n---\n# Feature: {slug}\n\n## Acceptance Criteria\n\n{items}"
    lab.write(f"{BACKLOG}/feature-{id}-{slug}.md", text)


def make_backlog(lab: Lab) -> None:
    lab.agent(AGENT)
    lab.config(proof="in-place")
    write_spec(lab, "01", "low", "priority: low")
    write_spec(lab, "02", "wall", "priority: high", "impossible <!-- verify: test -f never -->")
    write_spec(lab, "03", "later", "depends_on: [1]")
    write_spec(lab, "04", "plain", "kind: build")
    lab.commit("a backlog")


def test_the_backlog_is_in_order_of_priority_id_and_dependencies(lab: Lab) -> None:
    make_backlog(lab)
    with Checkout.open(lab.root) as main:
        planned = [(each.feature.id, each.missing) for each in plan_backlog(main)]
    assert planned == [("02", ()), ("04", ()), ("01", ()), ("03", ("01",))]


def test_bad_specs_unknown_and_circular_dependencies_are_all_named(lab: Lab) -> None:
    make_backlog(lab)
    write_spec(lab, "01", "low", "depends_on: [3]")
    write_spec(lab, "05", "odd", "depends_on: [77]")
    write_spec(lab, "07", "too", "depends_on: [77]")
    write_spec(lab, "06", "bad", "mode: ralf")
    with Checkout.open(lab.root) as main, pytest.raises(AigonError) as refused:
        plan_backlog(main)
    said = refused.value.where
    assert said.count("in a circle: 01 -> 03 -> 01") == 1
    assert all(
        f"feature-{name}.md: line 2: depends_on: There is no feature '77'" in said for name in ("05-odd", "07-too")
    )
    assert "mode cannot be 'ralf'" in said


def test_the_worst_end_in_the_documented_order_is_the_exit_code() -> None:
    assert [combine_task_codes(codes) for codes in ([], [0, 0], [0, 3, 4], [3, 5, 7])] == [0, 0, 4, 7]


@pytest.mark.slow
def test_the_cap_counts_over_features_and_the_next_start_goes_on(lab: Lab) -> None:
    make_backlog(lab)
    first = lab.aigon("run", "start", "--max-iterations", "2", timeout=120)
    assert first.code == 3 and count_turns(lab) == 2, first.out + first.err
    assert "all 2 turns are used; aigon run start goes on" in first.out
    second = lab.aigon("run", "start", timeout=120)
    assert "feature 02 goes on with mine" in second.out and "feature 03 waits for 01" in second.out
    rows = (lab.home / "turns").read_text().split("\n")
    assert rows[:2] == ["02 1", "02 2"] and rows[2] == "02 3" and "04 1" in rows
    blocked = lab.aigon("run", "tasks", "--status", "blocked", "--json").json["tasks"]
    assert "03.1" in [each["id"] for each in blocked]
    assert "02 (feature" not in lab.aigon("run", "status", "--tail", "3").out


@pytest.mark.slow
def test_a_killed_start_starts_nothing_twice_and_loses_nothing(lab: Lab) -> None:
    lab.agent(AGENT)
    write_spec(lab, "04", "plain", "kind: build")
    lab.commit("a backlog")
    hold(lab)
    process = lab.start("run", "start")
    until(lambda: count_turns(lab) == 1, 60)
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    hold(lab, release=True)
    until(lambda: '"running": true' not in lab.aigon("feature-status", "04", "--json").out)
    again = lab.aigon("run", "start", timeout=120)
    assert again.code == 0 and "feature 04 goes on with mine" in again.out, again.out + again.err
    assert Path(lab.root).exists() and count_turns(lab) == 2
