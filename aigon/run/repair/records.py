"""Repair records from whatever else still knows their content. What nothing knows is left and named."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from aigon.config.loading import open_work_tree
from aigon.errors import AigonError
from aigon.files.atomic import keep_damaged, sync_folder, write_atomic, write_view
from aigon.files.checksums import format_line, parse_lines
from aigon.git.person import Checkout
from aigon.journal.build_log import render_run_files
from aigon.journal.codec import dumps
from aigon.journal.decisions import HumanDecision, parse_decision
from aigon.journal.events import (
    CommitIntended,
    Event,
    IterationFinished,
    MoneySpent,
    RecordRepaired,
    RunStarted,
    TurnEnded,
)
from aigon.journal.records import CANDIDATE, Origin, Records, read_intact_events
from aigon.journal.replay import decode_events, find_misplaced_event
from aigon.journal.state import State, replay
from aigon.journal.state_file import StateFileSink, find_last_write
from aigon.journal.steps import StepSink
from aigon.model.diagnosis import RepairedRecord, UnrepairedRecord
from aigon.proof import frozen
from aigon.run.opening import inspect_state_file
from aigon.spec.document import parse_spec

RepairStep = RepairedRecord | UnrepairedRecord


def repair_frozen_job(records: Records) -> Iterator[RepairStep]:
    """Rebuild `frozen.json` from its copy, or the copy from it. Nothing else knows the state before the first turn."""
    file, copy = records.frozen, frozen.copy_of(records.frozen)
    try:
        own, spare = _get_frozen_state(file), _get_frozen_state(copy)
    except AigonError as error:
        yield UnrepairedRecord("frozen job", str(file), error.what, error.hint)
        return
    if own != "whole" and spare == "whole":
        kept = _keep_damaged(file)
        write_atomic(file, copy.read_bytes(), lasting=True)
        yield RepairedRecord("frozen job", str(file), kept, "made anew from its copy")
    elif own == "whole" and spare != "whole":
        kept = _keep_damaged(copy)
        write_atomic(copy, file.read_bytes())
        yield RepairedRecord("copy of the frozen job", str(copy), kept, "made anew from the record")
    elif own != "whole" and ("damaged" in (own, spare) or records.begun()):
        why = "nothing else knows what was protected, and which tests there were, before the first turn"
        move = _suggest_move(records.folder)
        do = f"{move}   # then --loop takes the branch as it is now for the base: look at it first"
        yield UnrepairedRecord("frozen job", str(file), why, do)


def _suggest_move(folder: Path) -> str:
    """Return the command that moves the records of a feature out of the folder of records."""
    home, names = folder.parents[1], (f"{folder.name}.old", *(f"{folder.name}.old{n}" for n in range(2, 100)))
    free = next((home / name for name in names if not (home / name).exists()), home / names[0])
    return shlex.join(["mv", str(folder), str(free)])


def _get_frozen_state(file: Path) -> str:
    """Return `absent`, `whole` or `damaged`. Raises AigonError for a file of a newer version."""
    try:
        return "absent" if frozen.load(file) is None else "whole"
    except AigonError as error:
        if "newer" in error.what:
            raise
        return "damaged"


def repair_origin(records: Records) -> Iterator[RepairStep]:
    """Rebuild `feature.json` from the base that the runs recorded, so that the base stays the same."""
    try:
        if records.origin() is not None or not records.begun():
            return
    except AigonError:
        pass
    base = _find_base(records)
    kept = _keep_damaged(records.began)
    if base:
        records.set_origin(Origin("", base))
        how = "made anew with the base of the runs; what it is merged into is to be said: feature-done --into"
        yield RepairedRecord("where the feature began", str(records.began), kept, how)
    else:
        records.began.unlink(missing_ok=True)
        yield RepairedRecord(
            "where the feature began", str(records.began), kept, "no run had begun: the next one says it"
        )


def _find_base(records: Records) -> str:
    """Return the base of the newest run, or of the frozen job."""
    if starts := _list_starts(records):
        return starts[-1].base_commit
    try:
        known = frozen.load(records.frozen)
    except AigonError:
        known = None
    return known.base if known else ""


def _list_starts(records: Records) -> list[RunStarted]:
    """Return the first events of runs, oldest first, as far as journals can be read."""
    events = (event for path in records.journals() for event in read_intact_events(path.read_bytes())[0])
    return [event for event in events if isinstance(event, RunStarted)]


def repair_decisions(records: Records, checkout: Checkout, now: str) -> Iterator[RepairStep]:
    """Rebuild people's decisions as far as they can be read. A lost line may have revoked an earlier one.

    So rejections stay, and approvals before the last damage lapse: people are asked again. A lost line may also be why
    aigon ticked the box of a `human` criterion, which must not count as a person's tick.
    """
    try:
        records.decisions()
        return
    except AigonError as error:
        lines = parse_lines(records.decided.read_bytes())
        if None not in lines:
            yield UnrepairedRecord("decisions of people", str(records.decided), error.what, error.hint)
            return
    last = max(at for at, line in enumerate(lines) if line is None)
    found = [(at, parse_decision(line)) for at, line in enumerate(lines) if line is not None]
    decisions = [_lapse(each) if at < last and each.decision == "approve" else each for at, each in found]
    known = {each.text for each in decisions if each.decision == "approve"}
    decisions += [each for each in _list_ticked(records, checkout, now) if each.text not in known]
    kept = _keep_damaged(records.decided)
    _write_decisions(records.decided, decisions)
    lapsed = sorted({each.criterion for each in decisions if not each.content})
    again = f"; approvals of {', '.join(map(str, lapsed))} have to be given again" if lapsed else ""
    how = f"written anew from what can be read; {len(lines) - len(found)} lines are lost{again}"
    yield RepairedRecord("decisions of people", str(records.decided), kept, how)


def _lapse(decision: HumanDecision) -> HumanDecision:
    """Return an approval of no content: it holds nowhere, but records that aigon ticked the box."""
    return replace(decision, content="")


def _list_ticked(records: Records, checkout: Checkout, now: str) -> Iterator[HumanDecision]:
    """Yield approvals of no content for the ticked `human` criteria of the spec on the branch and in the work tree."""
    starts = [each for each in _list_starts(records) if each.feature_id == records.name]
    for started in starts[-1:]:
        committed = checkout.ask("show", f"refs/heads/{started.branch}:{started.spec_path}")
        there = open_work_tree(checkout.root)(started.spec_path)
        for raw in (committed.encode() if committed else b"", there or b""):
            for each in parse_spec(raw).criteria:
                if each.kind == "human" and each.checked:
                    why = "perhaps approved in a line of the record that is lost"
                    yield HumanDecision(each.number, each.text, "approve", why, "", "", "aigon", now)


def _write_decisions(path: Path, decisions: list[HumanDecision]) -> None:
    import json
    from dataclasses import asdict

    write_atomic(path, b"".join(format_line(json.dumps(asdict(each))) for each in decisions), lasting=True)


def repair_candidate(records: Records) -> Iterator[RepairStep]:
    """Set a damaged `candidate.json` aside. The next set-up of that agent writes it again."""
    file = records.folder / CANDIDATE
    if file.exists() and records.candidate() is None:
        kept = keep_damaged(file)
        file.unlink()
        how = "put aside: feature-setup, or a run with --worktree, of that agent writes it anew"
        yield RepairedRecord("worktree of an agent", str(file), str(kept), how)


def _keep_damaged(file: Path) -> str:
    return str(keep_damaged(file)) if file.exists() or file.is_symlink() else ""


JOURNAL = "journal"
MAX_ITERATION = 100_000
"""A commit that claims a higher iteration was not made by aigon."""


@dataclass(frozen=True, slots=True)
class JournalParts:
    """A journal: its lines, the events of its intact beginning (`sound`), and the `others` that are still readable."""

    lines: Sequence[bytes]
    sound: Sequence[Event]
    others: Sequence[Event]

    @property
    def whole(self) -> bool:
        """Whether nothing is lost."""
        return len(self.sound) == len(self.lines)


def read_journal_parts(path: Path) -> JournalParts:
    """Return the parts of a journal. Raises AigonError (exit 7) if a line is from a newer version."""
    data = path.read_bytes()
    documents = parse_lines(data)
    found = iter(decode_events((each for each in documents if each is not None), path))
    events = [None if document is None else next(found) for document in documents]
    cut = next((at for at, event in enumerate(events) if event is None), len(events))
    beginning = [event for event in events[:cut] if event is not None]
    wrong = find_misplaced_event(beginning)
    cut = cut if wrong is None else wrong
    return JournalParts(data.split(b"\n")[:-1], beginning[:cut], [event for event in events[cut:] if event is not None])


def repair_journal(path: Path, checkout: Checkout, now: str) -> RepairedRecord | None:
    """Rebuild a damaged journal from its intact beginning; nothing that follows is guessed. Return None if it is whole.

    The lost lines still tell what turns cost and which numbers iterations had: neither can make a run seem better than
    it is. Raises AigonError (exit 7) for a journal of a newer version.
    """
    found = read_journal_parts(path)
    if found.whole:
        return None
    kept = keep_damaged(path)
    if not found.sound:
        path.unlink()
        sync_folder(path.parent)
        how = (
            "not even its first event can be read: the next --loop looks at the tree afresh, what was spent is unknown"
        )
        return RepairedRecord(JOURNAL, str(path), str(kept), how)
    state = replay(list(found.sound))
    published = _list_published(state, checkout)
    mark = _make_mark(found, state, checkout, kept, now)
    added = b"".join(format_line(dumps(event)) for event in (*published, mark))
    write_atomic(path, b"".join(line + b"\n" for line in found.lines[: len(found.sound)]) + added, lasting=True)
    return RepairedRecord(JOURNAL, str(path), str(kept), _describe_repair(mark))


def _describe_repair(mark: RecordRepaired) -> str:
    of = f" of after {mark.since}" + (f", up to {mark.until}" if mark.until else "") if mark.since else ""
    return (
        f"written anew from its sound beginning; {mark.lost} lines{of} are lost, and what they cost is unknown; "
        "--resume goes on from the branch"
    )


def _list_published(state: State, checkout: Checkout) -> tuple[Event, ...]:
    """Return the iteration whose commit the last intact lines announced, if the branch has it."""
    intended = state.intended
    tip = checkout.commit_of(f"refs/heads/{state.started.branch}") if intended and state.started else None
    if not (intended and tip and checkout.commit_of(intended.commit) and checkout.is_ancestor(intended.commit, tip)):
        return ()
    return (intended.finished,)


def _make_mark(found: JournalParts, state: State, checkout: Checkout, kept: Path, now: str) -> RecordRepaired:
    return RecordRepaired(
        at=now,
        number=max((*_list_numbers(found.others), *list_committed_iterations(state.started, checkout), 0)),
        lost=len(found.lines) - len(found.sound),
        since=found.sound[-1].at,
        until=found.others[-1].at if found.others else "",
        usd=sum(map(_get_cost, found.others)),
        kept_as=kept.name,
        checkpoints=tuple(event.commit for event in found.others if isinstance(event, CommitIntended)),
    )


def _get_cost(event: Event) -> float:
    match event:
        case TurnEnded(turn=turn):
            return turn.cost or 0.0
        case MoneySpent(cost=usd):
            return usd or 0.0
        case _:
            return 0.0


def _list_numbers(events: Iterable[Event]) -> list[int]:
    """Return the numbers of iterations that finished or whose commit was about to be published."""
    return [event.number for event in events if isinstance(event, (IterationFinished, CommitIntended))]


def list_committed_iterations(started: RunStarted | None, checkout: Checkout) -> list[int]:
    """Return the iteration numbers in this run's commits. They identify iterations and prove nothing."""
    if started is None:
        return []
    key: Callable[[str], str] = lambda name: f"%(trailers:key=Aigon-{name},valueonly,separator=%x20)"  # noqa: E731
    span = ("--max-count=10000", f"refs/heads/{started.branch}", f"^{started.base_commit}")
    told = checkout.ask("rev-list", f"--format={key('Run')} {key('Iteration')}", *span) or ""
    pairs = [line.split() for line in told.splitlines() if not line.startswith("commit ")]
    own = [pair[1] for pair in pairs if len(pair) == 2 and pair[0] == started.run_id]
    return [int(number) for number in own if number.isdecimal() and len(number) <= len(str(MAX_ITERATION))]


