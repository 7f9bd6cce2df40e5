"""The loops of an arena as processes: stand-ins that send recorded events, on real pipes, ended by real signals."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.arena import entrant
from aigon.arena.arena import run_arena
from aigon.arena.entrant import list_entrants
from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd
from aigon.files.home import ensure_home, find_home
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.journal import records
from aigon.journal.events import Event
from aigon.journal.records import Origin
from tests.lab import Lab, alive, until
from tests.loop.arena_stand_in import ROOT, candidate, command_line


@dataclass
class Watcher:
    """Remembers what it was told, as `label word`."""

    told: list[str] = field(default_factory=list)
    plan: ArenaPlan | None = None
    closed: bool = False

    def began(self, plan: ArenaPlan, lanes: Sequence[Lane]) -> None:
        self.plan = plan
        self.lanes = lanes

    def started(self, label: str) -> None:
        self.told.append(f"{label} started")

    def __call__(self, label: str, document: Mapping[str, Any], event: Event | None) -> None:
        assert event is not None and event.event == document["event"]
        self.told.append(f"{label} {event.event}")

    def said(self, text: str) -> None:
        self.told.append(f"- {text}")

    def ended(self, ended: LaneEnd) -> None:
        self.told.append(f"{ended.label} ended")

    def finished(self, ended: ArenaEnd) -> None:
        self.told.append(f"finished {ended.exit_code}")

    def close(self) -> None:
        self.closed = True


class Ring:
    """An arena of stand-ins in a laboratory."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder, self.watcher = lab, folder, Watcher()

    def run(self, options: Options | None = None, **behaviours: str) -> dict[str, LaneEnd]:
        """Let them run; how each ended."""
        return {one.label: one for one in self.whole(options, **behaviours).candidates}  # type: ignore[arg-type]

    def whole(
        self,
        options: Options | None = None,
        *,
        parallel: int | None = 9,
        first_proven: bool = False,
        resume: Sequence[str] = (),
        **behaviours: str,
    ) -> ArenaEnd:
        """Let them run; how that ended."""
        with Checkout.open(self.lab.root) as checkout:
            return run_arena(
                checkout,
                replace(options or Options("42", loop=True), parallel=parallel, first_proven=first_proven),
                list_entrants(find_home(checkout.common_dir), [candidate(label) for label in behaviours], resume),
                observer=self.watcher,
                folder=self.folder,
                command_line=command_line(behaviours, self.folder),
            )

    def order(self) -> list[str]:
        """Who began and ended when."""
        return (self.folder / "order").read_text().splitlines()

    def begun(self, *labels: str) -> bool:
        """Whether all of these are in their first turn."""
        return all((self.folder / f"{label}.begun").exists() for label in labels)

    def asked(self) -> bool:
        """Whether the arena has answered the first Ctrl+C."""
        return "- each finishes" in " ".join(self.watcher.told)

    def go(self) -> None:
        """Let those that wait go on."""
        (self.folder / "go").touch()


