"""Gather a report from journals, the spec and the log as the branch has them, and what commands printed."""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import build_loop_command
from aigon.compare.file import recall_proposal
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_view
from aigon.files.home import find_home
from aigon.files.locks import is_locked
from aigon.git.forge import find_forge
from aigon.git.listings import parse_raw_and_counts
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.job import branch
from aigon.job.job import list_known_candidates
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.journal.history import IterationRecord, build_history
from aigon.journal.records import Records, load_acceptance, locate_records
from aigon.journal.replay import read_journals
from aigon.journal.state_document import command_elsewhere
from aigon.model.agents import Candidate
from aigon.model.changes import FileChange
from aigon.model.criteria import COMMAND_KINDS
from aigon.observation import Observation
from aigon.process.running import loop_lock
from aigon.proof import frozen
from aigon.spec.annotation import find_script
from aigon.spec.document import parse_spec
from aigon.spec.features import ROOT, Feature, OwnPaths, parse_feature_path

OUTPUT_BYTES = 4000
"""Bytes kept of the end of what a command printed."""
RUNS = ".aigon/runs"
FOLDER = ".aigon/reports"
"""Where reports are written, in the main checkout: they are not committed."""
_ON_ORIGIN = ("for-each-ref", "--count=1", "--format=%(refname)")
"""Asks for a branch of `origin` that is known to hold a commit."""


class Report(Struct, frozen=True):
    """A report: its text, the file that it was written to, if any, and the outcome as data."""

    text: str
    file: Path | None
    facts: Mapping[str, object]


def write_report(checkout: Checkout, wanted: str, form: str, output: Path | None) -> Report:
    """Render the report as `html` or `md` and write it to `output`; without one, a page goes into aigon's own folder.

    Raises AigonError: exit 2 for a feature that has not run, exit 7 if the file cannot be written.
    """
    account = gather_account(checkout, wanted)
    own = find_repository(checkout.root).root / FOLDER / f"feature-{account.feature.name_for_people}.html"
    file = output.absolute() if output else own if form == "html" else None
    from aigon.views.report.pages import render_markdown, render_page

    text = render_page(account) if form == "html" else render_markdown(account)
    if file:
        branch.ignore_runtime_files(checkout)  # a repository may have been used by an aigon that wrote no reports
        hint = "Name another file: --output FILE"
        if file.exists() and not file.is_file():
            raise usage("The report cannot be written there: it is no file", where=str(file), hint=hint)
        try:
            write_view(file, text)
        except OSError as error:
            what = f"The report cannot be written: {error.strerror}"
            raise environment(what, where=str(file), hint=hint) from error
    return Report(text, file, _build_facts(account, form))


def _build_facts(account: FeatureAccount, form: str) -> Mapping[str, object]:
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


def gather_account(checkout: Checkout, wanted: str) -> FeatureAccount:
    """Return everything that is known of the feature `wanted`, under every label; a run may be going on.

    Raises AigonError (exit 2) for a feature that is not known, or that no run has assessed yet.
    """
    home, root = find_home(checkout.common_dir), find_repository(checkout.root).root
    feature = _find_feature(checkout, root, wanted)
    name = feature.name_for_people
    works: list[WorkAccount] = []
    if home:
        solo = locate_records(home, name)
        known = [(each, records.candidate_records(home, each)) for each in records.find_candidates(home, name)]
        ran = [*([(None, solo)] if solo.journals() else []), *known]
        works = [_gather_work(checkout, root, home, feature, records_, candidate) for candidate, records_ in ran]
    if home is None or not any(work.history.runs for work in works):
        hint = command_elsewhere(checkout.common_dir, name, f"aigon report {name}")
        hint = hint or build_loop_command(root, name)
        raise usage(f"Feature {name} has not run yet: there is nothing to report", where=feature.path, hint=hint)
    origin = next((each for work in works if (each := locate_records(home, name, work.label).origin())), None)
    evaluation = f"{ROOT}/evaluations/feature-{name}-eval.md"
    return FeatureAccount(
        feature,
        _find_title(checkout, root, feature, works),
        datetime.now(UTC).isoformat(timespec="seconds"),
        tuple(works),
        target=origin.branch if origin else "",
        base=origin.commit if origin else "",
        forge=find_forge(checkout.config.get("remote.origin.url", "")),
        evaluation=evaluation if (root / evaluation).is_file() else "",
        proposed=recall_proposal(home, name, {work.label or "solo": work.tip for work in works}),
        acceptance=load_acceptance(home, name),
    )


def _find_feature(checkout: Checkout, root: Path, wanted: str) -> Feature:
    """Find it by its spec, by a worktree that was made for it, or by its branch, which alone may have the spec."""
    try:
        return locate_spec(root, checkout.common_dir, wanted).feature
    except AigonError:
        for each in list_known_candidates(checkout, wanted):
            return Feature(each.feature, each.slug, "", "in-progress")
        own = branch.find_branch(checkout, wanted)
        if found := parse_feature_path(f"/{own}.md") if own else None:
            return found
        raise


