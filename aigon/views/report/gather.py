"""What a report is made from: journals, the spec and the log as the branch has them, what commands printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from aigon.agents.configured import build_loop_command
from aigon.compare.file import recall_proposal
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_view
from aigon.files.home import find_home
from aigon.files.locks import is_locked
from aigon.git.forge import find_forge
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.job import branch
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.journal.events import Event
from aigon.journal.history import History, IterationRecord, build_history
from aigon.journal.records import Records, locate_records
from aigon.journal.replay import read_events
from aigon.journal.state_document import command_elsewhere
from aigon.model.candidates import Candidate
from aigon.model.changes import FileChange
from aigon.process.running import loop_lock
from aigon.spec.document import parse_spec
from aigon.spec.features import ROOT, Feature, parse_feature_path

OUTPUT = 4000
"""Bytes of the end of what a command printed."""
RUNS = ".aigon/runs"


def journals(paths: Sequence[Path]) -> tuple[list[Sequence[Event]], list[str]]:
    """The events of each journal, and which of them tell nothing and why."""
    read: list[Sequence[Event]] = []
    unread = []
    for path in paths:
        try:
            read.append(read_events(path))
        except (AigonError, OSError) as error:
            unread.append(f"{path.name}: {error.what if isinstance(error, AigonError) else error.strerror}")
    return read, unread


def text_at(checkout: Checkout, commit: str, path: str) -> str | None:
    """A file as a commit has it; None where it has none, or the commit is gone."""
    return checkout.ask("cat-file", "blob", f"{commit}:{path}") if commit and path else None


def tip(checkout: Checkout, branch: str) -> str:
    """The commit at the end of a branch; empty where it is gone."""
    return (checkout.commit_of(f"refs/heads/{branch}") or "") if branch else ""


def spec(raw: str | None) -> tuple[str, tuple[CriterionItem, ...]]:
    """The title and the criteria of a spec; nothing for one that cannot be read."""
    try:
        parsed = parse_spec((raw or "").encode("utf-8", "surrogateescape"))
    except AigonError:
        return "", ()
    items = tuple(CriterionItem(c.number, c.text, c.kind, c.command or "") for c in parsed.criteria)
    return parsed.title.removeprefix("Feature:").strip(), items


def judged(history: History) -> tuple[CriterionItem, ...]:
    """The criteria as they were judged, for where the spec is not to be had."""
    return tuple(CriterionItem(number, text) for number, text in sorted(history.texts.items()))


def outputs(root: Path, step: IterationRecord | None) -> dict[str, str]:
    """The end of what each green check and command of a look printed, from its log in the main checkout at `root`."""
    runs = (root / RUNS).resolve()
    found = (*step.look.findings, *step.asked) if step else ()
    quiet = [each for each in found if each.status == "pass" and not each.excerpt and each.log]
    return {each.check: text for each in quiet if (text := _end(Path(each.log), runs))}


def _end(log: Path, runs: Path) -> str:
    """Nothing but a plain file among the logs of runs is read: the name is a record's, the place anybody's."""
    try:
        place = log.resolve(strict=True)
        if not place.is_relative_to(runs) or not place.is_file():
            return ""
        with place.open("rb") as file:
            file.seek(max(0, place.stat().st_size - OUTPUT))
            return file.read(OUTPUT).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""


def changes(checkout: Checkout, base: str, commit: str, without: Sequence[str]) -> tuple[FileChange, ...]:
    """The files in which a commit differs from the base, with lines; none where one of the two is gone."""
    how = ("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw", "--numstat")
    fields = iter((checkout.ask("diff-tree", *how, base, commit) or "").split("\0"))
    statuses: dict[str, str] = {}
    found = []
    for field in fields:
        if field.startswith(":"):
            statuses[next(fields, "")] = field[-1]
        elif field.count("\t") >= 2:
            added, removed, path = field.split("\t", 2)
            found.append(FileChange(path, _lines(added), _lines(removed), statuses.get(path, "M")))
    return tuple(change for change in found if change.path not in without)


def _lines(number: str) -> int:
    """-1 where git counts none."""
    return int(number) if number.isdecimal() else -1


def is_pushed(checkout: Checkout, commit: str) -> bool:
    """Whether a branch of `origin` is known to hold a commit."""
    asked = ("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}", "refs/remotes/origin")
    return bool(commit and checkout.ask(*asked))


FOLDER = ".aigon/reports"
"""Where reports are written, in the main checkout: nobody commits them."""


def gather(checkout: Checkout, wanted: str) -> FeatureAccount:
    """Everything that is known of the feature `wanted`, under every label; a run may be going on.

    Raises AigonError (exit 2) for a feature that is not known, or that no run has looked at yet.
    """
    home, root = find_home(checkout.common_dir), find_repository(checkout.root).root
    feature = _feature(checkout, root, home, wanted)
    name = feature.name_for_people
    known = (
        [(each, records.candidate_records(home, each)) for each in records.find_candidates(home, name)] if home else []
    )
    works = [_work(checkout, root, home, feature, r, c) for c, r in _those_that_ran(home, name, known)] if home else []
    if not works or not any(work.history.runs for work in works):
        hint = command_elsewhere(checkout.common_dir, name, f"aigon report {name}")
        hint = hint or build_loop_command(root, name)
        raise usage(f"Feature {name} has not run yet: there is nothing to report", where=feature.path, hint=hint)
    return _account(checkout, root, feature, works, home)


def html(checkout: Checkout, wanted: str) -> str:
    """The page, whole."""
    from aigon.views.report.page import page

    return page(gather(checkout, wanted))


def markdown(checkout: Checkout, wanted: str) -> str:
    """The same in fewer words, for a pull request."""
    from aigon.views.report.markdown import markdown as text

    return text(gather(checkout, wanted))


@dataclass(frozen=True, slots=True)
class Made:
    """A report: its text, the file that it was written to (None for none), and the outcome as data."""

    text: str
    file: Path | None
    facts: Mapping[str, object]


def written(checkout: Checkout, wanted: str, form: str, output: Path | None) -> Made:
    """Make the report as `html` or `md` and write it to `output`; a page without one into aigon's own folder.

    Raises AigonError: 2 for a feature that has not run, 7 where the file cannot be written.
    """
    from aigon.views.report.markdown import markdown as short
    from aigon.views.report.page import page

    account = gather(checkout, wanted)
    text = page(account) if form == "html" else short(account)
    own = find_repository(checkout.root).root / FOLDER / f"feature-{account.feature.name_for_people}.html"
    file = output.absolute() if output else own if form == "html" else None
    if file:
        branch.ignore_runtime_files(checkout)  # a repository may have been used by an aigon that wrote no reports
        _write(file, text)
    return Made(text, file, _facts(account, form))


def _write(file: Path, text: str) -> None:
    """Raises AigonError (exit 2) for what is there and no file, such as a device, and exit 7 where it cannot be."""
    if file.exists() and not file.is_file():
        what = "The report cannot be written there: it is no file"
        raise usage(what, where=str(file), hint="Name another: --output FILE")
    try:
        write_view(file, text)
    except OSError as error:
        what = f"The report cannot be written: {error.strerror}"
        raise environment(what, where=str(file), hint="Name another file: --output FILE") from error


def _facts(account: FeatureAccount, form: str) -> Mapping[str, object]:
    """The outcome as data, one document for each label."""
    works = [
        {
            "label": work.label or None,
            "agent": work.agent,
            "branch": work.branch,
            "commit": work.commit or None,
            "outcome": work.standing,
            "proven": work.proven,
            "total": work.total,
            "iterations": max((step.number for step in work.steps), default=0),
        }
        for work in account.works
    ]
    return {"feature": account.feature.name_for_people, "title": account.title, "format": form, "works": works}


Known = tuple[Candidate | None, Records]


def _those_that_ran(home: Path, name: str, known: list[tuple[Candidate, Records]]) -> list[Known]:
    """The solo branch, where it has a journal, then every worktree."""
    solo = locate_records(home, name)
    return [*([(None, solo)] if solo.journals() else []), *known]


def _feature(checkout: Checkout, root: Path, home: Path | None, wanted: str) -> Feature:
    """By its spec, by a worktree that was made for it, or by its branch: its spec may stand only there."""
    try:
        return locate_spec(root, checkout.common_dir, wanted).feature
    except AigonError:
        for each in records.list_candidates(home):
            if wanted in (each.feature, each.slug) or wanted.lstrip("0") == each.feature.lstrip("0"):
                return Feature(each.feature, each.slug, "", "in-progress")
        own = branch.find_branch(checkout, wanted)
        if found := parse_feature_path(f"/{own}.md") if own else None:
            return found
        raise


def _work(
    checkout: Checkout, root: Path, home: Path, feature: Feature, records: Records, candidate: Candidate | None
) -> WorkAccount:
    read, unread = journals(records.journals())
    known, label = build_history(read), candidate.label if candidate else ""
    started = known.started
    own = started.branch if started else candidate.branch if candidate else ""
    work = WorkAccount(
        label,
        candidate.agent if candidate else started.agent if started else "",
        candidate.mode if candidate else "solo",
        own,
        judged(known),
        known,
        tip=tip(checkout, own),
        running=_is_running(home, feature, label) and known.finished is None and bool(started),
        log_path=feature.log(label),
        outputs=outputs(root, known.last),
        unread=tuple(unread),
    )
    return _with_files(checkout, feature, work)


def _with_files(checkout: Checkout, feature: Feature, work: WorkAccount) -> WorkAccount:
    """With what the branch itself holds: the spec that the runs were about, and the log."""
    started = work.history.started
    path = started.spec_path if started else feature.path
    _, items = spec(text_at(checkout, work.commit or work.tip, path))
    log = text_at(checkout, work.tip or work.commit, work.log_path) or ""
    pushed = is_pushed(checkout, work.commit)
    return replace(work, items=items or work.items, log=log, pushed=pushed, diffs=_diffs(checkout, work))


def _diffs(checkout: Checkout, work: WorkAccount) -> dict[str, tuple[FileChange, ...]]:
    """What each iteration commit, and the commit last looked at, holds beyond the base; spec and log are aigon's."""
    started = work.history.started
    if started is None:
        return {}
    own = (started.spec_path, work.log_path)
    commits = dict.fromkeys(step.look.checkpoint for step in work.steps if step.look.checkpoint)
    return {each: changes(checkout, started.base_commit, each, own) for each in (*commits, work.commit) if each}


