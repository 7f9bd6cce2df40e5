"""What the loops of an arena share: passes, the look at the base, money; and nothing that could differ."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.config.models import Config
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.assessment import Assessment
from aigon.job.job import Job, ProofPlan
from aigon.job.ledger import Ledger, prepare_arena_folder, read_accounts
from aigon.job.options import Limits
from aigon.job.world import World
from aigon.journal import records
from aigon.journal.events import CheckStarted, IterationFinished
from aigon.journal.records import locate_records
from aigon.journal.spending import Spend
from aigon.journal.state import State
from aigon.loop.assess import assess
from aigon.loop.decide import decide_within_budget
from aigon.model.agents import Candidate
from aigon.model.checks import Check
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Stopped
from aigon.process.capacity import CheckSlots
from aigon.process.stop import Stop
from aigon.proof.dry_run import run_clean_room_dry_run
from aigon.proof.prove import frozen_of
from aigon.run.run_world import find_rivals, join_arena
from tests.compare.bench import drain, job_of, plan, ran, script, snapshot, spec_of
from tests.lab import Lab

PYTEST = "python -m pytest -q -p no:cacheprovider --junitxml={report}"


def candidate(lab: Lab, label: str, slot: int = 1) -> Candidate:
    """A worktree of feature 42 for an agent, made and written down."""
    root, branch = lab.home / "trees" / label, f"feature-42-{label}-sample"
    lab.git("worktree", "add", "-q", "-b", branch, str(root), "main")
    made = Candidate("42", "sample", label, label, "arena", slot, branch, str(root), "ready")
    locate_records(lab.home / "aigon", "42", label).set_candidate(made)
    return made


@contextmanager
def world_in(lab: Lab, who: Candidate | None, arena: Path | None = None, limit: float | None = None) -> Iterator[World]:
    """The world of the loop that works there."""
    root, label = (Path(who.path), who.label) if who else (lab.root, "main")
    mine = {"AIGON_PORT_BASE": str(20000 + 20 * who.slot), "COMPOSE_PROJECT_NAME": f"sample-{label}"} if who else {}
    with Checkout.open(root) as checkout:
        world = World(
            run_id=f"run-{label}",
            workspace=Workspace(checkout, lab.home / "aigon" / f"git-{label}", checkout.branch or ""),
            checkout=lab.root,
            folder=lab.home / "runs" / label,
            home=lab.home / "aigon",
            stop=Stop(),
            agent_env=lab.env,
            check_env={**lab.env, **mine, "PWD": str(root)},
            redact=lambda text: text,
        )
        world = join_arena(world, who, Config(), limit, arena)
        yield world
        world.close()


def look(world: World, job: Job, number: int = 0) -> tuple[Assessment, list[str]]:
    """A look, and the checks that were started for it."""
    seen = snapshot(world, number, base=job.base_commit, own=job.own_files)
    found, events = drain(assess(job, world, seen, State()))
    return found, [event.check for event in events if isinstance(event, CheckStarted)]


def counting(lab: Lab, text: str, name: str = "script", **more: object) -> Check:
    """A check that notes that it ran."""
    return script(name, f"echo {name} >> {lab.home}/ran; {text}", **more)


@pytest.fixture
def arena(lab: Lab) -> Path:
    folder = lab.home / "aigon" / "arena" / "42"
    prepare_arena_folder(folder)
    return folder


def test_a_pass_in_one_worktree_stands_for_another_that_is_set_up_alike(lab: Lab) -> None:
    job = job_of(spec_of("x <!-- verify: true -->"), counting(lab, "pwd"), base=lab.git("rev-parse", "HEAD"))
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    with world_in(lab, cc) as first, world_in(lab, cx) as second, world_in(lab, None) as main:
        assert set(look(first, job)[1]) == {"script", "criterion-1"}
        found, started = look(second, job)
        assert started == ["criterion-1"]
        assert found.findings[0].cached and found.findings[0].status == "pass"
        assert found.findings[0].log.startswith(str(second.folder))
        assert cx.path in Path(found.findings[0].log).read_text()  # where the other's path stood
        assert "script" in look(main, job)[1]  # a person's checkout has other files beside the tree


@pytest.mark.parametrize("difference", ["command", "environment", "tools", "set-up", "sparse", "content"])
def test_a_pass_is_not_taken_over_where_it_could_differ(lab: Lab, difference: str) -> None:
    lab.write("in/a", "a")
    base = lab.commit("files")
    text = 'test -n "$AIGON_PORT_BASE"' if difference == "command" else "true"
    job = job_of(spec_of("x <!-- verify: true -->"), counting(lab, text), base=base)
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    with world_in(lab, cc) as first, world_in(lab, cx) as second:
        match difference:
            case "environment":
                second = replace(second, check_env={**second.check_env, "DATA": f"{cx.path}/data"})
                first = replace(first, check_env={**first.check_env, "DATA": f"{cc.path}/data"})
            case "tools":
                for each in (cc, cx):
                    (Path(each.path) / ".venv/lib/python3/site-packages").mkdir(parents=True)
                    lab.git("-C", each.path, "config", "core.excludesFile", str(lab.home / "ignore"))
                (lab.home / "ignore").write_text(".venv\n")
            case "set-up":
                second = replace(second, made_by="worktree otherwise")
            case "sparse":
                lab.git("-C", cx.path, "sparse-checkout", "set", "--cone", "in")
            case "content":
                (Path(cx.path) / "new.txt").write_text("new\n")
        look(first, job)
        assert "script" in look(second, job)[1]


def test_a_pass_beside_a_changed_file_of_the_commit_stands_for_nobody(lab: Lab) -> None:
    check = counting(lab, "date +%N >> README.md")
    job = job_of(spec_of("x <!-- verify: true -->"), check, base=lab.git("rev-parse", "HEAD"))
    with world_in(lab, candidate(lab, "cc")) as first, world_in(lab, candidate(lab, "cx", 2)) as second:
        assert look(first, job)[0].findings[-1].status == "fail"
        found, started = look(second, job)
        assert "script" in started and found.findings[-1].status == "fail"


@pytest.mark.slow
def test_the_arena_shares_what_failed_at_the_base_with_all_details(lab: Lab, arena: Path) -> None:
    lab.write("test_a.py", "import os\n\ndef test_good(): pass\n\ndef test_bad():\n    assert os.getcwd() == 'there'\n")
    base = lab.commit("tests")
    check = Check("tests", "tests", ("bash", "-c", f"echo tests >> {lab.home}/ran; {PYTEST}"), "pytest")
    job = job_of(spec_of("x <!-- check: tests -->"), check, base=base)
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    with world_in(lab, cc, arena) as first, world_in(lab, cx, arena) as second:
        fresh, started = look(first, job)
        assert started == ["tests"] and fresh.findings[0].status == "fail"
        found, started = look(second, job)
        assert started == []
        mine, theirs = found.findings[0], fresh.findings[0]
        assert mine.cached and mine.status == "fail"
        assert (mine.fingerprints, mine.counts, mine.exit_code) == (
            theirs.fingerprints,
            theirs.counts,
            theirs.exit_code,
        )
        assert [p.test for p in mine.problems] == [p.test for p in theirs.problems] and mine.problems
        assert found.ran[0][1].tests == fresh.ran[0][1].tests and found.ran[0][1].reported
        whole = repr(found) + Path(mine.log).read_text()
        assert cc.path not in whole and str(first.folder) not in whole and cx.path in whole


def test_a_failure_at_the_base_stands_for_nobody_else_and_no_other_tree_or_time(lab: Lab, arena: Path) -> None:
    job = job_of(
        spec_of("x <!-- check: script -->"), counting(lab, "exit 3"), base=lab.git("rev-parse", "HEAD"), use_cache=True
    )
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    with world_in(lab, cc, arena) as first, world_in(lab, cx, arena) as second, world_in(lab, None) as main:
        assert look(first, job)[1] == ["script"]
        assert look(second, job)[1] == []
        assert look(second, replace(job, use_cache=False))[1] == ["script"]  # asked to run every check again
        assert look(first, job)[1] == ["script"]  # who found it looks again
        assert look(main, job)[1] == ["script"]
        (Path(cx.path) / "new.txt").write_text("no longer the base\n")
        assert look(second, job)[1] == ["script"]
        lab.git("-C", cx.path, "clean", "-qfdx")
        assert look(second, job)[1] == []
        prepare_arena_folder(arena)
        assert look(second, job)[1] == ["script"]  # another day, another machine
        assert look(first, job)[1] == []  # it was the other's turn to find it


def test_checks_wait_for_their_turn_and_give_up_when_the_run_is_to_end(lab: Lab) -> None:
    with world_in(lab, candidate(lab, "cc")) as world:
        assert world.slots is not None
        slots = CheckSlots(world.home / "locks", 1)
        world = replace(world, slots=slots)
        with slots.acquire(world.stop), ThreadPoolExecutor(1) as aside:
            waiting = aside.submit(ran, world, [counting(lab, "true")], plan(world, key=lambda _: ""))
            world.stop.halt()
            assert waiting.result()["script"].status == "skipped"
    assert not (lab.home / "ran").exists()


def test_what_one_saw_pass_and_another_fail_is_run(lab: Lab, arena: Path) -> None:
    check = counting(lab, f"test -e {lab.home}/fine")
    job = job_of(spec_of("x <!-- check: script -->"), check, base=lab.git("rev-parse", "HEAD"))
    trees = [candidate(lab, label, slot) for slot, label in enumerate(("cc", "cx", "gg"), 1)]
    with (
        world_in(lab, trees[0], arena) as first,
        world_in(lab, trees[1], arena) as second,
        world_in(lab, trees[2], arena) as third,
    ):
        look(first, job)
        (lab.home / "fine").touch()
        assert look(first, job)[0].findings[0].status == "pass"
        for other in (second, third):
            assert "script" in look(other, job)[1]


LOOKER = """
import os
import sys
from pathlib import Path
from aigon.journal.records import list_candidates
from tests.lab import Lab
from tests.compare.bench import job_of, spec_of
from tests.loop.test_sharing import counting, look, world_in

