"""Whether a run that was killed and resumed came to what an uninterrupted one comes to, with nothing lost or left."""

import difflib
import subprocess
import time
from dataclasses import dataclass, field

from tests.faults.scenario import Scenario
from tests.faults.standing import Standing, Whole, files, standing
from tests.lab import Lab
from tests.loop.processes import left_behind

PATIENCE = 12.0
"""Seconds that a guardian may take on a busy machine; its own limit is 10."""


@dataclass(slots=True)
class Verdict:
    """What was counted in one trial; a reason for each thing that is not as promised."""

    kills: int = 0
    lost: int = 0
    duplicated: int = 0
    repeated: int = 0
    orphans: int = 0
    locks: int = 0
    trees: int = 0
    reasons: list[str] = field(default_factory=list)

    def against(self, reason: str) -> None:
        """Something is not as promised."""
        self.reasons.append(reason)


def judge(verdict: Verdict, lab: Lab, scenario: Scenario, whole: Whole, before: dict[str, tuple[str, ...]]) -> None:
    """Look at everything after the last resume; `before` are the commits of each branch when it was last killed."""
    for label, agent in zip(scenario.labels, scenario.agents, strict=True):
        try:
            now = standing(lab, scenario, label, agent)
        except (AssertionError, OSError, ValueError, KeyError) as error:
            verdict.against(f"{agent}: there is no whole run: {error}")
            continue
        _compare(verdict, agent, whole.runs[label], now)
        _kept(verdict, lab, scenario.branch(label), before.get(label, ()))
        _tidy(verdict, lab, scenario, label)
    _main(verdict, lab, scenario, whole)
    no_orphans(verdict, lab, "after the resume")
    _sound(verdict, lab)


def _compare(verdict: Verdict, agent: str, then: Standing, now: Standing) -> None:
    if now.status != "met":
        verdict.against(f"{agent}: its state is {now.status}")
    missing = set(then.checkpoints) - set(now.checkpoints)
    again = len(now.checkpoints) - len(set(now.checkpoints)) + len(now.iterations) - len(set(now.iterations))
    verdict.lost += len(missing)
    verdict.duplicated += again
    if (now.checkpoints, now.iterations) != (then.checkpoints, then.iterations):
        verdict.against(f"{agent}: checkpoints {now.checkpoints}, iterations {now.iterations}, not {then.iterations}")
    if (now.files, now.log) != (then.files, then.log):
        verdict.trees += 1
        verdict.against(f"{agent}: another tree:\n{_diff(then, now)}")
    if now.tasks != then.tasks:
        verdict.against(f"{agent}: tasks {now.tasks}, not {then.tasks}")
    more = now.turns - then.turns
    verdict.repeated += max(0, more)
    if more > verdict.kills:
        verdict.against(f"{agent}: {more} turns repeated after {verdict.kills} kills")


def _diff(then: Standing, now: Standing) -> str:
    old, new = ([*one.files, *one.log.splitlines()] for one in (then, now))
    return "\n".join(difflib.unified_diff(old, new, "uninterrupted", "resumed", lineterm="", n=1))


def _kept(verdict: Verdict, lab: Lab, branch: str, before: tuple[str, ...]) -> None:
    now = set(lab.git("rev-list", branch).split())
    gone = [commit for commit in before if commit not in now]
    verdict.lost += len(gone)
    if gone:
        verdict.against(f"{branch}: lost {', '.join(gone)}")


def _tidy(verdict: Verdict, lab: Lab, scenario: Scenario, label: str) -> None:
    place = scenario.place(lab, label)
    status = lab.git("-C", str(place), "status", "--porcelain", "--untracked-files=all")
    on = lab.git("-C", str(place), "branch", "--show-current")
    if status or on != scenario.branch(label):
        verdict.against(f"{place.name} is on {on or 'no branch'}, uncommitted: {status or 'nothing'}")


def _main(verdict: Verdict, lab: Lab, scenario: Scenario, whole: Whole) -> None:
    if files(lab, "main") != whole.main:
        verdict.against("main is not as it was")
    branches = lab.git("for-each-ref", "--format=%(refname:short)", "refs/heads/feature-*").splitlines()
    if extra := set(branches) - set(map(scenario.branch, scenario.labels)):
        verdict.against(f"started twice: {extra}")
    if scenario.mode != "solo" and lab.git("branch", "--show-current") != "main":
        verdict.against("the main checkout is not on main any more")


def no_orphans(verdict: Verdict, lab: Lab, when: str) -> None:
    """Nothing of the lab may be alive; a guardian is given its time."""
    limit = time.monotonic() + PATIENCE
    while (left := left_behind(lab)) and time.monotonic() < limit:
        time.sleep(0.05)
    verdict.orphans += len(left)
    if left:
        verdict.against(f"left behind {when}: {left}")


def _sound(verdict: Verdict, lab: Lab) -> None:
    locks = [str(path.relative_to(lab.root)) for path in lab.path(".git").rglob("*.lock") if "aigon" not in path.parts]
    verdict.locks += len(locks)
    if locks:
        verdict.against(f"locks of git left: {locks}")
    checked = subprocess.run(["git", "fsck", "--full", "--strict"], cwd=lab.root, env=lab.env, capture_output=True)
    if checked.returncode:
        verdict.against(f"git fsck: {checked.stderr.decode(errors='replace')}")
    if status := lab.git("status", "--porcelain", "--untracked-files=all"):
        verdict.against(f"uncommitted in the main checkout: {status}")