def repair_state_file(path: Path, events: Sequence[Event]) -> Iterator[RepairStep]:
    """Rebuild the state file of the run with these events."""
    how = inspect_state_file(path)
    if how == "newer":
        yield UnrepairedRecord("state file", str(path), "it is from a newer aigon", "Update aigon")
        return
    wanted = _render_state(path, events)
    if wanted is None or (how == "whole" and path.read_bytes() == wanted):
        return
    kept = str(keep_damaged(path)) if how == "damaged" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, wanted)
    yield RepairedRecord("state file", str(path), kept, "made anew from the journal")


def _render_state(path: Path, events: Sequence[Event]) -> bytes | None:
    sink, state, wanted = StateFileSink(path), State(), None
    last = find_last_write(events)
    for at, event in enumerate(events):
        state = state.apply(event)
        sink.remember(event)
        if at == last:
            wanted = sink.rendered(event, state)
    return wanted


def repair_views(
    folder: Path, events: Callable[[], Iterable[Event]], *, behind: bool = True
) -> Iterator[RepairedRecord]:
    """Rebuild the files for people in a run's folder; with `behind`, also those that only lack the latest events.

    `events` is called twice, so that they need not be in memory.
    """
    for name, text in chain(StepSink(folder).rendered(events()), render_run_files(folder, events()).items()):
        path, wanted = folder / name, text.encode("utf-8", "replace")
        how = _compare_view(path, wanted)
        if how == "whole" or (how == "behind" and not behind):
            continue
        kept = str(keep_damaged(path)) if how == "damaged" else ""
        write_view(path, text)
        yield RepairedRecord("view of a run", str(path), kept, "made anew from the journal")


def are_views_intact(folder: Path, titles: Mapping[str, str]) -> bool:
    """Return whether all of these files exist and begin with their titles."""
    return all(
        _compare_view(folder / name, title.encode("utf-8", "replace")) == "behind" for name, title in titles.items()
    )


def _compare_view(path: Path, wanted: bytes) -> str:
    """Return `whole`, `absent`, `behind` (an intact page with other content) or `damaged`."""
    if not path.is_file() or path.is_symlink():
        return "damaged" if path.is_symlink() or path.exists() else "absent"
    there = path.read_bytes()
    if there == wanted:
        return "whole"
    own = b"\0" not in there and there.endswith(b"\n") and there.partition(b"\n")[0] == wanted.partition(b"\n")[0]
    return "behind" if own else "damaged"


def get_run_folder(main: Path, events: Sequence[Event]) -> Path | None:
    """Return the folder of the run with these events."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    return main / ".aigon" / "runs" / started.run_id if started else None
