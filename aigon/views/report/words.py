"""Words that the report's page and its Markdown share, the page about acceptance tests, and text of others on pages.

That text stays text, shows nothing that a reader cannot see, and has a limit.
"""

from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup, escape
from msgspec import structs
from msgspec.structs import replace

from aigon.files.resources import find_resource, read_shipped
from aigon.journal.account import FeatureAccount, WorkAccount, count_changed_lines, seconds_between
from aigon.journal.attempt import describe_checks
from aigon.journal.decisions import Acceptance
from aigon.journal.history import IterationRecord, RunRecord
from aigon.journal.spending import describe_spend, format_cost
from aigon.model.agents import format_run_command
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, describe_outcome, describe_success
from aigon.model.turns import Turn
from aigon.proof.vacuity import describe_passing
from aigon.spec.annotation import DECISION_RULES
from aigon.text.amounts import format_count, format_duration, format_timestamp
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import clean, clip, code_block, code_span, fold

_TABLES: Any = parse_yaml(read_shipped("templates", "words.yaml"), "templates/words.yaml").value
STANDINGS, CHECKS, VERDICTS, CONCERNS = (_TABLES[name] for name in ("statuses", "checks", "verdicts", "concerns"))
"""A sign and a word for how a work ended, for a finding, a verdict and a concern."""
CHANGES, CHIPS = _TABLES["changes"], _TABLES["chips"]
NOT_ASSESSED = "not assessed"
_METHODS: dict[str, str] = {kind: rule.method for kind, rule in DECISION_RULES.items()} | _TABLES["methods"]
_READ = 20
"""Times the limit that is read of a text before it is cleaned: what a terminal does not show must not use it up."""
_CODE = compile_re(r"`([^`\n]+)`")


def describe_outcomes(account: FeatureAccount) -> str:
    """Return how all works ended, in one sentence."""
    if len(account.works) == 1:
        return describe_work(account.works[0])
    works = format_count(len(account.works), "agent")
    running = sum(work.running for work in account.works)
    still = f"; {format_count(running, 'loop')} still running" if running else ""
    if not account.proven:
        best = account.shown_first
        return f"None of {works} has proven it: the furthest is {best.name} with {format_score(best)} criteria{still}."
    names = ", ".join(work.name for work in account.proven)
    return f"{len(account.proven)} of {works} proved every criterion: {names}{still}."


def describe_work(work: WorkAccount) -> str:
    """Return how one work ended, in a sentence."""
    outcome, after = work.history.outcome, format_count(_count_iterations(work), "iteration")
    if work.running and not work.steps:
        return "A loop has started and is assessing the baseline."
    if work.running:
        return f"A loop is working on it: {format_score(work)} criteria passed after {after}."
    if isinstance(outcome, Met):
        caveats = "".join(f"; {caveat}" for caveat in outcome.caveats)
        return f"{describe_success(outcome)}, after {after}{caveats}."
    why = describe_outcome(outcome).rstrip(".") if outcome else "The last run ended without an outcome"
    return f"{why}. {format_score(work)} criteria passed after {after}."


def recommend(account: FeatureAccount) -> tuple[str, WorkAccount | None, str]:
    """Return what to do now, the work that it is about (None for no single one), and the command."""
    name, proven, proposed = account.feature.name_for_people, account.proven, _find_winner(account)
    if account.feature.stage == "done":
        return "It is done already.", None, ""
    if len(proven) == 1:
        label = f" {proven[0].label}" if proven[0].label else ""
        into = f", to merge it into {account.target}" if account.target else ""
        return f"Take this branch{into}:", proven[0], f"aigon feature-done {name}{label}"
    if proposed:
        return "Take this branch, the comparison says:", proposed, f"aigon feature-done {name} {proposed.label}"
    if proven:
        return "Compare those that proved it:", None, f"aigon feature-eval {name}"
    if any(work.running for work in account.works):
        return "Not ready to merge yet. Follow it with:", None, f"aigon feature-status {name}"
    best = account.shown_first
    return "Not ready to merge. Continue with:", best, format_run_command(name, best.label)


