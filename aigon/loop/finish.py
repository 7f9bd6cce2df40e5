"""The end of a run: one event with the outcome and a summary that fits on one screen."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from unicodedata import east_asian_width

from aigon.job.job import Job
from aigon.job.world import Availability, World
from aigon.journal import best
from aigon.journal.attempt import describe_checks
from aigon.journal.events import Event, RunFinished
from aigon.journal.spending import Spend, describe_spend
from aigon.journal.state import State
from aigon.loop.issues import list_advice, list_remaining
from aigon.loop.roll_back import describe_target, find_better, has_stopped_short, roll_back_if_wanted
from aigon.model.candidates import describe_missing_failing_criterion, format_branch_name, format_run_command
from aigon.model.changes import Concern
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.failures import describe_first_problems, has_failed
from aigon.model.judging import describe_no_judge
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
from aigon.model.turns import Turn
from aigon.proof.vacuity import describe_passing
from aigon.text.amounts import format_count, format_duration, list_criteria
from aigon.text.quoting import fold

LINES = 24
NAMED = 2
"""Problems of a red check that the summary names; the log has all of them."""
COLUMNS = 100
NOTES = 4
"""Integrity findings that the summary names; the log has them all."""
Section = tuple[str, list[str]]


def render_summary(
    *,
    outcome: Outcome,
    spec: Spec,
    verdicts: Sequence[Verdict],
    findings: Sequence[Finding],
    commits: Sequence[tuple[str, str]],
    spend: Spend,
    log: str,
    next_command: str,
    elapsed: float | None,
    waited: float = 0.0,
    about_branch: str = "",
    turn: Turn | None = None,
    root: str = "",
    warnings: Sequence[str] = (),
    iterations: int = 0,
    advice: Sequence[str] = (),
) -> str:
    """At most 24 lines of at most 100 columns; only the next command is never cut, so that it can be pasted.

    `commits` are pairs of hash and subject, oldest first; `log` is the iteration log's path; `turn` is the agent's last
    one; paths below `root` are shown relative to it; `elapsed` and
    `waited` (for an agent that was held up, beside that) in seconds; `about_branch` says where the branch stands, where
    that is not where the last iteration ended, and is never cut: it names where the rest is, and its lines after the
    first are commands. Neither are `warnings` cut.
    `iterations` is how many the run has finished, `advice` what a person can do about checks that never passed.
    """
    by_number = {v.criterion: v for v in verdicts}
    empty = isinstance(outcome, NeedsHuman) and outcome.nothing_built
    sections = [
        ("Not proven", [_open(c, by_number.get(c.number)) for c in spec.criteria if not _met(c, by_number)]),
        ("Red checks", [line for f in findings if has_failed(f) for line in _red(f)]),
        ("What you can do", list(advice)),
        (
            "Passed already" if empty else "Proven",
            [_proven(c, by_number[c.number]) for c in spec.criteria if _met(c, by_number)],
        ),
        ("Commits", [f"{sha[:10]} {subject}" for sha, subject in reversed(commits)]),
        ("See also", _see_also(spec, by_number, findings, log, None if isinstance(outcome, Met) else turn, root)),
    ]
    wrapped = [line for text in warnings for line in wrap(text, COLUMNS - 2, break_on_hyphens=False)]
    top = [*_ending(outcome), _facts(spec, by_number, findings, iterations, spend, elapsed, waited)]
    about, *commands = about_branch.splitlines() or [""]
    branch = [*wrap(about, COLUMNS - 2, break_long_words=False, break_on_hyphens=False), *commands, *wrapped]
    last = [f"Next: {fold(next_command, 2000)}"] if next_command.strip() else []
    body = _fitted([s for s in sections if s[1]], LINES - len(top) - len(branch) - len(last))
    return "\n".join([*map(_cut, top), *branch, *map(_cut, body), *last]) + "\n"


def _red(finding: Finding) -> list[str]:
    """What a check came to, and the first things that it names."""
    return [
        f"{finding.title}: {finding.summary or finding.status}",
        *(f"  {line}" for line in describe_first_problems(finding, NAMED)),
    ]


def _ending(outcome: Outcome) -> list[str]:
    """How the run ended, on two lines at most."""
    lines = wrap(fold(describe_outcome(outcome), 4 * COLUMNS), COLUMNS - 2)
    return lines if len(lines) <= 2 else [lines[0], lines[1] + " …"]


def _facts(
    spec: Spec,
    by_number: dict[int, Verdict],
    findings: Sequence[Finding],
    iterations: int,
    spend: Spend,
    elapsed: float | None,
    waited: float,
) -> str:
    met = sum(_met(c, by_number) for c in spec.criteria)
    facts = [f"{met} of {len(spec.criteria)} criteria passed", describe_checks(findings)]
    facts += [format_count(iterations, "iteration")] if iterations else []
    facts += [describe_spend(spend)]
    facts += [] if elapsed is None else [format_duration(elapsed)]
    return " · ".join([*facts, f"waited {format_duration(waited)}"] if waited >= 1 else facts)


def _met(criterion: Criterion, by_number: dict[int, Verdict]) -> bool:
    verdict = by_number.get(criterion.number)
    return verdict is not None and verdict.status == "met"


def _open(criterion: Criterion, verdict: Verdict | None) -> str:
    reason = fold(verdict.reason or verdict.evidence) if verdict else "not assessed"
    doubt = "needs review: " if verdict and verdict.status == "unclear" else ""
    return f"[ ] {criterion.number}. {_cut(fold(criterion.text), 50)}: {doubt}{reason or 'no reason given'}"


def _proven(criterion: Criterion, verdict: Verdict) -> str:
    return f"[x] {criterion.number}. {_cut(fold(criterion.text), 60)} ({verdict.method.replace(':', ' ')})"


def _see_also(
    spec: Spec, by_number: dict[int, Verdict], findings: Sequence[Finding], log: str, turn: Turn | None, root: str
) -> list[str]:
    unclear = [c.number for c in spec.criteria if c.number in by_number and by_number[c.number].status == "unclear"]
    lines = [f"for a person to decide: {list_criteria(unclear)}"] if unclear else []
    lines += [f"output of {f.title}: {f.log.removeprefix(f'{root}/')}" for f in findings if has_failed(f) and f.log]
    lines += [f"output of {turn.agent}: {turn.log}"] if turn and turn.log else []
    lines += [f"{p.rule}: {p.message}" for f in findings if f.role == "integrity" for p in f.problems[:NOTES]]
    return [*lines, f"iteration log: {log}"] if log else lines


def _fitted(sections: Sequence[Section], room: int) -> list[str]:
    """All sections in `room` lines: the longest gives up a row until they fit, and says how many it left out."""
    shown = [len(rows) for _, rows in sections]
    while sum(1 + n for n in shown) > room:
        longest = max(range(len(shown)), key=lambda i: shown[i])
        shown[longest] -= 1
    return [line for (title, rows), n in zip(sections, shown, strict=True) for line in _section(title, rows, n)]


def _section(title: str, rows: Sequence[str], room: int) -> list[str]:
    """The title with the number of rows, and what of them fits in `room`; the last line tells of the rest."""
    lines = [f"  {fold(row)}" for row in rows]
    if len(rows) > room:
        lines = [*lines[: room - 1], f"  and {len(rows) - room + 1} more"]
    return [f"{title} ({len(rows)})", *lines]


def _cut(line: str, columns: int = COLUMNS) -> str:
    """At most `columns` of a terminal, in which East Asian characters are two wide."""
    if sum(map(_width, line)) <= columns:
        return line
    used, kept = 1, ""
    for char in line:
        used += _width(char)
        if used > columns:
            break
        kept += char
    return kept + "…"


def _width(char: str) -> int:
    return 2 if east_asian_width(char) in "WF" else 1


def finish(job: Job, world: World, outcome: Outcome, state: State) -> Generator[Event, State, Outcome]:
    """Say how the run ended, after going back to the best iteration commit where that is wanted."""
    state = yield from roll_back_if_wanted(job, world, outcome, state)
    tip = world.workspace.tip() or ""
    issues: tuple[str, ...] = ()
    if isinstance(outcome, Met):
        outcome = replace(outcome, iteration=state.last.number if state.last else 0)
    elif state.last:
        issues = list_remaining(state.last.findings, state.last.verdicts, job.spec.criteria)
    text = summarise_run(job, world, outcome, state)
    code = int(get_exit_code(outcome))
    yield RunFinished(world.now(), outcome, get_status(outcome), code, text, tip, state.done, issues)
    return outcome


def summarise_run(job: Job, world: World, outcome: Outcome, state: State) -> str:
    """Outcome, what is proven, what is not and why, the commits, the next command."""
    look = state.last
    return render_summary(
        outcome=outcome,
        spec=job.spec,
        verdicts=look.verdicts if look else (),
        findings=look.findings if look else (),
        commits=world.workspace.history(job.base_commit),
        spend=state.spend,
        log=job.log_path if world.own_files.get(job.log_path) else "",
        next_command=suggest_command(job, outcome, state),
        elapsed=world.elapsed(),
        waited=world.get(Availability).waited_in_all,
        about_branch=_about_branch(job, outcome, state),
        turn=state.turn,
        root=str(world.checkout),
        warnings=(
            *describe_passing(job.spec.criteria, look.passed_at_base if look else ()),
            *_about_judge(job, outcome),
        ),
        iterations=state.done,
        advice=_advice(job, outcome, state),
    )


def _advice(job: Job, outcome: Outcome, state: State) -> Sequence[str]:
    if not state.done or isinstance(outcome, Met | Interrupted):
        return ()
    return list_advice(state, {check.name: check.cwd for check in job.checks})


def _about_judge(job: Job, outcome: Outcome) -> Iterator[str]:
    """Yield what would have decided the criteria that wait for a person only because there is no judge."""
    numbers = outcome.criteria if isinstance(outcome, NeedsHuman) and not outcome.nothing_built else ()
    waiting = [c.number for c in job.spec.criteria if c.kind == "judge" and c.number in numbers]
    if waiting and job.judge is None:
        yield describe_no_judge(waiting, job.feature.name_for_people)


def _about_branch(job: Job, outcome: Outcome, state: State) -> str:
    """Where the branch stands, if that is not where the last iteration ended, or not where it is best."""
    if went := state.rolled_back:
        far = (
            f"{best.name_assessment(state.last)} ({best.describe_progress(state.last, state.base)})"
            if state.last
            else ""
        )
        return f"went back to {far}; {_undone(state)} parked as {went.ref}"
    there = find_better(state) if has_stopped_short(outcome, state) else None
    if there is None:
        return ""
    back = f"{format_run_command(job.feature.name_for_people, job.label)} --resume-from best"
    target = describe_target(there, state)
    return f"The best checkpoint is {target}. To park what came after it and continue from there:\n  {back}"


def _undone(state: State) -> str:
    """`iterations 3 and 4 are`."""
    first, *_, last = (*state.taken_back, state.undone)
    if first == last:
        return f"iteration {last} is"
    return f"iterations {first} {'and' if last == first + 1 else 'to'} {last} are"


def suggest_command(job: Job, outcome: Outcome, state: State) -> str:
    """What a person would type next."""
    name = job.feature.name_for_people
    resume = format_run_command(name, job.label)
    match outcome:
        case Met():
            return f"aigon feature-done {name}{f' {job.label}' if job.label else ''}"
        case NeedsHuman(nothing_built=True):
            return describe_missing_failing_criterion(name, job.label, job.spec_path)
        case NeedsHuman(criteria=numbers):
            return _by_a_person(job, resume, numbers, state.last.concerns if state.last else ())
        case Stopped(guard="stop-file"):
            return f"remove the stop file, then {resume}"
        case Stopped(guard="cost") if not (state.unpriced or state.lost):
            return f"{resume} --max-cost USD"
        case Refused():
            return f"aigon feature-status {name}"
        case Unavailable() if state.turn and state.turn.end == "bad_credentials":
            return f"{_login(job, state.turn.agent)}, then {resume}"
        case _:
            return resume


def _login(job: Job, agent: str) -> str:
    """How a person logs in to the agent of this name; its configuration may have a key as well."""
    kinds = (step.agent.kind for ladder in (job.steps, *job.fallback) for step in ladder if step.agent.name == agent)
    kind = next((each for each in kinds if each), None)
    return f"log in to {kind.title} ({kind.login})" if kind and kind.login else f"give {agent} a key that is good"


def _by_a_person(job: Job, resume: str, numbers: Sequence[int], concerns: Sequence[Concern]) -> str:
    """How a person settles what is open: by approval where that decides, else by what was missing."""
    name, whose = job.feature.name_for_people, f" --agent {job.label}" if job.label else ""
    rules = list(dict.fromkeys(concern.rule for concern in concerns if concern.level == "review"))
    decidable = [str(c.number) for c in job.spec.criteria if c.number in numbers and c.kind in ("human", "judge")]
    if rules:  # a judge's word waits for these: approved, it is asked again
        approve = f"aigon approve {name} {' '.join(rules)}{whose} (or reject)"
        branch = format_branch_name(job.feature.id, job.label, job.feature.slug) if job.label else ""
        change = f"{job.base_commit[:12]}..{branch}" if branch else job.base_commit[:12]
        return f"git diff {change}, then {approve}, then {resume}"
    if decidable:
        return f"aigon approve {name} {' '.join(decidable)}{whose} (or reject), then {resume}"
    if job.demand.skip_validation:
        return f"{resume} --no-skip-validation"
    if not numbers:
        return f"fix what the proof lacks, then {resume}"
    return f"fix {job.spec_path}, then {resume} --accept-spec"
