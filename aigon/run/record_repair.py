"""Records of a feature other than its journal, and what is made of that: whether they are sound, and their repair.

What nothing else knows is left and named.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from aigon.config.loading import open_work_tree
from aigon.errors import AigonError, environment
from aigon.files.atomic import keep_damaged, write_atomic, write_view
from aigon.files.checksums import damage_error, format_line, parse_lines
from aigon.git.person import Checkout
from aigon.journal.decisions import HumanDecision, parse_decision
from aigon.journal.events import (
    Event,
    Notice,
    RunStarted,
)
from aigon.journal.records import CANDIDATE, Origin, Records
from aigon.journal.replay import read_intact_events
from aigon.journal.state_document import NewerState, parse_whole_state
from aigon.journal.state_file import render_state_file
from aigon.journal.steps import StepSink
from aigon.model.outcomes import RepairedRecord, UnrepairedRecord
from aigon.proof import frozen
from aigon.run.sinks.files import render_run_files
from aigon.spec.document import parse_spec

RepairStep = RepairedRecord | UnrepairedRecord


def require_sound_records(records: Records, state_file: Path) -> None:
    """Raise AigonError (exit 7) for a record that is damaged or from a newer version; nothing is changed.

    A damaged journal is no error, as a new run renames it, nor is a damaged state file, which is rebuilt.
    """
    if inspect_state_file(state_file) == "newer":
        hint = "Update aigon, or use the version that wrote it; the file is left as it is"
        raise environment("The state file is from a newer aigon", where=str(state_file), hint=hint)
    if frozen.load(records.frozen) is None and records.has_begun():
        raise damage_error("The record of what decides this feature", str(records.frozen), records.name, "gone")
    if records.origin() is None and records.has_begun():
        raise damage_error("The record of where this feature began", str(records.began), records.name, "gone")
    records.decisions()


def inspect_state_file(path: Path) -> str:
    """Return `absent`, `whole`, `newer` or `damaged`."""
    try:
        parse_whole_state(path.read_bytes())
    except FileNotFoundError:
        return "damaged" if path.is_symlink() else "absent"
    except NewerState:
        return "newer"
    except (OSError, ValueError):
        return "damaged"
    return "whole"


def set_damaged_state_aside(path: Path, now: str) -> tuple[Event, ...]:
    """Keep a damaged state file, which is about to be rewritten, under another name; return that as events."""
    if inspect_state_file(path) != "damaged":
        return ()
    kept = keep_damaged(path)
    return (Notice(now, f"{path.name} was damaged: renamed {kept.name} and rebuilt", "warning"),)


def keep_existing(file: Path) -> str:
    """Keep a damaged file under another name and return that; "" if there is no file."""
    return str(keep_damaged(file)) if file.exists() or file.is_symlink() else ""


def repair_records(records: Records, checkout: Checkout, now: str) -> Iterator[RepairStep]:
    """Repair what is damaged."""
    yield from _repair_frozen_job(records)
    yield from _repair_decisions(records, checkout, now)
    file = records.folder / CANDIDATE
    if file.exists() and records.candidate() is None:
        kept = keep_existing(file)
        file.unlink()
        how = "put aside: feature-setup, or a run with --worktree, of that agent writes it again"
        yield RepairedRecord("worktree of an agent", str(file), kept, how)
    yield from _repair_origin(records)


def _repair_frozen_job(records: Records) -> Iterator[RepairStep]:
    """Rebuild `frozen.json` from its copy, or the copy from it. Nothing else knows the state before the first turn."""
    file, copy = records.frozen, frozen.copy_of(records.frozen)
    try:
        own, spare = _inspect_frozen_job(file), _inspect_frozen_job(copy)
    except AigonError as error:
        yield UnrepairedRecord("frozen job", str(file), error.what, error.hint)
        return
    if own != "whole" and spare == "whole":
        kept = keep_existing(file)
        write_atomic(file, copy.read_bytes(), lasting=True)
        yield RepairedRecord("frozen job", str(file), kept, "rebuilt from its copy")
    elif own == "whole" and spare != "whole":
        kept = keep_existing(copy)
        write_atomic(copy, file.read_bytes())
        yield RepairedRecord("copy of the frozen job", str(copy), kept, "rebuilt from the record")
    elif own != "whole" and ("damaged" in (own, spare) or records.has_begun()):
        why = "nothing else knows what was protected, and which tests there were, before the first turn"
        home, folder = records.folder.parents[1], records.folder
        names = (f"{folder.name}.old", *(f"{folder.name}.old{n}" for n in range(2, 100)))
        free = next((home / name for name in names if not (home / name).exists()), home / names[0])
        move = shlex.join(["mv", str(folder), str(free)])
        do = f"{move}   # then --loop takes the branch as it is now for the base: look at it first"
        yield UnrepairedRecord("frozen job", str(file), why, do)


def _inspect_frozen_job(file: Path) -> str:
    """Return `absent`, `whole` or `damaged`. Raises AigonError for a file of a newer version."""
    try:
        return "absent" if frozen.load(file) is None else "whole"
    except AigonError as error:
        if "newer" in error.what:
            raise
        return "damaged"


def _repair_origin(records: Records) -> Iterator[RepairStep]:
    """Rebuild `feature.json` from the base that the runs or the frozen job recorded: the base stays the same."""
    try:
        if records.origin() is not None or not records.has_begun():
            return
    except AigonError:
        pass
    starts = _list_starts(records)
    base = starts[-1].base_commit if starts else ""
    if not starts:
        with suppress(AigonError):
            base = known.base if (known := frozen.load(records.frozen)) else ""
    kept = keep_existing(records.began)
    if base:
        records.set_origin(Origin("", base))
        how = "rebuilt with the base of the runs; name the target branch yourself: feature-done --into"
    else:
        records.began.unlink(missing_ok=True)
        how = "no run had begun: the next one says it"
    yield RepairedRecord("where the feature began", str(records.began), kept, how)


def _list_starts(records: Records) -> list[RunStarted]:
    """Return the first events of runs, oldest first, as far as journals can be read."""
    events = (event for path in records.journals() for event in read_intact_events(path.read_bytes())[0])
    return [event for event in events if isinstance(event, RunStarted)]


def _repair_decisions(records: Records, checkout: Checkout, now: str) -> Iterator[RepairStep]:
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
    decisions = []
    for at, line in enumerate(lines):
        if line is not None:
            decision = parse_decision(line)
            # An approval of no content holds nowhere, but records that aigon ticked the box.
            if at < last and decision.decision == "approve":
                decision = replace(decision, content="")
            elif at < last and decision.decision == "waive":
                decision = replace(decision, content="", decision="reset")
            decisions.append(decision)
    lost, known = len(lines) - len(decisions), {each.text for each in decisions if each.decision == "approve"}
    decisions += [each for each in _list_ticked(records, checkout, now) if each.text not in known]
    kept = keep_existing(records.decided)
    write_atomic(
        records.decided, b"".join(format_line(json.dumps(to_builtins(each))) for each in decisions), lasting=True
    )
    lapsed = sorted({each.criterion for each in decisions if not each.content})
    again = f"; approvals of {', '.join(map(str, lapsed))} have to be given again" if lapsed else ""
    how = f"rebuilt from what can be read; {lost} lines are lost{again}"
    yield RepairedRecord("decisions of people", str(records.decided), kept, how)


def _list_ticked(records: Records, checkout: Checkout, now: str) -> Iterator[HumanDecision]:
    """Yield approvals of no content for the ticked `human` criteria of the spec on the branch and in the work tree."""
    starts = [each for each in _list_starts(records) if each.feature_id == records.name]
    for started in starts[-1:]:
        committed = checkout.ask("show", f"refs/heads/{started.branch}:{started.spec_path}")
        current = open_work_tree(checkout.root)(started.spec_path)
        for raw in (committed.encode() if committed else b"", current or b""):
            for each in parse_spec(raw).criteria:
                if each.kind == "human" and each.checked:
                    why = "perhaps approved in a line of the record that is lost"
                    yield HumanDecision(each.number, each.text, "approve", why, "", "", "aigon", now)


def repair_state_file(path: Path, events: Sequence[Event]) -> Iterator[RepairStep]:
    """Rebuild the state file of the run with these events."""
    how = inspect_state_file(path)
    if how == "newer":
        yield UnrepairedRecord("state file", str(path), "it is from a newer aigon", "Update aigon")
        return
    wanted = render_state_file(events)
    if wanted is None or (how == "whole" and path.read_bytes() == wanted):
        return
    kept = keep_existing(path) if how == "damaged" else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, wanted)
    yield RepairedRecord("state file", str(path), kept, "rebuilt from the journal")


def repair_views(folder: Path, events: Sequence[Event]) -> Iterator[RepairedRecord]:
    """Rebuild the files for people in a run's folder."""
    for name, text in chain(StepSink(folder).render(events), render_run_files(folder, events).items()):
        path, wanted = folder / name, text.encode("utf-8", "replace")
        how = _compare_view(path, wanted)
        if how == "whole":
            continue
        kept = keep_existing(path) if how == "damaged" else ""
        write_view(path, text)
        yield RepairedRecord("view of a run", str(path), kept, "rebuilt from the journal")


def _compare_view(path: Path, wanted: bytes) -> str:
    """Return `whole`, `absent`, `behind` (an intact page with other content) or `damaged`."""
    if not path.is_file() or path.is_symlink():
        return "damaged" if path.is_symlink() or path.exists() else "absent"
    content = path.read_bytes()
    if content == wanted:
        return "whole"
    own = b"\0" not in content and content.endswith(b"\n")
    return "behind" if own and content.partition(b"\n")[0] == wanted.partition(b"\n")[0] else "damaged"
