"""The page on which a person decides about acceptance tests: criteria, commands, what they came to, the files."""

from msgspec import structs

from aigon.files.resources import find_resource
from aigon.journal.acceptance import Acceptance
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
                **{key: value for key, value in structs.asdict(test).items() if not key.startswith("is_")},
                "worth": test.is_worth,
                "green_with_witness": test.is_green,
                "mutants": [{"mutant": name, "noticed": noticed} for name, noticed in test.mutants.items()],
                "accepted": test.is_accepted,
            }
            for test in acceptance.tests
        ],
    }


def render_page(acceptance: Acceptance) -> str:
    """Return the page as Markdown, which a terminal shows as it is."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

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
