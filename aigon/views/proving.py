"""The page on which a person decides about acceptance tests: criteria, commands, what they came to, the files."""

from collections.abc import Iterator

from aigon.journal.acceptance import Acceptance, AcceptanceTest
from aigon.journal.spending import format_cost
from aigon.text.amounts import format_count, format_duration
from aigon.text.quoting import clean, code_block, code_span, fold

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
                "number": test.number,
                "text": test.text,
                "kind": test.kind,
                "command": test.command,
                "worth": test.is_worth,
                "fault": test.fault,
                "red": test.red,
                "message": test.message,
                "seconds": test.seconds,
                "runs": test.runs,
                "green_with_witness": test.is_green,
                "mutants": [{"mutant": name, "noticed": noticed} for name, noticed in test.mutants.items()],
                "accepted": test.is_accepted,
            }
            for test in acceptance.tests
        ],
    }


def render_page(acceptance: Acceptance) -> str:
    """Return the page as Markdown, which a terminal shows as it is."""
    sound = [test for test in acceptance.tests if test.is_worth]
    parts = [
        f"# Tests for feature {acceptance.feature}",
        f"Written by {fold(acceptance.agent)}, cost {format_cost(acceptance.cost, 'reported')}. "
        f"{len(sound)} of {format_count(len(acceptance.tests), 'open criterion')} would be decided by a test."
        f"{_count_mutants(acceptance)}",
        *("\n".join(_render_test(test)) for test in acceptance.tests),
    ]
    for path, data in sorted(acceptance.files.items()):
        text = data.decode("utf-8", "replace")
        parts += [f"## {code_span(path, 200)}", code_block(clean(text[:LONGEST_FILE]))]
    return "\n\n".join(parts) + "\n"


def _count_mutants(acceptance: Acceptance) -> str:
    mutants: dict[str, bool] = {}
    for test in acceptance.tests:
        for name, noticed in test.mutants.items():
            mutants[name] = mutants.get(name, False) or noticed
    if mutants:
        return f" Together they notice {sum(mutants.values())} of {len(mutants)} mutants."
    is_tried = any(test.is_green is not None for test in acceptance.tests)
    return "" if is_tried else " That they can turn green was not tried (`--witness`)."


def _render_test(test: AcceptanceTest) -> Iterator[str]:
    yield f"## {test.number}. {fold(test.text, 300)}"
    yield ""
    if not test.command:
        yield f"- no test: {fold(test.fault or 'its author says that nothing can run', 400)}"
        return
    yield f"- {test.kind}: {code_span(test.command, 500)}"
    yield (
        f"- worth nothing: {fold(test.fault, 600)}"
        if test.fault
        else f"- {test.worth}; {format_duration(test.seconds)}"
    )
    if test.message and not test.fault:
        yield f"- it says: {code_span(test.message, 300)}"
    survivors = [name for name, noticed in test.mutants.items() if not noticed]
    yield from (f"- survived by {code_span(name, 200)}" for name in survivors)


def list_accepted(acceptance: Acceptance | None) -> tuple[str, ...]:
    """Return what a report says of accepted tests: who wrote and accepted them, and what each was worth."""
    if acceptance is None or not acceptance.accepted_by:
        return ()
    seen = "hidden from the agent that worked" if acceptance.hidden else "committed before the work"
    rows = (f"{test.number}. {test.worth} ({test.command})" for test in acceptance.tests if test.is_accepted)
    return (f"T{acceptance.caveat[1:]}, {seen}.", *rows)
