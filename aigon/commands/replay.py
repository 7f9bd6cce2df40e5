"""Verbs that show a run: `aigon logs` what it does or did, `aigon replay` one that is over, once more."""

import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from msgspec import to_builtins

from aigon.commands.common import answer, here
from aigon.commands.completers import complete_agents, complete_features
from aigon.commands.root import Command, option
from aigon.errors import Exit, usage

if TYPE_CHECKING:
    from aigon.api.project import Project
    from aigon.api.runs import RunInfo
    from aigon.api.watch import PastState, RecordClock
    from aigon.git.person import Checkout
    from aigon.journal.events import Event
    from aigon.model.turns import Step

    Item = Event | Step | bytes


@click.command("logs")
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@option(
    "--follow",
    "-f",
    is_flag=True,
    help="Follow the run until it ends, from its last resume on; Ctrl+C ends only this command.",
)
@option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose one of several agents.")
@option("--raw", is_flag=True, help="Print only the raw output of the agent's program.")
@option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON object per line.")
def print_log(feature: str, follow: bool, agent: str | None, raw: bool, as_json: bool) -> int:
    """Print the log of the last run of feature ID, while it runs or afterwards.

    There is a line for each event, and for each thing that the agent says, reads, edits, runs and searches, as far as
    its program reports it. It works from any terminal, in a worktree and in an arena. Known secrets are removed. What
    an agent says is never evidence.

    Exit codes: 0, 2 there is no such feature or run.
    """
    from aigon.api import open_project
    from aigon.files.system_errors import write_line
    from aigon.journal.events import RunStarted
    from aigon.views.terminal.lines import LogText

    if raw and as_json:
        raise usage("--raw and --json exclude each other", where="--raw", hint="Name one")
    render = render_json if as_json else _render_raw if raw else LogText().render
    with here() as checkout:
        project = open_project(checkout.root)
        run = project.choose_run(feature, agent)
        earlier = run.invocations - 1 if follow else 0
        try:
            for item in project.watch(run, raw=raw, is_cancelled=lambda: not follow):
                text = render(item)  # what is not printed counts the iterations
                earlier -= isinstance(item, RunStarted) and item.resumed
                if text is not None and earlier <= 0 and not write_line(sys.stdout, text):
                    return 0
        except KeyboardInterrupt:
            return Exit.INTERRUPTED
    return 0


def _render_raw(item: "Item") -> str | None:
    """Return a line of a program's output; on a terminal without what would steer it."""
    from aigon.text.quoting import strip_escapes

    if not isinstance(item, bytes):
        return None
    text = item.decode("utf-8", "replace")
    return strip_escapes(text) if sys.stdout.isatty() else text


def render_json(item: "Item") -> str:
    """Return an event or a step as a line of JSON."""
    from aigon.journal.replay import encode
    from aigon.model.turns import Step

    assert not isinstance(item, bytes)
    document = {"event": "activity", **to_builtins(item)} if isinstance(item, Step) else encode(item)
    return json.dumps({"schema_version": 1, **document}, ensure_ascii=False)


class Speed(click.ParamType[float]):
    """A factor on the speed of the record; 0 for `max`."""

    name = "speed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the factor."""
        factor = 0.0
        with suppress(ValueError):
            factor = float(str(value))
        if value != "max" and not 0 < factor < float("inf"):
            self.fail(f"{value!r} is neither max nor a number above zero", param, ctx)
        return factor


@click.command("replay", cls=Command)
@click.argument("feature", metavar="ID", shell_complete=complete_features)
@option("--run", "run_id", metavar="RUN", help="Choose a run by its name in .aigon/runs/.  [default: the last one]")
@option("--agent", metavar="NAME", shell_complete=complete_agents, help="Choose one of several agents.")
@option("--speed", type=Speed(), default="10", show_default=True, metavar="N",
        help="Play N times as fast as the run was; max: without waiting.")  # fmt: skip
@option("--to", "number", type=click.IntRange(min=0), metavar="N",
        help="Show state, prompt and tree as they were after iteration N.")  # fmt: skip