folder, label, base = sys.argv[1:]
lab = Lab.__new__(Lab)
lab.root, lab.home = Path(folder) / "repo", Path(folder) / "home"
lab.env = dict(os.environ)
who = next(each for each in list_candidates(lab.home / "aigon") if each.label == label)
job = job_of(spec_of("x <!-- check: script -->"), counting(lab, "sleep 0.3; exit 3", "slow"),
             counting(lab, "true", "script"), base=base)
with world_in(lab, who, lab.home / "aigon" / "arena" / "42") as world:
    found, _ = look(world, job)
    print([finding.status for finding in found.findings][:2])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("arena")
def test_loops_that_begin_together_run_the_checks_of_the_base_once(lab: Lab) -> None:
    base = lab.git("rev-parse", "HEAD")
    for slot, label in enumerate(("cc", "cx", "gg"), 1):
        candidate(lab, label, slot)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", LOOKER, str(lab.root.parent), label, base],
            cwd=Path(__file__).parents[2],
            env=lab.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for label in ("cc", "cx", "gg")
    ]
    said = [process.communicate(timeout=60)[0].strip() for process in started]
    assert said == ["['fail', 'pass']"] * 3
    assert sorted((lab.home / "ran").read_text().split()) == ["script", "slow"]


def test_the_proof_is_rehearsed_once_for_all_loops_of_an_arena(lab: Lab, arena: Path) -> None:
    job = job_of(
        spec_of("x <!-- verify: false -->"),
        counting(lab, "true"),
        base=lab.git("rev-parse", "HEAD"),
        proof=ProofPlan(isolation="none"),
    )
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    with world_in(lab, cc, arena) as first, world_in(lab, cx, arena) as second:
        looks = {world.run_id: look(world, job)[0] for world in (first, second)}
        assert rehearsed(job, first, looks["run-cc"])
        assert not rehearsed(job, second, looks["run-cx"])
        other = tuple((check, replace(each, tests={"t": "passed"})) for check, each in looks["run-cx"].ran)
        assert rehearsed(job, second, replace(looks["run-cx"], ran=other))  # this worktree showed something else


