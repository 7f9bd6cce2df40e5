"""Iterations one by one: who worked, what it cost, what was red after it, what it changed."""

from aigon.journal.account import FeatureAccount, WorkAccount, count_changed_lines, count_tests
from aigon.journal.history import IterationRecord
from aigon.journal.spending import format_cost
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Promise
from aigon.model.failures import format_location, group_problems, has_failed, select_errors
from aigon.model.turns import Turn
from aigon.text.amounts import format_count, format_duration, format_timestamp
from aigon.views.report.criteria import output
from aigon.views.report.head import anchor
from aigon.views.report.markup import Bounds, Links, Markup, block, folding, joined, line, tag
from aigon.views.report.words import title_of, turn_end


def iterations(account: FeatureAccount, work: WorkAccount, bounds: Bounds) -> Markup:
    """The newest in full, those before them as a line each; before those, how many there were."""
    full = work.steps[max(0, len(work.steps) - bounds.full) :]
    brief = work.steps[: len(work.steps) - len(full)][-bounds.columns :]
    left = len(work.steps) - len(full) - len(brief)
    return joined(
        [
            tag("p", f"{format_count(left, 'earlier iteration')} not shown.", class_="how") if left else None,
            *(tag("p", _title(account, work, step), class_="brief") for step in brief),
            *(_full(account, work, step, bounds) for step in full),
        ]
    )


def _full(account: FeatureAccount, work: WorkAccount, step: IterationRecord, bounds: Bounds) -> Markup:
    red = [found for found in step.look.findings if has_failed(found)]
    return folding(
        _title(account, work, step),
        *(_turn(turn, bounds) for turn in step.turns),
        *(_promise(promise) for promise in step.look.promises),
        *(_red(account, work, step, found, bounds) for found in red),
        tag("p", f"Looked at {format_timestamp(step.look.at)}.", class_="how")
        if format_timestamp(step.look.at)
        else None,
        class_="iteration",
        id=anchor(work, f"iteration-{step.number}"),
    )


def _promise(promise: Promise) -> Markup:
    worth = "kept" if promise.kept else f"broken ({promise.why})"
    return tag("p", "Promise ", tag("code", line(promise.text, 100)), ": ", line(worth, 300))


def _title(account: FeatureAccount, work: WorkAccount, step: IterationRecord) -> Markup:
    """`Iteration 2: 6 of 7 criteria, 19/20 tests, +12 −3, $0.10 (reported), 1m 12s, 1a2b3c4d`."""
    tests, (added, removed) = count_tests(step), count_changed_lines(step.look.changes)
    parts: list[object] = [f"{step.proven} of {work.total} criteria"]
    parts += [f"{tests[0]}/{tests[1]} tests"] if tests else []
    parts += [f"+{added:,} −{removed:,}"] if step.look.changes else []
    parts += [f"cost {format_cost(turn.cost, turn.cost_status)}" for turn in step.turns[-1:]]
    parts += [format_duration(sum(turn.duration for turn in step.turns))] if step.turns else []
    parts += [Links(account, work).commit(step.look.checkpoint)] if step.look.checkpoint else []
    parts += ["rolled back"] if step.undone else []
    return joined([tag("b", title_of(step)), tag("span", joined(parts, " · "), class_="facts-line")])


def _turn(turn: Turn, bounds: Bounds) -> Markup:
    model = f" with {turn.model}" if turn.model else ""
    tokens = f", {turn.usage.input + turn.usage.cached:,} tokens in and {turn.usage.output:,} out" if turn.usage else ""
    price = f"cost {format_cost(turn.cost, turn.cost_status)}"
    said = f"{turn.agent}{model}: {turn_end(turn)} after {format_duration(turn.duration)}, {price}"
    why = tag("p", line(turn.detail, bounds.text), class_="reason") if turn.detail and turn.end != "finished" else None
    denied = f"Denied permissions: {', '.join(turn.denied)}" if turn.denied else ""
    not_permitted = tag("p", line(denied, bounds.text), class_="reason") if denied else None
    claim = turn.said.strip() and bounds.said
    words = folding("What the agent said (a claim, no evidence)", block(turn.said, bounds.said)) if claim else None
    return joined([tag("p", line(f"{said}{tokens}", bounds.text)), why, not_permitted, words])


def _red(account: FeatureAccount, work: WorkAccount, step: IterationRecord, found: Finding, bounds: Bounds) -> Markup:
    """A check that was red, and its complaints: those that say the same are one."""
    commit = step.look.checkpoint
    kinds = group_problems(select_errors(found))
    shown = [
        tag("li", _problem(account, work, group.example, commit), _more(len(group.problems)))
        for group in kinds[: bounds.problems]
    ]
    left = len(kinds) - len(shown)
    rest = tag("li", f"{left} more kinds") if left and shown else None
    listed = tag("ul", *shown, rest, class_="problems") if shown else None
    head = tag("p", tag("span", tag("b", "✗"), f" {found.title}", class_="sign unmet"), " ", line(found.summary, 200))
    return joined([head, listed, output(work, found, bounds) if found.excerpt else None])


def _more(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def _problem(account: FeatureAccount, work: WorkAccount, problem: Problem, commit: str) -> Markup:
    said = line(next((each for each in problem.message.splitlines() if each.strip()), "no message"), 240)
    about = tag("code", problem.test[:160]) if problem.test else None
    place = Links(account, work).file(problem.file, problem.line, commit) if format_location(problem) else None
    parts = [part for part in (about, place) if part]
    return joined([said, *([tag("span", " ", joined(parts, ", "), class_="place")] if parts else [])])