def list_reasons(account: FeatureAccount) -> tuple[str, ...]:
    """Return why the comparison proposes its winner; none if that no longer holds."""
    return account.proposed.reasons if account.proposed and _find_winner(account) else ()


def _find_winner(account: FeatureAccount) -> WorkAccount | None:
    proposed = account.proposed
    if proposed is None or proposed.kind != "winner":
        return None
    return next((work for work in account.proven if work.label == proposed.label), None)


def list_facts(work: WorkAccount) -> list[tuple[str, str]]:
    """Return the numbers that count, by name."""
    changes = f"{format_lines(*count_changed_lines(work.changes))} in {format_count(len(work.changes), 'file')}"
    used, runs = _count_iterations(work), work.history.runs
    limit = runs[0].started.max_iterations if len(runs) == 1 else 0  # a resume counts anew
    return [
        ("Criteria", f"{format_score(work)} passed"),
        ("Checks", describe_checks(work.findings).replace(" checks", "", 1)),
        ("Cost", _describe_cost(work)),
        ("Time", format_duration(work.seconds)),
        ("Iterations", f"{used} of at most {limit}" if limit and used <= limit else str(used)),
        ("Changes", changes if work.changes else "none"),
    ]


def _describe_cost(work: WorkAccount) -> str:
    """Return what all runs cost, and how well that is known."""
    history = work.history
    known = history.statuses - {"unknown"}
    if not history.statuses and not history.spend.usd:
        return "nothing spent"
    if not known or (history.spend.unknown and not history.spend.usd):
        return "unknown"
    return f"{describe_spend(history.spend)} ({next(iter(known)) if len(known) == 1 else 'partly estimated'})"


def _count_iterations(work: WorkAccount) -> int:
    return sum(step.number > 0 for step in work.steps)


def format_score(work: WorkAccount) -> str:
    """Return `5 of 7`."""
    return f"{work.proven} of {work.total}"


def format_lines(added: int, removed: int) -> str:
    """Return `+12 −3`; git counts no lines of a binary file."""
    return "binary" if added < 0 or removed < 0 else f"+{added:,} −{removed:,}"


def list_vacuous(work: WorkAccount) -> tuple[str, ...]:
    """Return the warnings about criteria that passed before anything was built."""
    items = []
    for item in work.items:  # with the check that a run bound it to: the spec alone does not tell
        verdict = work.verdict(item.number)
        if item.kind == "judge" and verdict and verdict.method.startswith("check:"):
            item = replace(item, kind="check", command=verdict.method.removeprefix("check:"))
        items.append(item)
    return describe_passing(items, work.last.look.passed_at_base) if work.last else ()


def describe_method(verdict: Verdict | None) -> str:
    """Return how a criterion was decided."""
    if verdict is None:
        return NOT_ASSESSED
    if verdict.method.startswith("check:"):
        return f"by the check {verdict.method.removeprefix('check:')}"
    return _METHODS.get(verdict.method, f"by {verdict.method}")


def find_deciding_command(work: WorkAccount, number: int, verdict: Verdict | None) -> Finding | None:
    """Return the finding that decided a criterion: of its own command, or of the check that it is bound to."""
    if work.last is None or verdict is None:
        return None
    findings = {finding.check: finding for finding in reversed((*work.findings, *work.last.asked))}
    bound = verdict.method.removeprefix("check:") if verdict.method.startswith("check:") else ""
    return findings.get(f"criterion-{number}") or findings.get(bound)


def describe_turn(turn: Turn) -> str:
    """Return who worked, how the turn ended, how long it took and what it cost."""
    model = f" with {turn.model}" if turn.model else ""
    end = turn.end.replace("_", " ") + (f", exit code {turn.exit_code}" if turn.exit_code else "")
    usage = turn.usage
    tokens = f", {usage.input + usage.cached:,} tokens in and {usage.output:,} out" if usage else ""
    price = f"cost {format_cost(turn.cost, turn.cost_status)}"
    return f"{turn.agent}{model}: {end} after {format_duration(turn.duration)}, {price}{tokens}"


