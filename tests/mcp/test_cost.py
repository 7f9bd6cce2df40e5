"""What a call costs, counted in function calls: a long run costs no more to ask about than a short one."""

import cProfile
import json
import pstats

from aigon.mcp.served import ServedProjects
from aigon.mcp.tools import TaskTools
from tests.lab import Lab


def test_a_long_run_costs_no_more_to_ask_about_than_a_short_one(home: Lab) -> None:
    home.agent("true")
    home.config(judge={"backend": "none"}, proof="in-place")
    home.spec("done <!-- verify: test -f done.txt -->")
    home.commit("spec")
    assert home.aigon("feature-implement", "42", "--loop", "--skip-validation", "--max-iterations", "1").code == 3
    file = home.path(".aigon/loop-state-42.json")
    state = json.loads(file.read_text())

    def count_calls(iterations: int) -> int:
        rows = [{**state["iterations"][-1], "number": number} for number in range(iterations)]
        file.write_text(json.dumps({**state, "iteration": iterations, "iterations": rows}))
        tools, profile = TaskTools(ServedProjects((home.root,))), cProfile.Profile()
        task = profile.runcall(tools.get_task, "42")
        assert task.runs[0].iteration == iterations and len(task.runs[0].iterations) <= 20
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    count_calls(10)  # what is imported first is not counted
    assert count_calls(1000) <= 3 * count_calls(10)
