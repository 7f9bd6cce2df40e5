"""A verdict for every criterion, on one tree, from what ran."""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from itertools import zip_longest

from aigon.checks.execution import CRITERION, RUNS
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.journal.decisions import HumanDecision, decision_verdict, find_decision, find_outdated_approval
from aigon.model.checks import Check, Finding
from aigon.model.criteria import COMMAND_KINDS, HIDDEN, Criterion, Verdict, VerdictStatus, find_bound_checks
from aigon.spec.annotation import DECISION_RULES, Expectation, read_expectation
from aigon.spec.criteria import list_boxes
from aigon.text.patterns import compile_re
from aigon.text.quoting import clip, strip_escapes

COMMAND_TIMEOUT = 600.0
"""Seconds for a criterion's own command."""
NAMED_TESTS = 3
"""Failing tests that the reason of a failed command names."""
LONGEST_MESSAGE = 200
"""Characters of what a failing test says."""
_COMPARE: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_RUN = compile_re(r"[\w.,/+\-\u2010-\u2015\u2212]+")
"""What belongs together: letters, digits and what may join numbers, typographic dashes and minus included."""
_NUMBER = compile_re(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
LARGEST_CHECKLIST = 64 * 1024
"""Bytes of a checklist: less than what is kept of any output."""
LONGEST_LINE = 4000
"""Bytes of the end of the output that are read; the beginning of a line as long as that is unknown."""


def list_commands(criteria: Sequence[Criterion]) -> tuple[Check, ...]:
    """Return the commands of criteria as checks that run each time: they are judged anew."""
    return tuple(
        _make_check(criterion, expected)
        for criterion in criteria
        if (expected := read_expectation(criterion.kind, criterion.command))
    )


def _make_check(criterion: Criterion, expected: Expectation) -> Check:
    quantity = DECISION_RULES[criterion.kind].quantity
    return Check(
        name_command(criterion),
        "script",
        ("bash", "-c", expected.script),
        parser="any",  # it describes: the exit code decides
        timeout=COMMAND_TIMEOUT,
        exclusive=bool(quantity),  # what runs beside it would be measured, too
        source=CRITERION,
        remember=False,
        quantity=quantity,
        enough=float(expected.wanted) if quantity else 0.0,
        runs=RUNS if quantity else 1,
        by_exit=criterion.kind == "verify",
    )


def name_command(criterion: Criterion) -> str:
    """Return what a criterion's command is called among the checks."""
    return f"criterion-{criterion.number}"


def judge_by_results(
    job: Job, findings: Sequence[Finding], results: Sequence[Result], content: str, human_ticks: Sequence[str]
) -> tuple[Verdict, ...]:
    """Return everything but the judge's part: what that has to decide comes back as `unclear` with method `judge`."""
    ran = {result.finding.check: result for result in results}

    def judge(criterion: Criterion) -> Verdict:
        number, decision = criterion.number, find_decision(job.decisions, criterion, content)
        if decision and decision.decision == "waive":
            return decision_verdict(decision)
        if criterion.kind in COMMAND_KINDS:
            return _judge_command(criterion, ran[name_command(criterion)])
        if criterion.kind == "check":
            return _judge_check(job, criterion, findings)
        if criterion.kind == HIDDEN:
            return Verdict(number, "unclear", HIDDEN, "", "its hidden test did not run")
        if decision:
            return decision_verdict(decision)
        if criterion.kind == "human" and criterion.text in human_ticks:
            return Verdict(number, "met", "approval", "ticked by a person before the run", "")
        if criterion.kind == "human" or job.judge is None:
            return Verdict(number, "unclear", "human", "", _say_why_a_person(criterion, job.decisions))
        return Verdict(number, "unclear", "judge", "", "the judge has not been asked")

    return tuple(map(judge, job.spec.criteria))


def _say_why_a_person(criterion: Criterion, decisions: Sequence[HumanDecision]) -> str:
    if outdated := find_outdated_approval(decisions, criterion):
        return f"approved at {outdated.commit[:8]}, and the code changed since: `aigon approve` decides"
    if criterion.kind == "human":
        return "a person decides: `aigon approve`"
    return "no judge is configured: `aigon approve` decides"


def judge_by_command(criteria: Sequence[Criterion], check: Check, result: Result) -> Verdict | None:
    """Return the verdict on the criterion whose command `check` is; None for a check of the project's own."""
    found = next((c for c in criteria if check.source == CRITERION and name_command(c) == check.name), None)
    return _judge_command(found, result) if found else None


def judge_by_own_command(criterion: Criterion, results: Mapping[str, Result]) -> Verdict:
    """Return the verdict on a criterion by what its command came to."""
    return _judge_command(criterion, results[name_command(criterion)])


def _judge_command(criterion: Criterion, result: Result) -> Verdict:
    """Judge a command by its exit code and, if that is 0, by what the criterion expects of it."""
    finding, command, kind = result.finding, str(criterion.command), criterion.kind
    expected = read_expectation(kind, command)
    if finding.status != "pass" or expected is None:
        return Verdict(criterion.number, _fail(finding), kind, command, _describe_failure(finding))
    is_met, said = _COMPARISONS[kind](expected, result)
    return Verdict(criterion.number, *(("met", kind, said) if is_met else ("unmet", kind, command, said)))


Comparison = tuple[bool, str]
"""Whether a command came to what is expected, and the evidence or the reason."""


def _compare_number(expected: Expectation, result: Result) -> Comparison:
    value = read_printed_number(result.output)
    return (False, value) if isinstance(value, str) else _compare_with_bound(expected, value)


def _compare_with_bound(expected: Expectation, value: Decimal, unit: str = "", how: str = "") -> Comparison:
    bound = f"{expected.symbol} {expected.wanted}{unit}"
    if _COMPARE[expected.symbol](value, Decimal(expected.wanted)):
        return True, f"{value}{unit} {bound}{how}"
    return False, f"it is {value}{unit}, wanted {bound}{how}"


def _compare_seconds(expected: Expectation, result: Result) -> Comparison:
    if result.measured is None:
        return False, "its time could not be measured"
    runs = f" (the best of {result.measured.runs} runs)" if result.measured.runs > 1 else ""
    return _compare_with_bound(expected, Decimal(f"{result.measured.value:.6f}"), " s", runs)


def _compare_text(expected: Expectation, result: Result) -> Comparison:
    """Compare byte by byte; how many line breaks a text ends with does not count, as in a shell's `$(...)`."""
    printed, wanted = result.output.rstrip(b"\n"), expected.wanted.rstrip("\n").encode()
    if printed == wanted:
        return True, f"it printed {_quote(printed)}"
    lines = list(zip_longest(printed.split(b"\n"), wanted.split(b"\n")))
    if len(lines) == 1 or not printed:
        return False, f"it printed {_quote(printed)}, wanted {_quote(wanted)}"
    number, (line, other) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    said = "missing" if line is None else _quote(line)
    missing = "no such line" if other is None else _quote(other)
    return False, f"line {number} of what it printed is {said}, wanted {missing}"


def _compare_boxes(expected: Expectation, result: Result) -> Comparison:
    """Compare a file's boxes with all of them ticked; of one that is too long, some may not have been read."""
    path = expected.wanted
    if len(result.output) > LARGEST_CHECKLIST:
        return False, f"{path} is too long to be read whole: {LARGEST_CHECKLIST:,} bytes at most"
    boxes = list_boxes(result.output)
    remaining = [text for text, ticked in boxes if not ticked]
    if boxes and not remaining:
        return True, f"all {len(boxes)} boxes of {path} are ticked"
    first = f", the first: {clip(remaining[0], LONGEST_MESSAGE)}" if remaining else ""
    count = f"{len(remaining)} of {len(boxes)} boxes of {path} not ticked{first}"
    return False, count if boxes else f"no box in {path}"


def _quote(text: bytes) -> str:
    """Return a text so that white space in it shows."""
    said = repr(clip(text.decode(errors="replace"), LONGEST_MESSAGE))
    return said if text else "nothing"


_COMPARISONS: Mapping[str, Callable[[Expectation, Result], Comparison]] = {
    "verify": lambda expected, _result: (True, f"exit 0: {expected.script}"),
    "prints": _compare_text,
    "metric": _compare_number,
    "checklist": _compare_boxes,
    "seconds": _compare_seconds,
}


def _fail(finding: Finding) -> VerdictStatus:
    """Return the status of what did not pass: what was not run was not seen to fail either."""
    return "unclear" if finding.status == "skipped" else "unmet"


def _describe_failure(finding: Finding) -> str:
    """Return what the command came to and, if its output names failing tests, the first of them."""
    failed = {
        p.test: p.message[:LONGEST_MESSAGE] for p in reversed(finding.problems) if p.test and p.severity == "error"
    }
    if not failed:
        return finding.summary
    names = [f"{test}: {message}" for test, message in reversed(failed.items())]
    more = f"; and {len(names) - NAMED_TESTS} more" if len(names) > NAMED_TESTS else ""
    return f"{finding.summary} ({'; '.join(names[:NAMED_TESTS])}{more})"


def read_printed_number(output: bytes) -> Decimal | str:
    """Return the one number on the last line that is not empty, or why there is none.

    It has to be a word of its own: `1,234`, `7/10`, `3-5` and `12ms` are no numbers, and next to any other digits that
    are not part of a word (`py311`) it is unclear which is meant.
    """
    lines = strip_escapes(output.rstrip()[-LONGEST_LINE:].decode(errors="replace")).splitlines() or [""]
    runs = [run for run in _RUN.findall(lines[-1]) if not _is_word(run)]
    if len(runs) == 1 and len(lines[-1]) < LONGEST_LINE and _NUMBER.fullmatch(runs[0]):
        with suppress(InvalidOperation):
            return Decimal(runs[0])
    if not any(character.isdigit() for character in lines[-1]):
        return "the command printed no number on its last line"
    return f"ambiguous: the last line has to hold exactly one plain number, it is '{lines[-1].strip()[:200]}'"


def _is_word(run: str) -> bool:
    """Return whether its first letter or digit is a letter; a run without either is only a sign."""
    first = next((character for character in run if character.isalnum()), "-")
    return not first.isdigit()


def _judge_check(job: Job, criterion: Criterion, findings: Sequence[Finding]) -> Verdict:
    wanted = criterion.command or ""
    method = f"check:{wanted}"
    if job.demand.skip_validation:
        return Verdict(criterion.number, "unclear", method, "", "validation is skipped (--skip-validation)")
    found = list_bound_findings(wanted, findings)
    if not found:
        return Verdict(criterion.number, "unclear", method, "", f"this project has no check '{wanted}'")
    method = f"check:{found[0].check}"
    for finding in sorted(found, key=lambda f: f.status == "skipped"):
        if finding.status != "pass":
            why = f"{finding.title}: {finding.summary}"
            return Verdict(criterion.number, _fail(finding), method, finding.command, why)
    return Verdict(criterion.number, "met", method, "; ".join(f"{f.title}: {f.summary}" for f in found), "")


def list_bound_findings(wanted: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings a `check` criterion is bound to, which all have to pass."""
    names = find_bound_checks(wanted, {f.check: f.role for f in findings})
    return [f for f in findings if f.check in names]