def describe_run(run: RunRecord) -> str:
    """Return when a run began, how long it took and how it ended."""
    verb = "resumed" if run.started.resumed else "started"
    end = describe_outcome(run.finished.outcome) if run.finished else "no outcome recorded"
    took = format_duration(seconds_between(run.started.at, run.heard))
    return f"{format_timestamp(run.started.at)} {verb}, {took}: {end}"


def name_step(step: IterationRecord) -> str:
    """Return `Iteration 2`, or `The baseline`."""
    return f"Iteration {step.number}" if step.number else "The baseline"


def make_environment(loader: BaseLoader | None = None) -> Environment:
    """Return an environment for templates in which every value that is shown is escaped, cleaned and shortened."""
    environment = Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=show_text,
    )
    environment.filters |= {"text": show_text, "line": show_line, "block": show_block}
    return environment


def show_text(value: object, limit: int = 400) -> Markup:
    """Return at most `limit` characters of text as HTML, without what a reader cannot see; markup as it is."""
    if isinstance(value, Markup):
        return value
    return Markup("") if value is None else escape(clip(clean(str(value)[: limit * _READ]), limit))


def show_line(value: str, limit: int = 300) -> Markup:
    """Return text on one line, in which what is in backticks is shown as code."""
    parts = _CODE.split(clip(" ".join(clean(value[: limit * _READ]).split()), limit))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def show_block(value: str, limit: int) -> Markup:
    """Return text with its line breaks, in a block that scrolls. If it is cut, its end stays, which says most."""
    whole = clean(value[-limit * _READ :]).strip("\n")
    left_out = len(whole) - limit
    cut = whole if left_out <= 0 else f"… {left_out:,} characters before this are left out\n{whole[-limit:]}"
    return Markup('<pre tabindex="0">{}</pre>').format(cut)


LONGEST_FILE = 20_000
"""Characters of a file that are shown."""


def encode_acceptance(acceptance: Acceptance) -> dict[str, object]:
    """Return the same as data, without the files of hidden tests."""
    return {
        "feature": acceptance.feature,
        "agent": acceptance.agent,
        "accepted_by": acceptance.accepted_by,
        "hidden": acceptance.hidden,
        "cost_usd": acceptance.cost,
        "tests": [
            {
                **{key: value for key, value in structs.asdict(test).items() if not key.startswith("is_")},
                "worth": test.is_worth,
                "green_with_witness": test.is_green,
                "mutants": [{"mutant": name, "noticed": noticed} for name, noticed in test.mutants.items()],
                "accepted": test.is_accepted,
            }
            for test in acceptance.tests
        ],
    }


def render_acceptance(acceptance: Acceptance) -> str:
    """Return the page as Markdown, which a terminal shows as it is."""
    environment = Environment(
        trim_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else fold(str(value)),
    )
    environment.filters |= {
        "line": lambda text, limit: Markup(fold(text, limit)),
        "code": lambda text, limit: Markup(code_span(text, limit)),
        "block": lambda text: Markup(code_block(clean(text[:LONGEST_FILE]))),
    }
    noticed: dict[str, bool] = {}
    for test in acceptance.tests:
        noticed |= {name: noticed.get(name, False) or found for name, found in test.mutants.items()}
    source = find_resource("templates", "report", "acceptance.md").read_text(encoding="utf-8")
    page = environment.from_string(source).render(
        found=acceptance,
        cost=format_cost(acceptance.cost, "reported"),
        sound=sum(test.is_worth for test in acceptance.tests),
        criteria=format_count(len(acceptance.tests), "open criterion"),
        noticed=noticed,
        tried=any(test.is_green is not None for test in acceptance.tests),
        files=[(path, data.decode("utf-8", "replace")) for path, data in sorted(acceptance.files.items())],
        format_duration=format_duration,
    )
    return page.strip("\n") + "\n"


def list_accepted(acceptance: Acceptance | None) -> tuple[str, ...]:
    """Return what a report says of accepted tests: who wrote and accepted them, and what each was worth."""
    if acceptance is None or not acceptance.accepted_by:
        return ()
    seen = "hidden from the agent that worked" if acceptance.hidden else "committed before the work"
    rows = (f"{test.number}. {test.worth} ({test.command})" for test in acceptance.tests if test.is_accepted)
    return (f"T{acceptance.caveat[1:]}, {seen}.", *rows)
