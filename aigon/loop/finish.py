"""The end of a run: one event with the outcome and a summary that fits on one screen."""

import shlex
from collections.abc import Generator, Iterator, Sequence
from textwrap import wrap
from unicodedata import east_asian_width

from msgspec import Struct
from msgspec.structs import replace

from aigon.job.job import Job
from aigon.job.world import Availability, World
from aigon.journal import best
from aigon.journal.attempt import describe_checks
from aigon.journal.events import Event, RunFinished
from aigon.journal.spending import Spend, describe_spend
from aigon.journal.state import State
from aigon.loop.issues import list_advice, list_remaining
from aigon.loop.roll_back import describe_target, find_better, has_stopped_short, roll_back_if_wanted
from aigon.model.agents import describe_missing_failing_criterion, format_branch_name, format_run_command
from aigon.model.checks import Finding
from aigon.model.criteria import Spec, Verdict
from aigon.model.failures import describe_first_problems, has_failed, select_errors
from aigon.model.outcomes import (
    Interrupted,
    Met,
    NeedsHuman,
    Outcome,
    Refused,
    Stopped,
    Unavailable,
    describe_outcome,
    get_exit_code,
    get_status,
)
from aigon.model.requests import AgentRequest, describe_no_judge
from aigon.model.turns import Turn
from aigon.proof.vacuity import describe_passing
from aigon.text.amounts import format_count, format_duration, list_criteria
from aigon.text.quoting import fold

LINES, COLUMNS = 24, 100
MAX_PROBLEMS = 2
"""Problems of a failed check that the summary names; the log has all of them."""
MAX_CONCERNS = 4
"""Notes of integrity rules that the summary names; the log has all of them."""
ENDING = 4
"""Lines that say how the run ended: a person's question should be there as a whole."""
FEW = 3
"""Files that the next command names; of more it shows the whole change."""