def _is_running(home: Path, feature: Feature, label: str) -> bool:
    return bool(is_locked(loop_lock(home, feature.name_for_people, label)))


def _account(
    checkout: Checkout, root: Path, feature: Feature, works: list[WorkAccount], home: Path | None
) -> FeatureAccount:
    name = feature.name_for_people
    origins = [locate_records(home, name, work.label).origin() for work in works] if home else []
    origin = next((each for each in origins if each), None)
    evaluation = f"{ROOT}/evaluations/feature-{name}-eval.md"
    return FeatureAccount(
        feature,
        _title(checkout, root, feature, works),
        datetime.now(UTC).isoformat(timespec="seconds"),
        tuple(works),
        origin.branch if origin else "",
        origin.commit if origin else "",
        find_forge(checkout.config.get("remote.origin.url", "")),
        evaluation if (root / evaluation).is_file() else "",
        recall_proposal(home, name, {work.label or "solo": work.tip for work in works}),
    )


def _title(checkout: Checkout, root: Path, feature: Feature, works: list[WorkAccount]) -> str:
    """Of the spec that was worked on, or of the one that stands in the main checkout."""
    for work in works:
        if started := work.history.started:
            title, _ = spec(text_at(checkout, work.commit, started.spec_path))
            if title:
                return title
    file = root / feature.path
    return (spec(file.read_text(errors="replace"))[0] if file.is_file() else "") or feature.slug
