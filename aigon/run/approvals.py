"""Cases that wait for people over all features and worktrees, their pages, and decisions made by moving pages.

A page decides nothing by itself: only a person who runs `aigon approvals --apply` makes it a decision.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, to_builtins

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, usage
from aigon.files.atomic import read_bounded, write_view
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.branch import exclude_from_git, ignore_runtime_files
from aigon.job.job import open_main_checkout
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import RunFinished
from aigon.journal.queue import QueueEntry, read_queue
from aigon.journal.records import Records
from aigon.journal.replay import iterate_events
from aigon.journal.state import State, replay
from aigon.model.agents import format_run_command
from aigon.model.outcomes import NeedsHuman, Stopped
from aigon.run.decisions import list_changed_files
from aigon.text.documents import parse_yaml
from aigon.text.quoting import fold, list_item

APPROVED, REJECTED = "approved", "rejected"
LARGEST_PAGE = 256 * 1024
_PROPOSED = 5
"""Lines of a task without criteria that are proposed as criteria."""


class OpenItem(Struct, frozen=True):
    """An open criterion (`name` is its number) or rule, its text and why it is open; `decides`: approval can."""

    name: str
    text: str
    reason: str
    decides: bool


class ApprovalCase(Struct, frozen=True):
    """A case that waits for a person: one feature, or one task that could not be taken up (without `run`).

    `commands` are the ways to go on. `original_file` is the spec or the task file.
    """

    name: str
    feature: str
    label: str
    original_file: str
    created: str
    reason: str
    items: tuple[OpenItem, ...] = ()
    run: str = ""
    commit: str = ""
    base: str = ""
    iteration: int = 0
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def decidable(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.items if item.decides)


def list_cases(main: Checkout) -> tuple[ApprovalCase, ...]:
    """Return every case, by feature. A journal that cannot be read is left to `aigon doctor`."""
    home = ensure_home(main.common_dir)
    queue = read_queue(home)
    originals = {(each.feature, each.label): each.path for each in queue.values() if each.source == "watch"}
    cases = []
    for folder in sorted(home.glob("features/*/")):
        try:
            case = _make_case(Records(folder), originals)
        except AigonError:
            continue
        cases += [case] if case else []
    cases += [_make_task_case(main, each) for each in queue.values() if each.state == "waiting"]
    return tuple(cases)


def _make_case(records: Records, originals: Mapping[tuple[str, str], str]) -> ApprovalCase | None:
    if not _has_stopped_for_people(records.journal):
        return None
    state = replay(records.each())
    outcome = state.outcome
    if not isinstance(outcome, NeedsHuman | Stopped) or state.started is None or state.last is None:
        return None
    started, name = state.started, state.started.feature_id
    items = tuple(_list_items(state, records.decisions()))
    if not items and (isinstance(outcome, Stopped) or outcome.criteria or state.last.concerns):
        return None  # all is decided, and takes effect in the next run; or there is nothing that a person decides
    agent = f" --agent {started.label}" if started.label else ""
    decidable = " ".join(item.name for item in items if item.decides)
    waivable = " ".join(f"{name}.{item.name}" for item in items if item.name.isdecimal() and not item.decides)
    again = format_run_command(name, started.label)
    commands = [f"aigon approve {name} {decidable}{agent}", f"aigon reject {name} {decidable}{agent} --why TEXT"]
    commands = commands if decidable else []
    commands += [f"aigon run skip {waivable}{agent} --reason TEXT"] if waivable else []
    return ApprovalCase(
        name=f"{name}-{started.label}" if started.label else name,
        feature=name,
        label=started.label,
        original_file=originals.get((name, started.label), started.spec_path),
        created=state.last.at,
        reason=fold(outcome.reason, 500),
        items=items,
        run=started.run_id,
        commit=state.checkpoint,
        base=started.base_commit,
        iteration=state.last.number,
        commands=(*commands, again),
    )


def _has_stopped_for_people(journal: Path) -> bool:
    """Return whether the last invocation of a run ended so that people decide; only beginnings and ends are parsed."""
    last = None
    for event in iterate_events(journal, only=("run_started", "run_finished")):
        last = event
    return isinstance(last, RunFinished) and isinstance(last.outcome, NeedsHuman | Stopped)


def _list_items(state: State, decisions: tuple[HumanDecision, ...]) -> Iterator[OpenItem]:
    """Yield what is open and not decided for this commit yet; of a run that a guard stopped what needs review."""
    look, outcome = state.last, state.outcome
    assert look is not None
    if isinstance(outcome, NeedsHuman):
        wanted = outcome.criteria
    else:
        wanted = tuple(each.criterion for each in look.verdicts if each.status == "unclear")
    decided: set[int | str] = set()
    for each in decisions:
        if each.decision == "reset":
            decided.discard(each.criterion or each.text)
        elif each.decision == "waive" or each.commit == state.checkpoint:
            decided.add(each.criterion or each.text)
    texts = {task.criterion: fold(task.subject, 200) for task in state.tasks.all}
    for verdict in look.verdicts:
        if verdict.criterion in wanted and verdict.status != "met" and verdict.criterion not in decided:
            why = state.requests.skips.get(verdict.criterion) or verdict.reason or verdict.evidence
            decides = verdict.method in ("human", "judge") or verdict.method.startswith("judge:")
            text = f"criterion {verdict.criterion} ({texts.get(verdict.criterion, '')})"
            yield OpenItem(str(verdict.criterion), text, fold(why, 500), decides)
    for concern in look.concerns:
        if concern.level == "review" and concern.rule not in decided:
            yield OpenItem(concern.rule, concern.rule, fold(concern.what, 500), True)


def _make_task_case(main: Checkout, entry: QueueEntry) -> ApprovalCase:
    """Return the case of a task file that could not be taken up, with lines of it that could be criteria."""
    text = (main.ask("show", f"HEAD:{entry.path}") or "") if "criteria" in entry.reason else ""
    lines = [line.strip().lstrip("-*+ ") for line in text.splitlines() if line.strip().startswith(("- ", "* ", "+ "))]
    proposals = tuple(f"- [ ] {list_item(line, 200)}" for line in lines[:_PROPOSED] if line)
    return ApprovalCase(
        name=f"task-{Path(entry.path).stem}",
        feature="",
        label="",
        original_file=entry.path,
        created=entry.at,
        reason=entry.reason,
        commands=(f"edit {entry.path}, and commit it",),
        notes=proposals,
    )


def find_folder(main: Checkout) -> Path:
    """Return the folder of the pages. Raises AigonError (exit 2) if it is not inside the checkout."""
    name = load_configuration(open_work_tree(main.root)).approvals.folder
    folder = (main.root / name).resolve()
    if not folder.is_relative_to(main.root.resolve()) or folder == main.root.resolve():
        raise usage("The folder of approvals has to be inside the checkout", where="approvals.folder", hint=name)
    return folder


def write_pages(main: Checkout) -> tuple[ApprovalCase, ...]:
    """Write a page for each case, remove those of cases that are decided, and return the cases."""
    cases, folder = list_cases(main), find_folder(main)
    if cases or folder.is_dir():
        ignore_runtime_files(main)
        exclude_from_git(main, [f"/{folder.relative_to(main.root.resolve())}/"], "pages of what waits for a person")
        for page in folder.glob("*.md"):
            if page.stem not in [case.name for case in cases] and _read_head(page).get("type") == "ralph_approval":
                page.unlink()
        for case in cases:
            write_view(folder / f"{case.name}.md", render_page(main, case))
        for name in (APPROVED, REJECTED):
            (folder / name).mkdir(exist_ok=True)
    return cases


def update_pages(checkout: Checkout) -> None:
    """Write the pages anew after a run ended or a person decided. Nothing depends on them, so no error gets out."""
    with suppress(AigonError, OSError), open_main_checkout(checkout) as (main, _):
        write_pages(main)


def render_page(main: Checkout, case: ApprovalCase) -> str:
    """Return the page of a case: its head for programs, what is open and why, how to decide, what changed."""
    head = {
        "type": "ralph_approval", "action": "pending_review", "original_file": case.original_file,
        "iteration": case.iteration, "created": case.created, "status": "pending", "feature": case.feature,
        "label": case.label, "run": case.run, "commit": case.commit,
    }  # fmt: skip
    lines = ["---", *(f"{key}: {json.dumps(value)}" for key, value in head.items()), "---", ""]
    lines += [f"# {fold(case.name)}: {fold(case.reason, 500)}", ""]
    for item in case.items:
        lines += [f"- {item.text}: {list_item(item.reason, 500)}"]
    lines += ["", "## What you can do", "", *(f"    {command}" for command in case.commands), ""]
    if case.decidable:
        lines += [
            f"Or move this file to `{APPROVED}/`, or to `{REJECTED}/` with a line `why: ...` in its head, and run",
            "`aigon approvals --apply`.",
            "",
        ]
    if case.notes:
        lines += ["## Criteria that its text suggests", "", *case.notes, ""]
    if case.commit:
        lines += ["## What changed", "", *(f"    {line}" for line in list_changes(main, case))]
    return "\n".join(lines) + "\n"


def list_changes(main: Checkout, case: ApprovalCase) -> list[str]:
    """Return the diff of a case in short."""
    return [fold(line) for line in list_changed_files(main, case.base, case.commit)] or ["nothing"]


class MovedPage(Struct, frozen=True):
    """A page that a person moved: its case as it is now, and the decision that its place means."""

    file: Path
    case: ApprovalCase
    decision: str
    why: str = ""


def list_moved_pages(main: Checkout) -> tuple[tuple[MovedPage, ...], tuple[AigonError, ...]]:
    """Return the pages that were moved, and an error for each that decides nothing, as it is stale or damaged."""
    folder, cases = find_folder(main), {case.name: case for case in list_cases(main)}
    pages: list[MovedPage] = []
    errors: list[AigonError] = []
    for name, decision in ((APPROVED, "approve"), (REJECTED, "reject")):
        for file in sorted((folder / name).glob("*.md")):
            try:
                pages.append(_match_page(file, cases, decision))
            except AigonError as error:
                errors.append(error)
    return tuple(pages), tuple(errors)


def _match_page(file: Path, cases: Mapping[str, ApprovalCase], decision: str) -> MovedPage:
    head = _read_head(file)
    label = f"-{head['label']}" if head.get("label") else ""
    case = cases.get(f"{head.get('feature')}{label}")
    if head.get("type") != "ralph_approval" or not head.get("feature"):
        raise usage("This page belongs to no case that waits", where=str(file), hint="Remove it")
    if case is None:
        raise usage("This case no longer waits", where=str(file), hint=f"Remove {file.name}")
    if (head.get("run"), head.get("commit")) != (case.run, case.commit):
        what = f"The page is stale: feature {case.feature} has moved on since it was written"
        raise usage(what, where=str(file), hint=f"Read {case.name}.md as it is now, and move that")
    if not case.decidable:
        raise usage("An approval does not decide what is open", where=str(file), hint=" or ".join(case.commands))
    if decision == "reject" and not head.get("why"):
        raise usage("A rejection needs a reason", where=str(file), hint="Write a line `why: ...` into its head")
    return MovedPage(file, case, decision, str(head.get("why") or ""))


def _read_head(file: Path) -> Mapping[str, object]:
    """Return the frontmatter of a page; empty if it has none that can be read."""
    if file.is_symlink():
        return {}
    try:
        text = read_bounded(file, LARGEST_PAGE, "The page", hint="Remove it").decode("utf-8", "replace")
        start, _, rest = text.partition("---\n")
        found = parse_yaml(rest.partition("\n---")[0].encode(), str(file)).value if not start.strip() else {}
    except (AigonError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def describe_case(case: ApprovalCase) -> str:
    """Return a case for a list: what waits, and the commands."""
    about = f"{case.feature}{f' ({case.label})' if case.label else ''}" if case.feature else case.original_file
    lines = [f"{about}: {case.reason}", *(f"  {item.text}: {item.reason}" for item in case.items)]
    return "\n".join([*lines, *(f"    {command}" for command in case.commands)])


def build_case_document(case: ApprovalCase) -> dict[str, object]:
    return {**to_builtins(case), "decidable": list(case.decidable)}