class RunSummary(Struct, frozen=True):
    """The summary for people at the end of a run.

    `commits` are pairs of hash and subject, oldest first; `log` is the path of the iteration log; `turn` is the agent's
    last one; paths below `root` are shown relative to it; `elapsed` and `waited` are in seconds. `about_branch` says
    where the branch is if that is not where the last iteration ended; its lines after the first are commands.
    `iterations` counts those that the run finished.
    """

    outcome: Outcome
    spec: Spec
    verdicts: Sequence[Verdict]
    findings: Sequence[Finding]
    commits: Sequence[tuple[str, str]]
    spend: Spend
    next_command: str
    log: str = ""
    elapsed: float | None = None
    waited: float = 0.0
    about_branch: str = ""
    turn: Turn | None = None
    root: str = ""
    warnings: Sequence[str] = ()
    iterations: int = 0
    advice: Sequence[str] = ()
    proposals: Sequence[str] = ()

    def render(self) -> str:
        """Return at most 24 lines of at most 100 columns.

        The next command, the warnings and what there is to say of the branch are never cut: people copy from them.
        """
        passed, remaining = self._list_criteria()
        said = describe_outcome(self.outcome)
        red = [finding for finding in self.findings if has_failed(finding)]
        sections = [
            ("Not proven", remaining),
            ("Red checks", [line for finding in red for line in _describe(finding, said)]),
            ("What you can do", self.advice),
            ("Proposed by the agent", self.proposals),
            (_name_passed(self.outcome), passed),
            ("Commits", [f"{sha[:10]} {subject}" for sha, subject in reversed(self.commits)]),
            ("See also", list(self._list_references())),
        ]
        top = [*_describe_ending(said), self._count_results(len(passed))]
        about, *commands = self.about_branch.splitlines() or [""]
        branch = [*wrap(about, COLUMNS - 2, break_long_words=False, break_on_hyphens=False), *commands]
        branch += [line for text in self.warnings for line in wrap(text, COLUMNS - 2, break_on_hyphens=False)]
        last = [f"Next: {fold(self.next_command, 2000)}"] if self.next_command.strip() else []
        body = _fit([section for section in sections if section[1]], LINES - len(top) - len(branch) - len(last))
        return "\n".join([*map(_cut, top), *branch, *map(_cut, body), *last]) + "\n"

    def _list_criteria(self) -> tuple[list[str], list[str]]:
        """Return a line for each criterion: of those that passed, and of the others."""
        by_number = {verdict.criterion: verdict for verdict in self.verdicts}
        passed, others = [], []
        for criterion in self.spec.criteria:
            verdict, text = by_number.get(criterion.number), fold(criterion.text)
            if verdict and verdict.status == "met":
                mark = " " if verdict.is_waived else "x"
                passed.append(f"[{mark}] {criterion.number}. {_cut(text, 60)} ({verdict.method.replace(':', ' ')})")
            else:
                reason = fold(verdict.reason or verdict.evidence) if verdict else "not assessed"
                doubt = "needs review: " if verdict and verdict.status == "unclear" else ""
                others.append(f"[ ] {criterion.number}. {_cut(text, 50)}: {doubt}{reason or 'no reason given'}")
        return passed, others

    def _count_results(self, proven: int) -> str:
        facts = [f"{proven} of {len(self.spec.criteria)} criteria passed", describe_checks(self.findings)]
        facts += [format_count(self.iterations, "iteration")] if self.iterations else []
        facts += [describe_spend(self.spend)]
        facts += [] if self.elapsed is None else [format_duration(self.elapsed)]
        facts += [f"waited {format_duration(self.waited)}"] if self.waited >= 1 else []
        return " · ".join(facts)

    def _list_references(self) -> Iterator[str]:
        numbers = {criterion.number for criterion in self.spec.criteria}
        unclear = sorted(v.criterion for v in self.verdicts if v.status == "unclear" and v.criterion in numbers)
        if unclear and not any(finding.role == "integrity" and has_failed(finding) for finding in self.findings):
            yield f"for a person to decide: {list_criteria(unclear)}"
        for finding in self.findings:
            if has_failed(finding) and finding.log:
                yield f"output of {finding.title}: {finding.log.removeprefix(f'{self.root}/')}"
        if self.turn and self.turn.log and not isinstance(self.outcome, Met):
            yield f"output of {self.turn.agent}: {self.turn.log}"
        for finding in self.findings:
            if finding.role == "integrity":
                notes = [problem for problem in finding.problems if problem.severity == "warning"]
                yield from (f"{note.rule}: {note.message}" for note in notes[:MAX_CONCERNS])
        if self.log:
            yield f"iteration log: {self.log}"


def _describe(finding: Finding, said: str) -> list[str]:
    """Return what a failed check found and its first problems, nothing if that is `said` already."""
    problems = [each for each in select_errors(finding) if each.message not in said]
    if finding.summary and finding.summary in said and not problems:
        return []
    listed = describe_first_problems(replace(finding, problems=tuple(problems)), MAX_PROBLEMS)
    return [f"{finding.title}: {finding.summary or finding.status}", *(f"  {line}" for line in listed)]


def _name_passed(outcome: Outcome) -> str:
    """Return what the list of criteria that passed is called: they are proven only once the feature is."""
    if isinstance(outcome, NeedsHuman) and outcome.nothing_built:
        return "Passed already"
    return "Proven" if isinstance(outcome, Met) else "Passed"


def _describe_ending(said: str) -> list[str]:
    """Return how the run ended, on a few lines at most."""
    lines = wrap(fold(said, 2 * ENDING * COLUMNS), COLUMNS - 2)
    return lines if len(lines) <= ENDING else [*lines[: ENDING - 1], f"{lines[ENDING - 1]} …"]


def _fit(sections: Sequence[tuple[str, Sequence[str]]], room: int) -> list[str]:
    """Return all sections in `room` lines. The longest gives up rows until they fit, and says how many.

    The titles stay, even without room for them.
    """
    shown = [len(rows) for _, rows in sections]
    while any(shown) and sum(1 + number for number in shown) > room:
        shown[shown.index(max(shown))] -= 1
    lines = []
    for (title, rows), number in zip(sections, shown, strict=True):
        texts = [f"  {fold(row)}" for row in rows]
        if number < len(rows):
            texts = [*texts[: number - 1], f"  and {len(rows) - number + 1} more"] if number else []
        lines += [f"{title} ({len(rows)})", *texts]
    return lines


