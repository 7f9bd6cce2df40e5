"""Hooks around loops that are made by hand: when they run, what they are told, and what they can stop."""

import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter
from aigon.config.loading import parse_configuration
from aigon.config.models import Config, HookConfig, HookPoint
from aigon.config.sections import read_section
from aigon.errors import AigonError, environment
from aigon.git.person import Checkout
from aigon.hooks.execution import HookContext, explain_block, run_hook
from aigon.hooks.hook import HOOK_POINTS, HOOKS_FOLDER, Hook, describe_hook_problems, list_hooks
from aigon.hooks.hooked_loop import wrap_loop
from aigon.isolation.check_sandbox import choose_check_mechanism, make_check_sandbox
from aigon.job.job import ProofPlan
from aigon.journal.events import (
    CheckStarted,
    CommitIntended,
    Event,
    HookRan,
    IterationFinished,
    IterationStarted,
    Notice,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.state import State
from aigon.model.outcomes import Met, NeedsHuman, Outcome
from aigon.model.turns import Agent, ProgramExit, Turn, TurnEnd, TurnRequest
from aigon.process.run import Command, run
from aigon.process.stop import Stop
from aigon.proof.frozen import Guarded
from aigon.proof.protection import started
from tests.lab import Lab, alive, until

ENV = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
STARTED = RunStarted("", "r1", "42", "dark", "", "a", "solo", "b", "0", "0", "spec.md", "5", 1, 5)
BEGUN = State().apply(STARTED)
MET = RunFinished("", Met(), "met", 0, "", "c")
SAY = 'printf "%s %s\\n" "$AIGON_HOOK" "$AIGON_ITERATION" >> "$SAID"'


def turn(number: int, end: TurnEnd = "finished", cost: float | None = None) -> tuple[IterationStarted, TurnEnded]:
    begun = IterationStarted("", number, "a", "m", 0, 1, 10)
    return begun, TurnEnded("", Turn(number, "a", "m", end, cost=cost))


def look(number: int, checkpoint: str = "") -> list[Event]:
    ended = IterationFinished("", number, "", checkpoint, (), (), (), "", (0,), "")
    intended = CommitIntended("", number, checkpoint, "0", "b", ended)
    return [CheckStarted("", number, "tests", "Tests"), *([intended] if checkpoint else []), ended]


class Bench:
    """A folder with a run in it, hooks by point, and what they said."""

    def __init__(self, root: Path) -> None:
        self.root, self.said = root, root / "said"
        self.stop = Stop([root / "STOP"])
        self.guarded: dict[str, Guarded] = {}
        for number in (1, 2):
            (root / "run" / f"{number:03d}").mkdir(parents=True)
            (root / "run" / f"{number:03d}" / "prompt.md").write_text("Build it.\n")

    def stage(self, **more: Any) -> HookContext:
        about = {"feature": "42", "run": "r1", "workspace": str(self.root), "branch": "b"}
        env = {**ENV, "SAID": str(self.said)}
        return HookContext(self.root, self.root / "run", about, env, self.stop, kept=self.guarded, **more)

    def hook(self, point: str, script: str = SAY, **more: Any) -> Hook:
        return Hook(point, f"hooks.{point}", ("/bin/bash", "-c", script), **more)

    def passed(self, loop: Sequence[Event], *hooks: Hook, state: State = BEGUN, **more: Any) -> list[Event]:
        """The events that come out of a loop that tells these."""
        return played(wrap_loop(told(loop), hooks, self.stage(**more), state), state)

    @property
    def lines(self) -> list[str]:
        return self.said.read_text().splitlines() if self.said.exists() else []

    def file(self, path: str, text: str, mode: int = 0o755) -> Path:
        """A file that was there before any agent."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        self.guarded[path] = Guarded(text.encode(), mode)
        return file

    def hooks(self, config: Mapping[HookPoint, HookConfig] | None = None) -> tuple[Hook, ...]:
        return list_hooks(config or {}, self.root, self.guarded, ENV)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


def told(events: Sequence[Event]) -> Generator[Event, State, Outcome]:
    for event in events:
        state = yield event
        assert isinstance(state, State), "what comes back is a state"
    return Met()


def played(loop: Generator[Event, State, Outcome], state: State) -> list[Event]:
    found: list[Event] = []
    try:
        event = next(loop)
        while True:
            found.append(event)
            state = state.apply(event)
            event = loop.send(state)
    except StopIteration as end:
        assert end.value == Met()
        return found


def ends(events: Sequence[Event]) -> list[tuple[str, str, bool]]:
    return [(each.point, each.status, each.veto) for each in events if isinstance(each, HookRan)]


def test_without_hooks_the_loop_is_the_loop_itself(bench: Bench) -> None:
    loop = told([MET])
    assert wrap_loop(loop, (), bench.stage(), BEGUN) is loop
    notice, end = played(wrap_loop(told([MET]), (), bench.stage(), BEGUN, ["mend this"]), BEGUN)
    assert isinstance(notice, Notice) and (notice.text, notice.level, end) == ("mend this", "warning", MET)


def test_every_point_comes_in_its_order_and_no_hook_while_checks_run(bench: Bench) -> None:
    first, again = turn(1), turn(1, "usage_limit")
    loop = [*look(0), *again, *first, *look(1, "c1"), *turn(2), *look(2, "c2"), replace(MET, status="needs_human")]
    out = bench.passed(loop, *(bench.hook(point) for point in HOOK_POINTS))
    assert bench.lines == [
        "before_loop 0", "before_checks 0", "after_checks 0",
        "before_iteration 1", "before_agent 1", "context 1", "after_agent 1", "before_checks 1",
        "before_agent 1", "context 1", "after_agent 1", "before_checks 1", "after_checks 1", "after_iteration 1",
        "before_iteration 2", "before_agent 2", "context 2", "after_agent 2", "before_checks 2", "after_checks 2",
        "after_iteration 2", "needs_human 2", "after_loop 2",
    ]  # fmt: skip
    assert [event for event in out if not isinstance(event, HookRan)] == loop
    assert {status for _, status, _ in ends(out)} == {"ok"}
    assert out[-1] == loop[-1], "the end of the run is the last event"
    kinds = [event.event for event in out]
    for index in (i for i, kind in enumerate(kinds) if kind == "check_started"):
        assert kinds[index + 1] in ("hook_ran", "checkpoint_intended", "iteration_finished")
    turned = kinds.index("iteration_started")
    assert kinds[turned - 2 : turned] == ["hook_ran", "hook_ran"], "a turn is begun after its hooks, not before"


def test_a_hook_is_told_the_event_the_run_and_its_place(bench: Bench) -> None:
    keep = f"cat > {bench.root}/$AIGON_HOOK.json; pwd; echo $AIGON_FEATURE $AIGON_RUN"
    out = bench.passed([*turn(1), *look(1, "c1"), MET], *(bench.hook(point, keep) for point in HOOK_POINTS))
    read = {
        point: json.loads((bench.root / f"{point}.json").read_text()) for point in HOOK_POINTS if point != "needs_human"
    }
    assert {d["hook"] for d in read.values()} == set(read)
    assert {key: value for key, value in read["before_agent"].items() if key != "event"} == {
        "schema_version": 1, "hook": "before_agent", "feature": "42", "run": "r1", "workspace": str(bench.root),
        "branch": "b",
    }  # fmt: skip
    kinds = {point: document["event"]["event"] for point, document in read.items()}
    assert kinds == {
        "before_loop": "run_started", "before_iteration": "iteration_started", "before_agent": "iteration_started",
        "context": "iteration_started", "after_agent": "turn_ended", "before_checks": "turn_ended",
        "after_checks": "iteration_finished",
        "after_iteration": "iteration_finished", "after_loop": "run_finished",
    }  # fmt: skip
    assert (read["after_checks"]["event"]["checkpoint"], read["after_iteration"]["event"]["checkpoint"]) == ("", "c1")
    assert read["after_loop"]["event"]["outcome"] == "met", "as on a line of --json"
    assert {e.output for e in out if isinstance(e, HookRan)} == {f"{bench.root}\n42 r1"}
    assert len(list((bench.root / "run" / "hooks").glob("*.log"))) == len(ends(out))


@pytest.mark.parametrize("point", ["before_iteration", "before_agent"])
def test_a_turn_that_a_hook_does_not_let_begin_is_never_on_record(bench: Bench, point: str) -> None:
    loop = [*look(0), *turn(1, "killed"), MET]
    out = bench.passed(loop, bench.hook(point, "echo on call; exit 3", veto=True), bench.hook("after_agent"))
    assert ends(out) == [(point, "failed", True)]
    assert [event for event in out if not isinstance(event, HookRan)] == [*look(0), MET]
    assert (bench.stop.now, bench.stop.reason) == (True, "hook")
    assert bench.stop.detail == f"{point} (hooks.{point}) vetoed the run: on call"
    assert bench.lines == []


def test_what_a_withheld_turn_cost_all_the_same_is_on_record(bench: Bench) -> None:
    begun, ended = turn(1, "killed", cost=0.5)
    out = bench.passed([begun, ended, MET], bench.hook("before_agent", "exit 1", veto=True))
    assert ended in out and begun not in out


def test_a_veto_before_the_loop_and_before_checks_stops_the_run(bench: Bench) -> None:
    out = bench.passed([*look(0), MET], bench.hook("before_loop", "exit 1", veto=True), bench.hook("before_checks"))
    assert (ends(out), bench.lines) == ([("before_loop", "failed", True)], [])
    bench.stop = Stop()
    hooks = (bench.hook("before_checks", 'test "$AIGON_ITERATION" = 0', veto=True), bench.hook("after_loop"))
    out = bench.passed([*look(0), *turn(1), MET], *hooks)
    assert ends(out) == [("before_checks", "ok", False), ("before_checks", "failed", True), ("after_loop", "ok", False)]
    assert turn(1)[1] in out, "the turn was paid for, and is on record"


def test_a_failure_without_a_veto_stops_nothing_and_keeps_an_earlier_reason(bench: Bench) -> None:
    out = bench.passed([*turn(1), MET], bench.hook("before_agent", "exit 1"), bench.hook("after_agent", "exit 1"))
    assert ends(out) == [("before_agent", "failed", False), ("after_agent", "failed", False)]
    assert not bench.stop.now
    bench.stop.reason = "SIGINT"
    bench.passed([*turn(1, "killed"), MET], bench.hook("before_agent", "exit 1", veto=True))
    assert (bench.stop.now, bench.stop.reason) == (True, "SIGINT")


def test_a_hook_that_hangs_is_ended_after_its_time_with_what_it_started(bench: Bench) -> None:
    script = "trap '' INT TERM; sleep 30.417 & echo half; sleep 30.417"
    begun = time.monotonic()
    done = run_hook(bench.hook("after_agent", script, timeout=0.4), bench.stage(), b"{}", 1)
    assert time.monotonic() - begun < 20
    assert (done.status, done.output) == ("timed_out", "half")
    until(lambda: not alive("sleep 30.417"), 8)


def test_after_an_end_at_once_only_the_last_hooks_run_and_not_for_long(bench: Bench) -> None:
    hooks = [bench.hook(point) for point in HOOK_POINTS]
    (bench.root / "STOP").touch()
    bench.passed([*turn(1, "killed"), *look(1), replace(MET, outcome=NeedsHuman((), ""), status="needs_human")], *hooks)
    assert bench.lines == ["needs_human 1", "after_loop 1"]
    begun = time.monotonic()
    assert run_hook(bench.hook("after_loop", "sleep 30"), bench.stage(), b"", 1, at_most=0.3).status == "timed_out"
    assert time.monotonic() - begun < 20


def test_a_loop_that_cannot_go_on_ends_with_after_loop_and_its_error(bench: Bench) -> None:
    def broken() -> Generator[Event, State, Outcome]:
        yield CheckStarted("", 0, "tests", "Tests")
        raise environment("the branch moved", hint="move it back")

    loop = wrap_loop(broken(), [bench.hook("after_loop", f"cat > {bench.root}/end")], bench.stage(), BEGUN)
    next(loop)
    assert isinstance(loop.send(BEGUN), HookRan)
    with pytest.raises(AigonError, match="the branch moved"):
        loop.send(BEGUN)
    event = json.loads((bench.root / "end").read_text())["event"]
    assert (event["status"], event["exit_code"]) == ("refused", 7)


def test_closing_the_outer_loop_closes_the_inner_one(bench: Bench) -> None:
    closed: list[bool] = []

    def inner() -> Generator[Event, State, Outcome]:
        try:
            yield CheckStarted("", 0, "tests", "Tests")
        finally:
            closed.append(True)
        return Met()

    loop = wrap_loop(inner(), [bench.hook("after_loop")], bench.stage(), BEGUN)
    next(loop)
    loop.close()
    assert (closed, bench.lines) == ([True], [])


def test_output_is_redacted_and_cut_and_escape_sequences_are_gone(bench: Bench) -> None:
    stage = bench.stage(redact=lambda text: text.replace(b"hunter2", b"[redacted]"))
    done = run_hook(bench.hook("after_agent", r"seq 5000; printf '\033[31mhunter2\033[0m\n'; exit 4"), stage, b"", 1)
    assert (done.status, done.exit_code) == ("failed", 4)
    assert done.output.endswith("5000\n[redacted]") and len(done.output) <= 2000
    (log,) = (bench.root / "run" / "hooks").glob("*.log")
    assert b"hunter2" not in log.read_bytes() and log.read_bytes().startswith(b"1\n2\n")


def test_executables_come_first_then_those_of_the_folder_by_name_then_the_command(bench: Bench) -> None:
    for name in ("before_checks", "before_checks.d/20-b", "before_checks.d/10-a.sh", "before_checks.d/README.md"):
        bench.file(f"{HOOKS_FOLDER}/{name}", f"#!/bin/sh\necho {name} >> {bench.said}\n")
    bench.file(f"{HOOKS_FOLDER}/before_checks.d/10-a.sh~", "")
    own = parse_configuration(
        [("c", b'{"hooks": {"before_checks": {"command": "echo line >> $SAID", "timeout": "2s"}}}')]
    ).hooks
    hooks = bench.hooks(own)
    assert {hook.timeout for hook in hooks} == {2.0}
    bench.passed([*turn(1), MET], *hooks)
    here = ["before_checks", "before_checks.d/10-a.sh", "before_checks.d/20-b", "line"]
    assert bench.lines == [*here, *here], "before the look at the base, and after the turn"
    assert list(describe_hook_problems(own, hooks, bench.guarded)) == []


def test_what_cannot_run_is_said_before_the_first_turn_with_what_to_do(bench: Bench) -> None:
    bench.file(f"{HOOKS_FOLDER}/before_agent", "#!/bin/sh\n", 0o644)
    bench.file(f"{HOOKS_FOLDER}/before-check.sh", "#!/bin/sh\n")
    bench.file(f"{HOOKS_FOLDER}/common.sh", "")
    (bench.root / HOOKS_FOLDER / "after_agent").symlink_to("/bin/true")
    config: dict[HookPoint, HookConfig] = {
        "before_loop": HookConfig(command=["no-such-program"], veto=True),
        "after_loop": HookConfig(command=["true"], veto=True),
        "before_checks": HookConfig(veto=True),
        "after_checks": HookConfig(command=["scripts/gone.sh"]),
    }
    hooks = bench.hooks(config)
    said = "\n".join(describe_hook_problems(config, hooks, bench.guarded))
    for text in (
        "before_agent (.aigon/hooks/before_agent) cannot run: it is not executable: chmod +x .aigon/hooks/before_agent",
        "after_agent (.aigon/hooks/after_agent) cannot run: it is a link: put the file itself there",
        ".aigon/hooks/before-check.sh is no hook: is .aigon/hooks/before_checks meant?",
        "before_loop (hooks.before_loop) cannot run: there is no program no-such-program to start",
        "after_checks (hooks.after_checks) cannot run: there is no program scripts/gone.sh",
        "hooks.after_loop.veto has no effect",
        "hooks.before_checks has no program: give it a command, or put an executable at .aigon/hooks/before_checks",
    ):
        assert text in said
    assert "common.sh" not in said and len(said.splitlines()) == 7
    out = bench.passed([*turn(1, "killed"), MET], *hooks)
    assert ends(out) == [("before_loop", "not_started", True), ("after_loop", "ok", False)], "no veto is passed over"
    out = bench.passed([*turn(1), MET], *(hook for hook in hooks if hook.trouble and not hook.veto))
    assert ends(out) == [], "it was said before; that is enough"


def test_a_program_without_a_first_line_or_an_interpreter_is_said_not_to_run(bench: Bench) -> None:
    bench.file(f"{HOOKS_FOLDER}/after_agent", "#!/no/such/interpreter\n")
    (done,) = [e for e in bench.passed([*turn(1), MET], *bench.hooks()) if isinstance(e, HookRan)]
    assert done.status == "not_started" and "No such file" in done.output


def test_a_hook_that_was_changed_runs_as_it_was_with_the_files_beside_it(bench: Bench) -> None:
    bench.file(f"{HOOKS_FOLDER}/after_agent", '#!/bin/sh\n. "$(dirname "$0")/lib/common.sh"; common\n')
    bench.file(f"{HOOKS_FOLDER}/lib/common.sh", f"common() {{ echo kept >> {bench.said}; }}\n", 0o644)
    bench.file("tools/tell.sh", f"#!/bin/sh\necho told $1 >> {bench.said}\n")
    hooks = bench.hooks({"after_agent": HookConfig(command=["sh", "./tools/tell.sh", "all"])})
    changed: list[str] = []
    for path in (f"{HOOKS_FOLDER}/lib/common.sh", "tools/tell.sh"):
        (bench.root / path).write_text(f"echo planted >> {bench.said}\n")
        changed.append(path)
    out = bench.passed([*turn(1), MET], *hooks, touched=lambda: changed)
    assert bench.lines == ["kept", "told all"]
    said = [e.text for e in out if isinstance(e, Notice)]
    assert said == [f"hook after_agent runs as it was when the run began: {path} changed since" for path in changed]
    (bench.root / "tools/tell.sh").unlink()
    bench.passed([*turn(1), MET], *hooks, touched=lambda: changed)
    assert bench.lines == ["kept", "told all"] * 2
    assert not list((bench.root / "run").glob("hook-*")), "the copy is gone"


def test_a_hook_does_not_see_new_files_and_does_not_run_over_a_changed_one(bench: Bench) -> None:
    bench.file(f"{HOOKS_FOLDER}/after_agent", f'#!/bin/sh\nls "$(dirname "$0")" >> {bench.said}\n')
    bench.file("tools/tell.sh", "#!/bin/sh\n")
    hooks = bench.hooks({"after_agent": HookConfig(command="sh tools/tell.sh && true")})
    planted = f"{HOOKS_FOLDER}/json.py"
    (bench.root / planted).write_text("")
    out = bench.passed([*turn(1), MET], *hooks, touched=lambda: [planted, "tools/tell.sh"])
    assert bench.lines == ["after_agent"]
    assert ends(out) == [("after_agent", "ok", False), ("after_agent", "not_started", False)]
    assert any("tools/tell.sh changed since the run began" in e.output for e in out if isinstance(e, HookRan))


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (["tools/x.sh", "src/app.py"], ["tools/x.sh"]),
        (["python3", "-u", "src/app.py", "tools/x.sh"], ["src/app.py"]),
        (["ruff", "format", "src/app.py"], []),
        (["git", "add", "src/app.py"], []),
        (["x.sh"], []),
        (["../x.sh"], []),
        ([], []),
        ("tools/x.sh --now | tee log; bash src/app.py", ["tools/x.sh", "src/app.py"]),
        ("CI=1 . ./tools/x.sh", ["tools/x.sh"]),
        ("ruff check src/app.py && 'tools/x.sh'", ["tools/x.sh"]),
        ("echo 'never ends", []),
    ],
)
def test_the_files_that_a_command_starts(tmp_path: Path, command: list[str] | str, files: list[str]) -> None:
    for name in ("tools/x.sh", "src/app.py", "x.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(started(tmp_path, command)) == files


def test_what_was_stopped_before_it_began_is_not_started_at_all(tmp_path: Path) -> None:
    (tmp_path / "STOP").touch()
    stop = Stop([tmp_path / "STOP"])
    assert run(Command(["touch", "begun"], tmp_path, ENV), stop) == ProgramExit(None, killed=True)
    assert not (tmp_path / "begun").exists()
    agent, ask = Agent("a", "command", command=("a",)), TurnRequest(1, "42", "r1", "/w", "/w", "spec.md", "prompt.md")
    costs = [
        find_adapter("command").read_turn(agent, ask, ProgramExit(None, killed=True, ended=ended)).cost
        for ended in (0.0, 1.0)
    ]
    assert costs == [0.0, None], "one that ran may have cost something"


def test_a_hook_reaches_what_a_check_reaches_and_says_what_to_grant(lab: Lab) -> None:
    if choose_check_mechanism(lab.home / "private") != "namespaces":
        pytest.skip("no namespaces work here")
    harm = "echo bad >> $HOME/.profile; echo bad > .git/hooks/post-commit; cat $HOME/key"
    lab.write("deploy.sh", f"{harm}\n")
    (lab.home / "key").write_text("secret")
    allowed = {"before_loop": [str(lab.home / "key")]}
    with Checkout.open(lab.root) as checkout:
        config = read_section(Config, {"sandbox": {"allow": allowed}})
        box = make_check_sandbox(checkout, lab.root, config, ProofPlan(), lab.env, lab.home / "state", "one")
    bench = Bench(lab.root)
    stage = bench.stage(box=box)
    stage = replace(stage, env={**stage.env, "HOME": str(lab.home)})
    hooks = [bench.hook(point, "sh deploy.sh", line=True) for point in ("before_loop", "after_loop")]
    ran = {hook.point: run_hook(hook, stage, b"{}", 1) for hook in hooks}
    assert ran["before_loop"].output.endswith("secret") and ran["after_loop"].exit_code, ran
    assert not (lab.home / ".profile").exists() and not lab.path(".git/hooks/post-commit").exists()
    assert '"sandbox": {"allow": {"after_loop": [' in explain_block(hooks[1], stage, ran["after_loop"])
    assert not explain_block(hooks[0], stage, replace(ran["before_loop"], status="ok"))
