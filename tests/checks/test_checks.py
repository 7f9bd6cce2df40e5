"""Checks run side by side, longest first; nothing overlaps what is exclusive; nothing skipped counts as a pass."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.job.assessment import find_proof
from aigon.job.world import CheckEnvironment
from aigon.model.checks import Check
from tests.compare.bench import job_of, looked, plan, ran, results_of, script, spec_of, world_of
from tests.lab import Lab

SPAN = "date +%s%N >> {0}; sleep 0.3; date +%s%N >> {0}"


def span(folder: Path, name: str, **more: object) -> Check:
    """A check that writes down when it began and when it ended."""
    return script(name, SPAN.format(folder / name), **more)


def times(folder: Path, name: str) -> tuple[int, int]:
    begun, ended = (int(line) for line in (folder / name).read_text().split())
    return begun, ended


def overlap(folder: Path, one: str, other: str) -> bool:
    (a, b), (c, d) = times(folder, one), times(folder, other)
    return a < d and c < b


def test_two_checks_run_at_the_same_time_where_there_are_slots(lab: Lab, tmp_path: Path) -> None:
    with world_of(lab) as world:
        assert {f.status for f in ran(world, [span(tmp_path, "a"), span(tmp_path, "b")]).values()} == {"pass"}
    assert overlap(tmp_path, "a", "b")


def test_with_one_slot_they_run_one_after_the_other(lab: Lab, tmp_path: Path) -> None:
    with world_of(lab) as world:
        ran(world, [span(tmp_path, "a"), span(tmp_path, "b")], plan(world, slots=1))
    assert not overlap(tmp_path, "a", "b")


def test_an_exclusive_check_overlaps_nothing(lab: Lab, tmp_path: Path) -> None:
    checks = [span(tmp_path, "x", exclusive=True), span(tmp_path, "a"), span(tmp_path, "y", exclusive=True)]
    with world_of(lab) as world:
        assert list(ran(world, checks, plan(world, slots=4))) == ["x", "a", "y"]
    pairs = [("x", "a"), ("x", "y"), ("a", "y")]
    assert not any(overlap(tmp_path, *pair) for pair in pairs)


def test_the_longest_of_the_last_time_starts_first(lab: Lab) -> None:
    checks = [script("short", "true"), script("long", "true"), script("new", "true", timeout=5.0)]
    with world_of(lab) as world:
        _, started = results_of(world, checks, plan(world, slots=1, durations={"short": 0.1, "long": 9.0}))
    assert started == ["long", "new", "short"]


def test_builds_run_before_what_may_use_their_products(lab: Lab) -> None:
    into_scratch = Check("wheel", "build", ("bash", "-c", "touch {scratch}/wheel"))
    build = Check("build", "build", ("bash", "-c", "true"))
    commands = [script("criterion-1", "sleep 0", source=CRITERION), script("criterion-2", "true", source=CRITERION)]
    checks = [*commands, build, script("tests", "true"), script("x", "true", exclusive=True), into_scratch]
    durations = {"criterion-2": 9.0, "criterion-1": 8.0, "wheel": 5.0, "tests": 4.0}
    with world_of(lab) as world:
        _, started = results_of(world, checks, plan(world, slots=1, durations=durations))
        assert started == ["build", "criterion-2", "criterion-1", "wheel", "tests", "x"]
        _, started = results_of(world, [*commands, into_scratch], plan(world, 1, durations, use_cache=False))
        assert started == ["criterion-2", "criterion-1", "wheel"]


def test_where_checks_share_a_tree_commands_of_criteria_run_last(lab: Lab) -> None:
    checks = [script("criterion-1", "true", source=CRITERION), script("tests", "true"), script("y", "true")]
    with world_of(lab) as world:
        shared = CheckEnvironment(lab.root, lab.env)
        for place, last in ((shared, "criterion-1"), (replace(shared, changes=lab.home), "y")):
            _, started = results_of(replace(world, place=place), checks, plan(world, slots=1, durations={"y": 0.1}))
            assert started[-1] == last


def test_a_build_runs_again_for_checks_that_may_use_what_it_makes(lab: Lab, tmp_path: Path) -> None:
    build, tests = Check("build", "build", ("bash", "-c", f"echo x >> {tmp_path}/builds")), script("tests", "true")
    command = script("criterion-1", "true", source=CRITERION, remember=False)
    with world_of(lab) as world:
        for checks, times in (
            ([build], 1),
            ([build], 1),
            ([build, tests], 2),
            ([build, tests], 2),
            ([build, command], 3),
        ):
            assert ran(world, checks, plan(world))["build"].status == "pass"
            assert len((tmp_path / "builds").read_text().splitlines()) == times


def test_findings_come_back_in_the_order_of_the_checks(lab: Lab) -> None:
    checks = [script("slow", "sleep 0.2"), script("quick", "true")]
    with world_of(lab) as world:
        results, _ = results_of(world, checks, plan(world, durations={"slow": 0.1, "quick": 9.0}))
    assert [result.finding.check for result in results] == ["slow", "quick"]


def test_the_first_failure_skips_the_rest_where_that_is_wanted(lab: Lab, tmp_path: Path) -> None:
    checks = [script("bad", "exit 1"), script("rest", f"touch {tmp_path}/ran"), script("alone", "true", exclusive=True)]
    durations = {"bad": 9.0, "rest": 1.0}
    with world_of(lab) as world:
        found = ran(world, checks, plan(world, slots=1, durations=durations, stop_first=True))
        assert {name: f.status for name, f in found.items()} == {"bad": "fail", "rest": "skipped", "alone": "skipped"}
        assert "another check failed first" in found["rest"].summary
        assert not (tmp_path / "ran").exists()
        assert ran(world, checks, plan(world, slots=1, durations=durations))["rest"].status == "pass"


def test_a_known_failure_skips_nothing(lab: Lab) -> None:
    checks = [script("bad", "exit 1"), script("rest", "true")]
    with world_of(lab) as world:
        found = ran(world, checks, plan(world, slots=1, durations={"bad": 9.0}, stop_first=True, known=("bad",)))
    assert [found["bad"].status, found["rest"].status] == ["fail", "pass"]


def test_two_checks_of_one_name_are_both_run_and_nothing_waits_for_ever(lab: Lab) -> None:
    with world_of(lab) as world:
        _, started = results_of(world, [script("same", "true"), script("same", "exit 1")])
    assert started == ["same", "same"]


def test_two_checks_of_one_command_are_told_apart_in_the_memory_of_passes(lab: Lab) -> None:
    checks = [script("one", "true"), Check("two", "lint", ("bash", "-c", "true"))]
    with world_of(lab) as world:
        for _ in range(2):
            found = ran(world, checks, plan(world, slots=1))
            assert [(f.check, f.role) for f in found.values()] == [("one", "script"), ("two", "lint")]


def test_a_stopped_run_starts_no_further_check(lab: Lab, tmp_path: Path) -> None:
    with world_of(lab) as world:
        world.stop.now = True
        found = ran(world, [script("late", f"touch {tmp_path}/ran")])
    assert (found["late"].status, (tmp_path / "ran").exists()) == ("skipped", False)


# What is remembered


class Counted:
    """A check that counts its runs in a file outside the workspace."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "runs"

    def check(self, then: str = "true", **more: object) -> Check:
        return script("counted", f"echo . >> {self.file}; {then}", **more)

    @property
    def runs(self) -> int:
        return len(self.file.read_text().split()) if self.file.exists() else 0


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def test_an_unchanged_tree_costs_no_second_run(lab: Lab, counted: Counted) -> None:
    with world_of(lab) as world:
        first = ran(world, [counted.check()])["counted"]
        second = ran(world, [counted.check()])["counted"]
    assert counted.runs == 1
    assert (first.cached, second.cached, second.status, second.duration) == (False, True, "pass", first.duration)


