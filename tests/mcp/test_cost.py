"""What a call costs, counted in function calls: a long run costs no more to ask about than a short one."""

import cProfile
import json
import pstats

from aigon.mcp.server import ServedProjects
from aigon.mcp.tools import TaskTools
from tests.lab import Lab

ROW = {"agent": "mine", "turn": "finished", "criteria": [{"number": 1, "verdict": "unmet"}]}
STATE = {"schema_version": 1, "feature_id": "42", "run_id": "r", "agent": "mine", "branch": "b", "status": "stopped",
         "max_iterations": 5, "criteria_met": 0, "criteria_total": 1, "criteria": [], "checks": [],
         "started_at": "", "updated_at": ""}  # fmt: skip


def test_a_long_run_costs_no_more_to_ask_about_than_a_short_one(home: Lab) -> None:
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")

    def count_calls(iterations: int) -> int:
        rows = [{**ROW, "number": number} for number in range(iterations)]
        home.write(".aigon/loop-state-42.json", json.dumps({**STATE, "iteration": iterations, "iterations": rows}))
        tools, profile = TaskTools(ServedProjects((home.root,))), cProfile.Profile()
        task = profile.runcall(tools.get_task, "42")
        assert task.runs[0].iteration == iterations and len(task.runs[0].iterations) <= 20
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    count_calls(10)  # what is imported first is not counted
    assert count_calls(1000) <= 3 * count_calls(10)