def rehearsed(job: Job, world: World, found: Assessment) -> bool:
    """Whether a rehearsal after this look ran anything."""
    _, events = drain(run_clean_room_dry_run(job, world, 0, found, frozen_of(job, world)))
    return any(isinstance(event, CheckStarted) for event in events)


OPEN = State(
    last=IterationFinished("", 1, "", "", (), (Verdict(1, "unmet", "verify"),), (), "", (), ""),
    iteration=1,
    finished=1,
    used=1,
)


def test_agents_of_an_arena_share_a_limit_and_set_money_aside_for_turns_only(lab: Lab, arena: Path) -> None:
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    job = replace(job_of(spec_of("x <!-- verify: false -->")), limits=Limits(iterations=20, max_cost=4.0, stall=0))
    over = replace(job, limits=replace(job.limits, iterations=1))
    ledger = arena / "ledger.json"
    with world_in(lab, cc, arena, 4.0) as first, world_in(lab, cx, arena, 4.0) as second:
        with (
            hold_lock(lab.home / "aigon/locks/feature-42-cc.lock", "it"),
            hold_lock(lab.home / "aigon/locks/feature-42-cx.lock", "it"),
        ):
            assert isinstance(decide_within_budget(over, first, OPEN), Stopped)
            assert read_accounts(ledger)["cc"].reserved == 0.0
            assert decide_within_budget(job, first, OPEN) is None
            assert read_accounts(ledger)["cc"].reserved == 2.0  # half for each
            outcome = decide_within_budget(job, second, replace(OPEN, spend=Spend(2.5)))
            assert isinstance(outcome, Stopped) and outcome.guard == "cost"
            assert "$2.50 of $4.00 is spent by all agents of the arena together ($2.00 more" in outcome.reason
            assert read_accounts(ledger)["cx"].reserved == 0.0
        own = second.find(Ledger)
        assert own is not None
        outcome = decide_within_budget(job, second, replace(OPEN, spend=Spend(2.5)))
        assert outcome is None  # the other was killed: it spent nothing
        assert own.elsewhere == 0.0 and read_accounts(ledger)["cx"].reserved > 0
    assert [each.reserved for each in read_accounts(ledger).values()] == [0.0, 0.0]


def test_rivals_are_all_candidates_but_ones_own(lab: Lab) -> None:
    cc, cx = candidate(lab, "cc"), candidate(lab, "cx", 2)
    home = lab.home / "aigon"
    assert find_rivals(home, cc).branches == {cx.branch} and find_rivals(home, cc).feature == "42"
    assert find_rivals(home, None).branches == {cc.branch, cx.branch}
    assert records.find_candidates(home, "42") == (cc, cx)
    locate_records(home, "42", "gg").set_candidate(replace(cx, label="gg", branch="main"))  # no name that aigon gives
    assert "main" not in find_rivals(home, cc).branches