def test_another_process_remembers_too(lab: Lab, counted: Counted) -> None:
    for _ in range(2):
        with world_of(lab, {"AIGON_RUN": "other", "AIGON_SLOT": "3"}) as world:
            ran(world, [counted.check()])
    assert counted.runs == 1


def test_a_changed_a_new_and_a_removed_file_run_it_again(lab: Lab, counted: Counted) -> None:
    with world_of(lab) as world:
        ran(world, [counted.check()])
        lab.write("README.md", "changed\n")
        ran(world, [counted.check()])
        lab.write("new.txt", "")
        ran(world, [counted.check()])
        lab.path("README.md").unlink()
        ran(world, [counted.check()])
    assert counted.runs == 4


def test_a_file_that_is_put_back_needs_no_third_run(lab: Lab, counted: Counted) -> None:
    before = lab.read("README.md")
    with world_of(lab) as world:
        for text in (before, "changed\n", before, "changed\n"):
            lab.write("README.md", text)
            ran(world, [counted.check()])
    assert counted.runs == 2


def test_another_command_environment_or_folder_runs_it_again(lab: Lab, counted: Counted) -> None:
    lab.write("sub/x", "")
    with world_of(lab) as world:
        for check in (
            counted.check(),
            counted.check("true; true"),
            counted.check(env={"MODE": "b"}),
            counted.check(cwd="sub"),
        ):
            ran(world, [check])
    with world_of(lab, {"DATABASE": "other"}) as world:
        ran(world, [counted.check()])
    assert counted.runs == 5


