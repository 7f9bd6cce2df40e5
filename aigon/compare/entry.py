"""All facts on one candidate: from the records, from the branch, from the change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aigon.compare.change import change_of, seen
from aigon.compare.record import Told, told, with_record
from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evaluation import Subject
from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.files.home import ensure_home
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.job.bookkeeping import open_own_git
from aigon.journal.records import Records
from aigon.model.criteria import Spec
from aigon.model.outcomes import Met
from aigon.process.running import loop_lock
from aigon.profiles.protection import Protection
from aigon.proof.frozen import load as frozen_of
from aigon.proof.protection import protection_of
from aigon.spec.document import read_known_failures
from aigon.spec.features import Feature


@dataclass(frozen=True, slots=True)
class Contest:
    """What everybody has in common; `records` are by label."""

    main: Checkout
    config: Config
    feature: Feature
    spec: Spec
    subject: Subject
    records: Mapping[str, Records]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who takes part: label, agent as a person named it, branch, records; `own` are aigon's files on the branch."""

    label: str
    agent: str
    branch: str
    records: Records
    own: frozenset[str]


def entry_of(contest: Contest, one: Contestant) -> Entry:
    """The facts on one. Raises AigonError (exit 7) for a journal that is damaged."""
    found = told(one.records)
    entry = Entry(
        label=one.label,
        agent=one.agent or _agent(found),
        branch=one.branch,
        base=_base(found, one.records),
        tip=_tip(contest, one),
        known_failures=read_known_failures(contest.spec),
    )
    entry = with_record(entry, found, one.records) if found.runs else entry
    entry = replace(entry, running=_running(contest, one, entry))
    return _with_change(contest, one, entry) if entry.tip and entry.base else entry


def _agent(found: Told) -> str:
    return found.whole.started.agent if found.whole.started else ""


def _base(found: Told, records: Records) -> str:
    origin = records.origin()
    return origin.commit if origin else found.whole.started.base_commit if found.whole.started else ""


def _tip(contest: Contest, one: Contestant) -> str:
    """The branch; where it was put away after a merge, what was kept of it."""
    kept = f"refs/aigon/arena/{contest.subject.feature}/{one.label}"
    main = contest.main
    return main.commit_of(f"refs/heads/{one.branch}") or main.commit_of(kept) or ""


def _running(contest: Contest, one: Contestant, entry: Entry) -> bool:
    """Its last run has not ended, and a process holds its lock."""
    lock = loop_lock(ensure_home(contest.main.common_dir), one.records.folder.name)
    return entry.outcome is None and is_locked(lock) is True


def _with_change(contest: Contest, one: Contestant, entry: Entry) -> Entry:
    git, rules, expected = open_own_git(contest.main), _protection(contest, one), contest.subject.expected
    try:
        changed, edits = change_of(git, entry.base, entry.tip, one.own, rules, expected)
    except AigonError as error:
        return replace(entry, notes=(*entry.notes, f"its change could not be read: {error.hint or error.what}"))
    if entry.concerns or isinstance(entry.outcome, Met):
        return replace(entry, changed=changed)
    return replace(entry, changed=changed, concerns=seen(edits, one.records.decisions()))


def _protection(contest: Contest, one: Contestant) -> Protection:
    """By the checks as they were before the agent began."""
    frozen = frozen_of(one.records.frozen)
    return protection_of(contest.main.root, contest.config, contest.spec, frozen.checks if frozen else ())