@option("--verify", is_flag=True, help="Verify that journal, state file, commits, trailers and ticked boxes agree.")
@option("--again", is_flag=True, help="Run the checks again on each iteration commit, and name flaky ones.")
@option("--record", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Write a recording that the agent `replay` plays.")  # fmt: skip
@option("--cast", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Write an asciicast of the live view.")  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Print JSON: one object per line, or one document.")
def replay(
    feature: str,
    run_id: str | None,
    agent: str | None,
    speed: float,
    as_json: bool,
    **views: Any,
) -> int:
    """Play back a run of feature ID from its record, or look at a point of it.

    No agent runs, and only the file or folder that you name is written. On a terminal it plays the live view; elsewhere
    it prints a line for each event and each action of the agent, with the recorded times.

    Exit codes: 0, 2 there is no such feature, run or iteration, 7 the record is damaged, --verify found a difference,
    or --again a flaky check.
    """
    chosen = {name: value for name, value in views.items() if value is not None and value is not False}
    if len(chosen) > 1:
        raise usage("--to, --verify, --again, --record and --cast exclude each other", hint="Name one of them")
    from aigon.api import open_project

    with here() as checkout:
        project = open_project(checkout.root)
        if views["verify"]:
            return _verify(project, checkout, feature, agent, run_id, as_json)
        run = project.choose_run(feature, agent, run_id)
        match chosen:
            case {"again": True}:
                return _try_again(checkout, feature, run, as_json)
            case {"record": folder}:
                _record(checkout, run, folder, as_json)
            case {"number": number}:
                past = project.past_state(run, number)
                tree = checkout.ask("diff", "--stat", past.base, past.commit) if past.commit else None
                document = {"iteration": number, "commit": past.commit, "state": past.document, "prompt": past.prompt}
                answer({**document, "tree": tree}, "\n".join(_render_past(past, tree)), as_json)
            case _:
                return _play(project, run, speed, views["cast"], as_json)
    return 0


def _play(project: "Project", run: "RunInfo", speed: float, cast: Path | None, as_json: bool) -> int:
    from aigon.api.watch import RecordClock
    from aigon.files.system_errors import write_line
    from aigon.views.terminal.lines import LogText

    clock = RecordClock(0.0 if cast else speed)
    items = project.replay(run, clock)
    try:
        if cast:
            with cast.open("w", encoding="utf-8") as file:
                _show_live(project, run, items, clock, file, speed or 1.0)
        elif sys.stdout.isatty() and not as_json:
            _show_live(project, run, items, clock, None, 1.0)
        else:
            render = render_json if as_json else LogText().render
            lines = (line for item in items if (line := render(item)) is not None)
            all(write_line(sys.stdout, line) for line in lines)  # until the reader has gone
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return 0


def _show_live(
    project: "Project",
    run: "RunInfo",
    items: "Iterable[Event | Step]",
    clock: "RecordClock",
    cast: "TextIO | None",
    speed: float,
) -> None:
    from functools import partial

    from aigon.views.terminal.live import CastScreen, LiveSink
    from aigon.views.terminal.scene import Scene

    spec = project.spec_of(run)
    screen = partial(CastScreen, now=clock.now, speed=speed) if cast else None
    sink = LiveSink(
        cast or sys.stdout,
        Scene(f"Replay: feature {run.feature}: {spec.title if spec else run.branch}", spec.criteria if spec else ()),
        screen=screen,
        clock=clock.now,
        wall=clock.now,
    )
    try:
        for item in items:
            sink(item)
    finally:
        sink.close()


def _render_past(past: "PastState", tree: str | None) -> "Iterable[str]":
    from aigon.model.criteria import VERDICT_WORDS
    from aigon.text.quoting import clean, fold

    look = past.look
    yield f"Iteration {past.number}, commit {past.commit[:8]}"
    for verdict in look.verdicts:
        why = f": {fold(verdict.reason)}" if verdict.status != "met" and verdict.reason else ""
        yield f"  criterion {verdict.criterion} {VERDICT_WORDS[verdict.status]}{why}"
    yield from (f"  {fold(finding.title)}: {fold(finding.summary or finding.status)}" for finding in look.findings)
    spend = past.document["spend"]
    yield f"  spent ${spend['usd']:.2f}" + (f" and {spend['unknown']} of unknown cost" if spend["unknown"] else "")
    yield from ("", "Tree, compared with the base:", (tree or "  it is not in the repository any more").rstrip())
    yield from ("", "Prompt:", *(f"  | {line}" for line in clean(past.prompt).splitlines() or ("there is none",)))


def _verify(
    project: "Project", checkout: "Checkout", feature: str, agent: str | None, run_id: str | None, as_json: bool
) -> int:
    from aigon.errors import environment
    from aigon.run.replay import verify_run
    from aigon.text.quoting import clean

    damaged = dict(project.unreadable(feature)) if run_id is None and agent is None else {}
    run = None if damaged else project.choose_run(feature, agent, run_id)
    if run and run.status == "running":
        raise environment(
            f"Run {run.run_id} is still running, so its records change", hint="Verify it when it has ended"
        )
    journals = [run.journal] if run else list(damaged)
    found = [clean(each) for journal in journals for each in verify_run(checkout, journal)]
    name = run.run_id if run else ""
    text = "\n".join(found) or f"Run {name}: journal, state file, commits, trailers and ticked boxes agree"
    answer({"run": name or None, "agrees": not found, "differences": found}, text, as_json)
    return Exit.ENVIRONMENT if found else 0


def _try_again(checkout: "Checkout", feature: str, run: "RunInfo", as_json: bool) -> int:
    from aigon.run.replay import recheck_run

    is_flaky = False
    for done in recheck_run(checkout, feature, run.journal):
        is_flaky = is_flaky or bool(done.flaky)
        same = f"iteration {done.number}: {done.checks} ran again on {done.commit[:8]}"
        flaky = "; ".join(f"{name} is flaky: {then}, now {now}" for name, (then, now) in done.flaky.items())
        answer(to_builtins(done), f"{same}: {flaky or 'as before'}", as_json)
    return Exit.ENVIRONMENT if is_flaky else 0


def _record(checkout: "Checkout", run: "RunInfo", folder: Path, as_json: bool) -> None:
    from aigon.run.replay import record_run
    from aigon.text.quoting import fold

    number, left_out = record_run(checkout, run.journal, folder.absolute())
    lines = [f"{number} attempts in {folder}", *(f"left out: {fold(each)}" for each in left_out)]
    agent = json.dumps({"agents": {"again": {"adapter": "replay", "recording": str(folder.absolute())}}})
    lines.append(f"To play them, put this into .aigon/config.json and run with --agent again: {agent}")
    answer({"attempts": number, "left_out": left_out, "folder": str(folder)}, "\n".join(lines), as_json)