@pytest.mark.parametrize("name", ["STYLE", "_BUILD", "TERMINAL_WIDTH", "LINES_MAX", "PWDS", "DISPLAY_MODE", "TMUXED"])
def test_a_variable_that_only_begins_like_one_of_the_terminal_counts(lab: Lab, counted: Counted, name: str) -> None:
    for value in ("a", "b", "a"):
        with world_of(lab, {name: value, "TERM": value, "_": value, "SSH_TTY": value}) as world:
            ran(world, [counted.check()])
    assert counted.runs == 2


def test_a_failure_is_never_remembered(lab: Lab, counted: Counted) -> None:
    with world_of(lab) as world:
        for _ in range(2):
            assert ran(world, [counted.check("exit 1")])["counted"].cached is False
    assert counted.runs == 2


def test_an_error_is_never_remembered(lab: Lab, counted: Counted) -> None:
    with world_of(lab) as world:
        for _ in range(2):
            assert ran(world, [counted.check("no-such-command")])["counted"].status == "error"
    assert counted.runs == 2


def test_a_script_outside_the_tree_is_part_of_the_command(lab: Lab, tmp_path: Path, counted: Counted) -> None:
    outside = tmp_path / "outside.sh"
    check = Check("counted", "script", ("bash", str(outside)))
    with world_of(lab) as world:
        for text in ("true", "true", "exit 1"):
            outside.write_text(f"echo . >> {counted.file}; {text}\n")
            status = ran(world, [check])["counted"].status
    assert (counted.runs, status) == (2, "fail")


def test_a_rerun_trusts_nothing_that_is_remembered(lab: Lab, counted: Counted) -> None:
    with world_of(lab) as world:
        for _ in range(2):
            ran(world, [counted.check()], plan(world, use_cache=False))
    assert counted.runs == 2


def test_a_world_that_keeps_nothing_writes_nothing(lab: Lab, counted: Counted) -> None:
    with world_of(lab, keeps=False) as world:
        ran(world, [counted.check()])
        assert not (world.home / "cache").exists()


def test_paths_scope_what_a_check_depends_on(lab: Lab, counted: Counted) -> None:
    lab.write("web/app.js", "1")
    lab.write("webs/app.js", "1")
    lab.commit("web")
    check = counted.check(paths=("web",))
    with world_of(lab) as world:
        base = lab.git("rev-parse", "HEAD")
        job = job_of(spec_of("x <!-- human -->"), check, base=base)
        for name, runs in (("README.md", 1), ("webs/app.js", 1), ("web/app.js", 2), ("web/new.js", 3)):
            lab.write(name, f"for {name}\n")
            looked(world, job)
            assert counted.runs == runs, name


def test_what_aigon_writes_itself_does_not_matter(lab: Lab, counted: Counted) -> None:
    spec, job_log = "spec.md", "log.md"
    lab.write(spec, "- [ ] x\n")
    lab.commit("spec")
    with world_of(lab) as world:
        base = lab.git("rev-parse", "HEAD")
        job = job_of(spec_of("x <!-- human -->"), counted.check(), base=base)
        for number in range(3):
            lab.write(spec, f"- [{'x' * (number % 2) or ' '}] x\n")
            lab.write(job_log, f"iteration {number}\n")
            looked(world, job)
    assert counted.runs == 1


# The last ones, and what they leave