def _gather_work(
    checkout: Checkout, root: Path, home: Path, feature: Feature, files: Records, candidate: Candidate | None
) -> WorkAccount:
    journals, unread = read_journals(files.journals())
    history, label = build_history(journals), candidate.label if candidate else ""
    started = history.started
    name = started.branch if started else candidate.branch if candidate else ""
    work = WorkAccount(
        label,
        candidate.agent if candidate else started.agent if started else "",
        candidate.mode if candidate else "solo",
        name,
        tuple(CriterionItem(number, text) for number, text in sorted(history.texts.items())),
        history,
        tip=(checkout.commit_of(f"refs/heads/{name}") or "") if name else "",
        running=bool(started and not history.finished and is_locked(loop_lock(home, feature.name_for_people, label))),
        log_path=feature.log(label),
        outputs=_read_outputs(root, history.last),
        unread=tuple(f"{path.name}: {why}" for path, why in unread.items()),
    )
    spec_path = started.spec_path if started else feature.path
    _, items = _parse_spec(_read_blob(checkout, work.commit or work.tip, spec_path))
    commits = dict.fromkeys((*(step.look.checkpoint for step in work.steps), work.commit))
    own = OwnPaths((spec_path, work.log_path))
    work = replace(work, items=items or work.items)
    return replace(
        work,
        items=tuple(_add_reads(work, files.frozen)),
        log=_read_blob(checkout, work.tip or work.commit, work.log_path) or "",
        pushed=bool(work.commit and checkout.ask(*_ON_ORIGIN, f"--contains={work.commit}", "refs/remotes/origin")),
        diffs={each: _list_changes(checkout, started.base_commit, each, own) for each in commits if started and each},
    )


def _add_reads(work: WorkAccount, record: Path) -> Iterator[CriterionItem]:
    """Yield the criteria with what their commands read on the base, as far as a run saw it."""
    with contextlib.suppress(AigonError):
        observed = known.observed if (known := frozen.load(record)) else Observation()
        for item in work.items:
            verdict = work.verdict(item.number)
            bound = verdict.method.removeprefix("check:") if verdict and verdict.method.startswith("check:") else ""
            script = next((find_script(kind, item.command) for kind in COMMAND_KINDS if kind == item.kind), "")
            yield replace(item, reads=observed.describe(f"criterion: {script}" if script else bound))
        return
    yield from work.items


def _read_blob(checkout: Checkout, commit: str, path: str) -> str | None:
    """Return a file as a commit has it; None if it has none, or the commit is gone."""
    return checkout.ask("cat-file", "blob", f"{commit}:{path}") if commit and path else None


def _parse_spec(raw: str | None) -> tuple[str, tuple[CriterionItem, ...]]:
    """Return the title and the criteria of a spec; nothing for one that cannot be read."""
    try:
        parsed = parse_spec((raw or "").encode("utf-8", "surrogateescape"))
    except AigonError:
        return "", ()
    items = tuple(CriterionItem(c.number, c.text, c.kind, c.command or "") for c in parsed.criteria)
    return parsed.title, items


def _find_title(checkout: Checkout, root: Path, feature: Feature, works: Sequence[WorkAccount]) -> str:
    """Return the title of the spec that was worked on, else of the one in the main checkout."""
    for work in works:
        if started := work.history.started:
            title, _ = _parse_spec(_read_blob(checkout, work.commit, started.spec_path))
            if title:
                return title
    file = root / feature.path
    return (_parse_spec(file.read_text(errors="replace"))[0] if file.is_file() else "") or feature.slug


def _list_changes(checkout: Checkout, base: str, commit: str, without: Collection[str]) -> tuple[FileChange, ...]:
    """Return the files in which a commit differs from the base, with lines; none if one of the two is gone."""
    options = ("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw", "--numstat")
    raw, changes = parse_raw_and_counts(os.fsencode(checkout.ask("diff-tree", *options, base, commit) or ""))
    statuses = {each.path: each.status for each in raw}
    return tuple(replace(each, status=statuses.get(each.path, "M")) for each in changes if each.path not in without)


def _read_outputs(root: Path, step: IterationRecord | None) -> dict[str, str]:
    """Return the end of what each passed check and command printed, from its log in the main checkout at `root`."""
    runs = (root / RUNS).resolve()
    findings = (*step.look.findings, *step.asked) if step else ()
    quiet = [each for each in findings if each.status == "pass" and not each.excerpt and each.log]
    return {each.check: text for each in quiet if (text := _read_end(Path(each.log), runs))}


def _read_end(log: Path, runs: Path) -> str:
    """Read nothing but plain files among the logs of runs: the path is in a record, which anybody may have written."""
    try:
        path = log.resolve(strict=True)
        if not path.is_relative_to(runs) or not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - OUTPUT_BYTES))
            return file.read(OUTPUT_BYTES).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""