def _cut(line: str, columns: int = COLUMNS) -> str:
    """Return at most `columns` of a terminal, in which East Asian characters are two wide."""
    widths = [2 if east_asian_width(char) in "WF" else 1 for char in line]
    if sum(widths) <= columns:
        return line
    kept, used = 0, 1  # the ellipsis
    while used + widths[kept] <= columns:
        used += widths[kept]
        kept += 1
    return line[:kept] + "…"


def finish(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, Outcome]:
    """Return the outcome after going back to the best iteration commit, if that is wanted, and reporting the end."""
    state = yield from roll_back_if_wanted(job, world, outcome, state)
    issues: tuple[str, ...] = ()
    if isinstance(outcome, Met):
        outcome = replace(outcome, iteration=state.last.number if state.last else 0)
    elif state.last:
        issues = list_remaining(state.last.findings, state.last.verdicts, job.spec.criteria)
    text, code = _summarise_run(job, world, outcome, state).render(), int(get_exit_code(outcome))
    tip, proven = world.workspace.tip() or "", state.checkpoint if isinstance(outcome, Met) else ""
    if tip and proven and tip != proven and world.workspace.paths_changed(proven, tip):
        tip = proven  # somebody has committed since, a hook perhaps
    yield RunFinished(world.now(), outcome, get_status(outcome), code, text, tip, state.done, issues)
    return outcome


def _summarise_run(job: Job, world: World, outcome: Outcome, state: State) -> RunSummary:
    look = state.last
    has_advice = state.done and not isinstance(outcome, Met | Interrupted)
    return RunSummary(
        outcome=outcome,
        spec=job.spec,
        verdicts=look.verdicts if look else (),
        findings=look.findings if look else (),
        commits=world.workspace.history(job.base_commit),
        spend=state.spend,
        next_command=suggest_command(job, outcome, state, str(world.workspace.root)),
        log=job.log_path if world.own_files.get(job.log_path) else "",
        elapsed=world.elapsed(),
        waited=world.get(Availability).waited_in_all,
        about_branch=_describe_branch(job, outcome, state),
        turn=state.turn,
        root=str(world.checkout),
        warnings=(
            *describe_passing(job.spec.criteria, look.passed_at_base if look else ()),
            *_warn_of_no_judge(job, world, outcome),
        ),
        iterations=state.done,
        advice=list_advice(state, {check.name: check.cwd for check in job.checks}) if has_advice else (),
        proposals=[_build_create_command(each) for each in state.requests.proposals],
    )


def _warn_of_no_judge(job: Job, world: World, outcome: Outcome) -> Iterator[str]:
    """Yield what would have decided the criteria that wait for a person only because there is no judge."""
    numbers = outcome.criteria if isinstance(outcome, NeedsHuman) and not outcome.nothing_built else ()
    waiting = [c.number for c in job.spec.criteria if c.kind == "judge" and c.number in numbers]
    if waiting and job.judge is None:
        is_begun = bool(world.workspace.history(job.base_commit))
        name, has_tests = job.feature.name_for_people, bool(job.acceptance)
        yield describe_no_judge(waiting, name, has_tests=has_tests, is_begun=is_begun)


def _describe_branch(job: Job, outcome: Outcome, state: State) -> str:
    """Return where the branch is, if that is not where the last iteration ended or not where it is best."""
    if back := state.rolled_back:
        last = state.last
        target = f"{best.name_assessment(last)} ({best.describe_progress(last, state.base)})" if last else ""
        return f"went back to {target}; {_name_undone(state)} saved aside as {back.ref}"
    better = find_better(state) if has_stopped_short(outcome, state) else None
    if better is None:
        return ""
    command = f"{format_run_command(job.feature.name_for_people, job.label)} --resume-from best"
    target = describe_target(better, state)
    return (
        f"The best iteration commit is {target}. To save aside what came after it and continue from there:\n  {command}"
    )


def _name_undone(state: State) -> str:
    """Return `iterations 3 and 4 are`."""
    first, *_, last = (*state.taken_back, state.undone)
    if first == last:
        return f"iteration {last} is"
    return f"iterations {first} {'and' if last == first + 1 else 'to'} {last} are"