def test_a_final_check_runs_only_when_all_else_is_green(lab: Lab, tmp_path: Path) -> None:
    suite = script("suite", f"touch {tmp_path}/ran", when="final")
    spec = spec_of("it is there <!-- verify: test -f done.txt -->")
    with world_of(lab) as world:
        for checks, done in (([script("bad", "exit 1")], True), ([script("good", "true")], False)):
            lab.write("done.txt", "") if done else lab.path("done.txt").unlink()
            look = looked(world, job_of(spec, *checks, suite))
            assert {f.check: f.status for f in look.findings}["suite"] == "skipped"
        assert not (tmp_path / "ran").exists()
        lab.write("done.txt", "")
        look = looked(world, job_of(spec, script("good", "true"), suite))
    assert [f.status for f in look.findings if f.check in ("good", "suite")] == ["pass", "pass"]
    assert (tmp_path / "ran").exists()


def test_a_known_failure_does_not_keep_the_final_checks_from_running(lab: Lab) -> None:
    checks = (script("bad", "exit 1"), script("suite", "true", when="final"))
    with world_of(lab) as world:
        look = looked(world, job_of(spec_of("x <!-- verify: true -->"), *checks, known=("bad",)))
    assert {f.check: f.status for f in look.findings if f.check != "git"} == {"bad": "fail", "suite": "pass"}


def test_what_a_check_writes_is_named_and_not_in_the_snapshot(lab: Lab) -> None:
    lab.write(".gitignore", "*.tmp\n")
    lab.commit("ignore")
    check = script("writer", "echo 1 > report.xml; echo 2 > x.tmp; mkdir cache; echo 3 > cache/x")
    with world_of(lab) as world:
        look = looked(world, job_of(spec_of("x <!-- verify: true -->"), check))
        tree = lab.git("ls-tree", "-r", "--name-only", world.workspace.tree()).split()
    git = look.findings[-1]
    assert (git.role, git.status) == ("git", "pass")
    assert git.summary == "2 files written by the checks are not committed (cache/, report.xml)"
    assert "report.xml" not in tree


@pytest.mark.parametrize("repair", ["echo fixed > code.txt", "rm code.txt", "echo more >> new.txt"])
def test_a_check_that_changes_what_is_committed_proves_nothing(lab: Lab, repair: str) -> None:
    lab.write("code.txt", "broken\n")
    lab.commit("code")
    lab.write("new.txt", "of the agent\n")
    job = job_of(spec_of("x <!-- verify: true -->"), script("fixer", repair), base=lab.git("rev-parse", "HEAD"))
    with world_of(lab) as world:
        look = looked(world, job)
        assert {f.check: f.status for f in look.findings} == {"fixer": "pass", "git": "fail"}
        git = look.findings[-1]
        name = git.problems[0].file
        assert name in repair and name in git.summary and "write elsewhere" in git.summary
        assert find_proof(job.demand, look.findings, look.verdicts) is None
        lab.write("code.txt", "broken\n")
        lab.write("new.txt", "of the agent\n")
        again = looked(world, job)
    assert again.findings[-1].status == "fail", "the pass was remembered for the files before the repair"


def test_a_check_that_writes_the_same_again_changes_nothing(lab: Lab) -> None:
    with world_of(lab) as world:
        look = looked(
            world,
            job_of(
                spec_of("x <!-- verify: true -->"),
                script("same", "sleep 0.01; cp README.md a; cat a > README.md; rm a"),
            ),
        )
    assert look.findings[-1].summary == "clean"


def test_what_a_final_check_writes_is_named_too(lab: Lab) -> None:
    checks = (script("quick", "true"), script("suite", "echo 1 > report.xml", when="final"))
    spec = spec_of("x <!-- human -->")
    with world_of(lab) as world:
        ran(world, checks[:1])
        look = looked(world, job_of(spec, *checks))
    assert "report.xml" in look.findings[-1].summary


def test_one_deadline_does_not_hold_up_the_others(lab: Lab) -> None:
    checks = [script("stuck", "sleep 60", timeout=0.5), script("quick", "true")]
    begun = time.monotonic()
    with world_of(lab) as world:
        found = ran(world, checks)
    assert [found["stuck"].status, found["quick"].status] == ["error", "pass"]
    assert time.monotonic() - begun < 30