@pytest.fixture
def ring(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ring]:
    """An arena; signals are handled as before when it is over."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(lab.home))
    monkeypatch.setenv("AIGON_STATE_HOME", str(lab.home / "state"))
    folder = tmp_path / "arena"
    folder.mkdir()
    before = signal.getsignal(signal.SIGINT)
    yield Ring(lab, folder)
    signal.signal(signal.SIGINT, before)


def beside(*steps: Any) -> threading.Thread:
    """Do these one after the other while an arena runs: each waits until its condition holds, then does its deed."""

    def act() -> None:
        for condition, deed in steps:
            until(condition)
            deed()

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def kill(number: signal.Signals) -> Any:
    """A deed: this signal, to the arena."""
    return lambda: os.kill(os.getpid(), number)


def test_loops_run_side_by_side_and_every_end_is_told(ring: Ring) -> None:
    beside((lambda: ring.begun("cc", "cx") and "gg ended" in ring.watcher.told, ring.go))
    ended = ring.run(cc="waits", cx="waits", gg="met")
    assert [(one.status, one.exit_code, one.criteria_met, one.criteria_total) for one in ended.values()] == [
        ("stopped", 3, 1, 2), ("stopped", 3, 1, 2), ("met", 0, 2, 2),
    ]  # fmt: skip
    met = ended["gg"]
    assert (met.spend.usd, met.iterations, met.commit, met.branch) == (0.25, 1, "c1", "feature-42-gg-dark-mode")
    assert ended["cc"].summary == "Stopped by the guard iterations: enough" and ended["cc"].resumable
    assert ring.watcher.told.index("gg ended") < ring.watcher.told.index("cc ended")
    assert ring.watcher.told[-1] == "finished 0" and ring.watcher.closed


def test_who_is_done_gives_the_place_to_the_next(ring: Ring) -> None:
    whole = ring.whole(parallel=1, cc="stops", cx="stops", gg="stops")
    assert ring.order() == ["begin cc", "end cc", "begin cx", "end cx", "begin gg", "end gg"]
    assert ring.watcher.plan and ring.watcher.plan.said == "3 agents, 1 at a time: --parallel 1"
    assert whole.exit_code == 3 and whole.outcome == "stopped"


def test_one_that_is_killed_takes_nobody_along_and_says_how_it_goes_on(ring: Ring) -> None:
    whole = ring.whole(cc="dies", cx="met")
    died, met = whole.candidates
    assert (died.status, died.exit_code, died.resumable) == ("broken_off", 1, True)
    assert died.summary == "broken off by SIGKILL: out of memory"
    assert (met.status, whole.exit_code) == ("met", 0)
    assert ring.lab.read(".aigon/runs/arena-42/cc.err") == "out of memory\n"


def test_one_that_does_not_begin_is_refused_with_its_own_words(ring: Ring) -> None:
    whole = ring.whole(cc="usage", cx="stops")
    assert whole.candidates[0].summary == "refused, exit code 2: aigon: There is no such option."
    assert (whole.candidates[0].status, whole.candidates[0].resumable, whole.exit_code) == ("refused", False, 2)


def test_what_is_no_event_is_passed_over_and_files_stay_small(ring: Ring) -> None:
    assert ring.run(cc="babbles")["cc"].exit_code == 3
    assert ring.lab.path(".aigon/runs/arena-42/cc.err").stat().st_size < 1_100_000


def test_an_observer_that_fails_stops_nobody(ring: Ring) -> None:
    ring.watcher.started = lambda _label: 1 / 0  # type: ignore[method-assign, assignment]
    assert ring.run(cc="met")["cc"].status == "met"


def test_the_first_ctrl_c_lets_each_finish_its_iteration_and_starts_nobody(ring: Ring) -> None:
    beside((lambda: ring.begun("cc", "cx"), kill(signal.SIGINT)), (ring.asked, ring.go))
    whole = ring.whole(parallel=2, cc="waits", cx="waits", gg="met")
    assert [one.status for one in whole.candidates] == ["interrupted", "interrupted", "not_started"]
    assert whole.candidates[0].criteria_met == 1 and whole.exit_code == 130
    assert whole.candidates[2].summary == "not started: stopped by SIGINT"
    assert "end SIGINT cc" in ring.order() and "begin gg" not in ring.order()


def test_a_second_ctrl_c_ends_all_at_once(ring: Ring) -> None:
    beside((lambda: ring.begun("cc", "cx"), kill(signal.SIGINT)), (ring.asked, kill(signal.SIGINT)))
    whole = ring.whole(cc="waits", cx="waits")
    assert [one.status for one in whole.candidates] == ["interrupted", "interrupted"] and whole.exit_code == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_are_passed_on(ring: Ring, number: signal.Signals) -> None:
    beside((lambda: ring.begun("cc", "cx"), kill(number)))
    whole = ring.whole(cc="waits", cx="waits")
    assert whole.exit_code == 143 and f"end {number.name} cc" in ring.order()


def test_one_that_does_not_want_to_end_is_killed(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrant, "END_SECONDS", 0.2)
    beside((lambda: ring.begun("cc"), kill(signal.SIGTERM)))
    ended = ring.run(cc="stubborn")["cc"]
    assert (ended.status, ended.summary) == ("broken_off", "broken off by SIGKILL")


def test_a_stop_file_starts_nobody_and_those_that_run_see_it_themselves(ring: Ring) -> None:
    def stop() -> None:
        ring.lab.write(".aigon/STOP", "")
        until(lambda: "gg ended" in ring.watcher.told)
        ring.go()

    beside((lambda: ring.begun("cc"), stop))
    ended = ring.whole(parallel=1, cc="waits", gg="met").candidates
    assert ended[1].summary == "not started: a stop file exists" and ended[1].exit_code == 3
    assert ring.order() == ["begin cc", "end cc"]


def test_the_first_that_is_proven_ends_the_rest(ring: Ring) -> None:
    whole = ring.whole(parallel=2, first_proven=True, cc="waits", cx="met", gg="waits")
    assert [one.status for one in whole.candidates] == ["interrupted", "met", "not_started"]
    assert whole.candidates[0].summary == "ended: cx was proven first"
    assert whole.candidates[2].summary == "not started: cx was proven first"
    assert whole.exit_code == 0


def test_the_base_is_looked_at_by_one_before_the_others_start(ring: Ring) -> None:
    share_a_base(ring, "cc", "cx", "gg")
    beside((lambda: "cc run_started" in ring.watcher.told, ring.go))
    ring.run(cc="surveys", cx="stops", gg="stops")
    told = ring.watcher.told
    assert told.index("cc iteration_finished") < min(told.index("cx started"), told.index("gg started"))


def test_nobody_waits_for_one_that_ended_without_a_look_or_where_a_run_is_resumed(ring: Ring) -> None:
    share_a_base(ring, "cc", "cx", "gg")
    beside((lambda: "gg ended" in ring.watcher.told, ring.go))
    ended = ring.whole(resume=["gg"], cc="surveys", cx="stops", gg="stops").candidates
    assert [one.exit_code for one in ended] == [3, 3, 3]
    assert ring.watcher.told.index("gg started") < ring.watcher.told.index("cc iteration_finished")
    again = Ring(ring.lab, ring.folder)
    assert [one.status for one in again.whole(cc="dies", cx="stops").candidates] == ["broken_off", "stopped"]


def share_a_base(ring: Ring, *labels: str) -> None:
    """Write down that all of them begin at one commit."""
    with Checkout.open(ring.lab.root) as checkout:
        home = ensure_home(checkout.common_dir)
    for label in labels:
        records.candidate_records(home, candidate(label)).set_origin(Origin("main", "b" * 40))


def test_the_time_is_one_for_all_and_who_would_get_none_is_not_started(ring: Ring) -> None:
    ring.whole(Options("42", loop=True, max_time=1.5), cc="stops")
    assert 0 < float((ring.folder / "cc.left").read_text()) <= 1.5
    short = Ring(ring.lab, ring.folder).whole(Options("42", loop=True, max_time=0.5), cc="stops")
    assert short.candidates[0].summary == "not started: the time of all is over" and short.exit_code == 5


def test_loops_end_by_themselves_when_the_arena_is_killed(ring: Ring) -> None:
    env = {**ring.lab.env, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "tests.loop.arena_stand_in", "arena", str(ring.folder), "cc=waits", "cx=waits"]
    parent = subprocess.Popen(argv, cwd=ring.lab.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: ring.begun("cc", "cx") or parent.poll() is not None)
    assert parent.poll() is None, parent.communicate()
    parent.kill()
    parent.communicate()
    until(lambda: not alive(str(ring.folder)))
    assert sorted(ring.order()) == ["begin cc", "begin cx", "end SIGTERM cc", "end SIGTERM cx"]


def test_every_option_is_passed_on_or_has_a_way_of_its_own() -> None:
    samples = {tuple: ("a", "b"), bool: True, int: 3, float: 4.5, str: "text"}
    for name, hint in Options.__annotations__.items():
        if name in entrant.OWN:
            continue
        text = str(hint)
        kind = str if "Literal" in text else next(kind for kind in samples if kind.__name__ in text)
        value = samples[kind]
        words = entrant.forward_options(Options(**{"feature": "42", name: value}))  # type: ignore[arg-type]
        assert accepted(words)[name] == value, name
    assert entrant.forward_options(Options("42", loop=True)) == []


def accepted(words: Sequence[str]) -> dict[str, Any]:
    """What feature-implement takes from a command line, with any text for a choice."""
    import click

    from aigon.commands.implement import implement_feature

    params: list[click.Parameter] = []
    for each in implement_feature.params:
        plain = isinstance(each, click.Option) and isinstance(each.type, click.Choice)
        params.append(click.Option(each.opts, type=str) if plain else each)
    context = click.Command("feature-implement", params=params).make_context("", [*words, "--", "42"])
    return dict(context.params)


def test_the_command_line_of_a_loop_names_the_agent_and_what_holds_for_all() -> None:
    options = Options("42", loop=True, agents=("a", "b"), max_time=60.0, accept_spec=True, promises=("A", "B"))
    argv = entrant.build_command_line(candidate("cc"), options, resume=True)
    assert argv[:5] == [sys.executable, "-P", "-m", "aigon", "feature-implement"]
    assert argv[5:] == [
        "--resume", "--agent", "agent-cc", "--worktree", "--json", "--max-time", "60",
        "--promise", "A", "--promise", "B", "--accept-spec", "--yes", "--", "42",
    ]  # fmt: skip
    assert "--loop" in entrant.build_command_line(candidate("cc"), options, resume=False)