def suggest_command(job: Job, outcome: Outcome, state: State, root: str) -> str:
    """Return what a person would type next. A worktree at `root` has a spec of its own, the one that counts."""
    name, spec = job.feature.name_for_people, f"{root}/{job.spec_path}" if job.label else job.spec_path
    resume = format_run_command(name, job.label)
    if job.purpose != "build":
        again = f"aigon feature-prove {name} --resume"
        return f"aigon approve {name} tests" if isinstance(outcome, NeedsHuman) else again
    match outcome:
        case Met():
            return f"aigon feature-done {name}{f' {job.label}' if job.label else ''}"
        case NeedsHuman(nothing_built=True):
            return describe_missing_failing_criterion(name, job.label, spec)
        case NeedsHuman(allow=paths) if paths:
            line = f"allow: [{', '.join((*job.protection.allow, *paths))}]"
            return f"say {line} in the frontmatter of {spec} if it may, then {resume} --accept-spec"
        case NeedsHuman(criteria=numbers):
            return _suggest_decision(job, state, resume, numbers, spec)
        case Stopped(guard="stop-file"):
            return f"remove the stop file, then {resume}"
        case Stopped(guard="iterations") if job.limits.all_used:
            return f"{resume} --max-iterations N"
        case Stopped(guard="cost") if not (state.unpriced or state.lost):
            return f"{resume} --max-cost USD"
        case Refused():
            return f"aigon feature-status {name}"
        case Unavailable() if state.turn and state.turn.end == "bad_credentials":
            return f"{_suggest_login(job, state.turn.agent)}, then {resume}"
        case _:
            return resume


def _suggest_login(job: Job, agent: str) -> str:
    """Return how a person logs in to the agent of this name; its configuration may have a key as well."""
    agents = (step.agent for line in (job.steps, *job.fallback) for step in line)
    kind = next((each.kind for each in agents if each.name == agent and each.kind), None)
    return f"log in to {kind.title} ({kind.login})" if kind and kind.login else f"give {agent} a key that is good"


def _suggest_decision(job: Job, state: State, resume: str, numbers: Sequence[int], spec: str) -> str:
    """Return how a person settles what remains: by approval if that decides, else by what is missing."""
    name, agent = job.feature.name_for_people, f" --agent {job.label}" if job.label else ""
    concerns = state.last.concerns if state.last else ()
    reviews = [concern for concern in concerns if concern.level == "review"]
    rules = list(dict.fromkeys(concern.rule for concern in reviews))
    decidable = [str(c.number) for c in job.spec.criteria if c.number in numbers and c.kind in ("human", "judge")]
    if rules:  # a judge waits for these: once they are approved, it is asked again
        branch = f"..{format_branch_name(job.feature.id, job.label, job.feature.slug)}" if job.label else ""
        approve = f"aigon approve {name} {' '.join(rules)}{agent} (or reject)"
        paths = dict.fromkeys(path for concern in reviews for path in concern.paths)
        of_paths = f" -- {shlex.join(paths)}" if all(c.paths for c in reviews) and len(paths) <= FEW else ""
        return f"git diff {job.base_commit[:12]}{branch}{of_paths}, then {approve}, then {resume}"
    if skipped := [f"{name}.{number}" for number in numbers if number in state.requests.skips]:
        waive = f"aigon run skip {' '.join(skipped)}{agent} --reason WHY waives what is not needed"
        return f"{waive}; else fix {spec}; then {resume}"
    if decidable:
        return f"aigon approve {name} {' '.join(decidable)}{agent} (or reject), then {resume}"
    if job.demand.skip_validation:
        return f"{resume} --no-skip-validation"
    if not numbers:
        return f"fix what the proof lacks, then {resume}"
    return f"fix {spec}, then {resume} --accept-spec"


def _build_create_command(proposal: AgentRequest) -> str:
    """Return the command that makes a feature of what the agent proposed."""
    priority = f" --priority {proposal.priority}" if proposal.priority else ""
    return f"aigon feature-create {shlex.quote(proposal.text)}{priority}"
