"""The records beside the journal: made anew from what else knows them, or left, by name, where nothing does."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aigon.config.loading import work_tree
from aigon.errors import AigonError
from aigon.files.store import as_line, keep_damaged, sound_lines, write_atomic
from aigon.git.person import Checkout
from aigon.journal.decisions import Decision, decision_of
from aigon.journal.earlier_spend import sound_part
from aigon.journal.events import RunStarted
from aigon.journal.records import CANDIDATE, Origin, Records
from aigon.model.diagnosis import RepairedRecord, UnrepairedRecord
from aigon.proof import frozen
from aigon.spec.document import parse

Did = RepairedRecord | UnrepairedRecord


def frozen_again(records: Records) -> Iterator[Did]:
    """`frozen.json` from its copy, and the copy from it; nothing else knows what there was before the first turn."""
    file, copy = records.frozen, frozen.copy_of(records.frozen)
    try:
        own, spare = _state(file), _state(copy)
    except AigonError as error:
        yield UnrepairedRecord("frozen job", str(file), error.what, error.hint)
        return
    if own != "whole" and spare == "whole":
        kept = _kept(file)
        write_atomic(file, copy.read_bytes(), lasting=True)
        yield RepairedRecord("frozen job", str(file), kept, "made anew from its copy")
    elif own == "whole" and spare != "whole":
        kept = _kept(copy)
        write_atomic(copy, file.read_bytes())
        yield RepairedRecord("copy of the frozen job", str(copy), kept, "made anew from the record")
    elif own != "whole" and ("damaged" in (own, spare) or records.begun()):
        why = "nothing else knows what was protected, and which tests there were, before the first turn"
        do = f"{_aside(records.folder)}   # then --loop takes the branch as it is now for the base: look at it first"
        yield UnrepairedRecord("frozen job", str(file), why, do)


def _aside(folder: Path) -> str:
    """The command that moves the records of a feature away, out of the folder in which they would be taken for some."""
    home, names = folder.parents[1], (f"{folder.name}.old", *(f"{folder.name}.old{n}" for n in range(2, 100)))
    free = next((home / name for name in names if not (home / name).exists()), home / names[0])
    return shlex.join(["mv", str(folder), str(free)])


def _state(file: Path) -> str:
    """`absent`, `whole` or `damaged`. Raises AigonError for one of a newer version."""
    try:
        return "absent" if frozen.load(file) is None else "whole"
    except AigonError as error:
        if "newer" in error.what:
            raise
        return "damaged"


def origin_again(records: Records) -> Iterator[Did]:
    """`feature.json` from the base that the runs named, so that the base stays where it is."""
    try:
        if records.origin() is not None or not records.begun():
            return
    except AigonError:
        pass
    base = _base(records)
    kept = _kept(records.began)
    if base:
        records.set_origin(Origin("", base))
        how = "made anew with the base of the runs; what it is merged into is to be said: feature-done --into"
        yield RepairedRecord("where the feature began", str(records.began), kept, how)
    else:
        records.began.unlink(missing_ok=True)
        yield RepairedRecord(
            "where the feature began", str(records.began), kept, "no run had begun: the next one says it"
        )


def _base(records: Records) -> str:
    """The base that the newest run, or the frozen job, names."""
    if starts := _starts(records):
        return starts[-1].base_commit
    try:
        known = frozen.load(records.frozen)
    except AigonError:
        known = None
    return known.base if known else ""


def _starts(records: Records) -> list[RunStarted]:
    """How runs began, oldest first, as far as their journals can be read."""
    events = (event for path in records.journals() for event in sound_part(path.read_bytes())[0])
    return [event for event in events if isinstance(event, RunStarted)]


def decisions_again(records: Records, checkout: Checkout, now: str) -> Iterator[Did]:
    """What people decided, as far as it can be read. A lost line may have taken back what came before it.

    So rejections stay, and approvals from before the last damage hold for nothing any more: they are asked for again.
    A lost line may also be why aigon ticked the box of a person's criterion, which must not count as a person's tick.
    """
    try:
        records.decisions()
        return
    except AigonError as error:
        lines = sound_lines(records.decided.read_bytes())
        if None not in lines:
            yield UnrepairedRecord("decisions of people", str(records.decided), error.what, error.hint)
            return
    last = max(at for at, line in enumerate(lines) if line is None)
    found = [(at, decision_of(line)) for at, line in enumerate(lines) if line is not None]
    decisions = [_lapsed(each) if at < last and each.decision == "approve" else each for at, each in found]
    known = {each.text for each in decisions if each.decision == "approve"}
    decisions += [each for each in _ticked(records, checkout, now) if each.text not in known]
    kept = _kept(records.decided)
    _write(records.decided, decisions)
    lapsed = sorted({each.criterion for each in decisions if not each.content})
    again = f"; approvals of {', '.join(map(str, lapsed))} have to be given again" if lapsed else ""
    how = f"written anew from what can be read; {len(lines) - len(found)} lines are lost{again}"
    yield RepairedRecord("decisions of people", str(records.decided), kept, how)


def _lapsed(decision: Decision) -> Decision:
    """An approval of no content: it holds nowhere, but that aigon ticked the box for it stays known."""
    return replace(decision, content="")


def _ticked(records: Records, checkout: Checkout, now: str) -> Iterator[Decision]:
    """Approvals of nothing for the ticked `human` criteria of the spec, as the branch and the work tree have it."""
    starts = [each for each in _starts(records) if each.feature_id == records.name]
    for started in starts[-1:]:
        committed = checkout.ask("show", f"refs/heads/{started.branch}:{started.spec_path}")
        there = work_tree(checkout.root)(started.spec_path)
        for raw in (committed.encode() if committed else b"", there or b""):
            for each in parse(raw).criteria:
                if each.kind == "human" and each.checked:
                    why = "perhaps approved in a line of the record that is lost"
                    yield Decision(each.number, each.text, "approve", why, "", "", "aigon", now)


def _write(path: Path, decisions: list[Decision]) -> None:
    import json
    from dataclasses import asdict

    write_atomic(path, b"".join(as_line(json.dumps(asdict(each))) for each in decisions), lasting=True)


def candidate_again(records: Records) -> Iterator[Did]:
    """`candidate.json` is written by the next set-up of that agent; until then its worktree is nobody's."""
    file = records.folder / CANDIDATE
    if file.exists() and records.candidate() is None:
        kept = keep_damaged(file)
        file.unlink()
        how = "put aside: feature-setup, or a run with --worktree, of that agent writes it anew"
        yield RepairedRecord("worktree of an agent", str(file), str(kept), how)


def _kept(file: Path) -> str:
    return str(keep_damaged(file)) if file.exists() or file.is_symlink() else ""
