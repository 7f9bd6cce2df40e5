"""Where features stand: one agent in the checkout, one in a worktree, several in an arena."""

import json
from pathlib import Path
from typing import Any

import pytest

from aigon.errors import AigonError
from aigon.model.agents import Candidate
from aigon.spec.features import Feature
from aigon.views.status import FeatureStatus, build_status_document, read_feature_status, render_status

FEATURE = Feature("42", "dark-mode", "docs/specs/features/03-in-progress/feature-42-dark-mode.md", "in-progress")


def state(status: str = "stopped", met: int = 2, iteration: int = 4, **more: Any) -> dict[str, Any]:
    """A state file's content."""
    criteria = [
        {"number": n, "verdict": "met" if n <= met else "unmet", "reason": "", "evidence": ""} for n in range(1, 5)
    ]
    return {
        "schema_version": 1, "feature_id": "42", "status": status, "branch": "feature-42-dark-mode",
        "iteration": iteration, "criteria_met": met, "criteria_total": 4, "checks": [], "criteria": criteria,
        "stop_reason": "Stopped by the guard stall: no progress", **more,
    }  # fmt: skip


def candidate(root: Path, label: str, agent: str, mode: Any = "arena") -> Candidate:
    folder = root / "trees" / label
    folder.mkdir(parents=True)
    return Candidate("42", "dark-mode", label, agent, mode, 1, f"feature-42-{label}-dark-mode", str(folder))


def row(root: Path, solo: dict[str, Any] | None, *found: tuple[Candidate, dict[str, Any] | None]) -> FeatureStatus:
    """What is read of these state files."""
    (root / ".aigon").mkdir()
    files = [("", solo), *((one.label, told) for one, told in found)]
    for label, told in files:
        if told:
            (root / FEATURE.state_file(label)).write_text(json.dumps(told))
    return read_feature_status(root, FEATURE, "Dark mode", None, [one for one, _ in found], str(root))


BEST = {"number": 2, "checkpoint": "1a2b3c4d5e6f7890", "criteria_met": 3, "criteria_total": 4, "latest": False}


def test_the_best_checkpoint_is_named_where_the_branch_does_not_stand_there(tmp_path: Path) -> None:
    shown = row(tmp_path, state(best=BEST))
    assert "      best iteration commit: iteration 2 (1a2b3c4d5e6f), 3 of 4 passed" in render_status(
        [shown], detailed=True
    )
    features: Any = build_status_document([shown])["features"]
    (there,) = features
    assert there["best"] == BEST and there["candidates"] == []


@pytest.mark.parametrize("best", [{**BEST, "latest": True}, None])
def test_it_is_not_where_the_branch_stands_there_or_nothing_is_known(tmp_path: Path, best: object) -> None:
    shown = row(tmp_path, state(best=best))
    assert "best checkpoint" not in render_status([shown], detailed=True) and shown.run.best is None


def test_a_branch_that_went_back_says_where_the_rest_is(tmp_path: Path) -> None:
    went = {"number": 2, "commit": "1a2b", "ref": "refs/aigon/parked/feature-42/r1-4-after-best", "undone": [3, 4]}
    said = render_status([row(tmp_path, state(rolled_back=went))], detailed=True)
    assert (
        "went back to iteration 2; what came after it (3, 4) is saved aside as refs/aigon/parked/feature-42/r1-4"
        in said
    )


def arena(tmp_path: Path) -> FeatureStatus:
    cc, cx, gone = (
        candidate(tmp_path, "cc", "claude"),
        candidate(tmp_path, "cx", "codex:o5"),
        candidate(tmp_path, "gg", "gemini"),
    )
    Path(gone.path).rmdir()
    return row(
        tmp_path,
        None,
        (cc, state("met", 4, 2, stop_reason=None)),
        (cx, state("running", 2, 3, best=BEST, stop_reason=None, host="x")),
        (gone, None),
    )


def test_an_arena_is_one_line_in_the_list_and_each_agent_in_detail(tmp_path: Path) -> None:
    shown = arena(tmp_path)
    (line,) = render_status([shown], detailed=False).splitlines()
    assert line == "  42  in-progress   Dark mode  [arena: 3 agents, 1 proven, 1 broken off]"
    said = render_status([shown], detailed=True)
    assert (
        f"""\
      cc  (claude, arena): proven, 4/4 criteria, iteration 2
          branch: feature-42-cc-dark-mode
          worktree: {tmp_path}/trees/cc
          log: docs/specs/features/logs/feature-42-cc-dark-mode-log.md
      cx  (codex:o5, arena): broken off, 2/4 criteria, iteration 3
          best iteration commit: iteration 2 (1a2b3c4d5e6f), 3 of 4 passed
          not passed: 3, 4
          branch: feature-42-cx-dark-mode
          worktree: {tmp_path}/trees/cx
          log: docs/specs/features/logs/feature-42-cx-dark-mode-log.md
          next: aigon feature-implement 42 --resume --agent cx
      gg  (gemini, arena): not started
          branch: feature-42-gg-dark-mode
          worktree: {tmp_path}/trees/gg (missing)
          next: aigon feature-implement 42 --loop --worktree --agent gemini"""
        in said
    )


def test_an_arena_as_data_keeps_the_keys_and_has_a_document_for_each_agent(tmp_path: Path) -> None:
    features: Any = build_status_document([arena(tmp_path)])["features"]
    (there,) = features
    assert (there["id"], there["state"], there["running"]) == ("42", None, False)
    cc, cx, gone = there["candidates"]
    assert [each["status"] for each in (cc, cx, gone)] == ["met", "broken_off", "not_started"]
    assert (cc["label"], cc["agent"], cc["mode"], cc["branch"], cc["next"], cc["state"]["criteria_met"]) == (
        "cc", "claude", "arena", "feature-42-cc-dark-mode", None, 4,
    )  # fmt: skip
    assert (cx["best"], gone["worktree_there"], gone["state"]) == (BEST, False, None)


def test_one_agent_in_a_worktree_has_its_own_words_in_the_list(tmp_path: Path) -> None:
    shown = row(tmp_path, None, (candidate(tmp_path, "cc", "claude", "worktree"), state()))
    assert render_status([shown], detailed=False).endswith("[cc: stopped, 2/4 criteria, iteration 4]")


def test_a_run_in_the_checkout_and_an_arena_are_both_said(tmp_path: Path) -> None:
    shown = row(tmp_path, state(), (candidate(tmp_path, "cc", "claude"), None))
    assert render_status([shown], detailed=False).endswith(
        "[stopped, 2/4 criteria, iteration 4; arena: 1 agent, 0 proven]"
    )


def test_the_state_of_one_agent_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AigonError, match="state file cannot be read") as raised:
        row(tmp_path, None, (candidate(tmp_path, "cc", "claude"), {"schema_version": 1}))
    assert "loop-state-42-cc.json" in str(raised.value.where)


def test_text_of_tools_cannot_colour_or_forge_a_line(tmp_path: Path) -> None:
    forged = "\x1b[32mgreen\x1b[0m\n      [x] 4 met"
    said = render_status([row(tmp_path, state(stop_reason=forged))], detailed=True)
    assert "\x1b" not in said and "\n      [x] 4 met" not in said
