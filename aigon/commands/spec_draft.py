"""`aigon spec-draft`: have a model draft what is missing in a spec."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, confirm, here, json_option, yes_option
from aigon.commands.completers import complete_agents, complete_open_features

if TYPE_CHECKING:
    from aigon.compile.drafting import Say, SpecDraft
    from aigon.git.person import Checkout
    from aigon.job.bookkeeping import Committing

with_option = click.option("--with", "agent", metavar="AGENT", default="", shell_complete=complete_agents,
                           help="Name who drafts it.  [default: the judge's model]")  # fmt: skip


@click.command("spec-draft")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@with_option
@yes_option
@json_option
def command(feature: str, agent: str, yes: bool, as_json: bool) -> int:
    """Draft a summary, criteria and open questions for the spec of feature ID, in one call of a model.

    What the spec has stays. The model has no tools: it is shown the spec, the README, the names of files and checks,
    what starts the project's programs, and the beginning of five files that share words with the title.

    You see the difference, and it is written when you say yes. Commands that it proposes run nothing until you accept
    them: aigon spec-compile ID --accept.
    """
    from aigon.compile.drafting import draft_spec
    from aigon.job.bookkeeping import Committing

    how = Committing(lambda _text: None, commit=False)
    draft_and_write("spec-draft", how, yes, as_json, lambda checkout, say: draft_spec(checkout, feature, agent, say))
    return 0


def draft_and_write(
    verb: str, how: "Committing", yes: bool, as_json: bool, draft: "Callable[[Checkout, Say], SpecDraft]"
) -> str:
    """Show what `draft` returns as a difference, and write it if the person says yes. Return its feature, "" if not."""
    from aigon.compile.drafting import write_draft
    from aigon.run.authority import require_person

    require_person(verb, yes)  # before anything is paid
    with here() as checkout:
        found = draft(checkout, lambda line: print(line, file=sys.stderr))
        print(found.render_diff(), file=sys.stderr if as_json else sys.stdout)
        is_written = yes or confirm("Write this?")
        if is_written:
            write_draft(checkout, found, how)
    answer(_encode(found, is_written), _render(found, is_written), as_json)
    return found.feature.name_for_people if is_written else ""


def _render(draft: "SpecDraft", is_written: bool) -> str:
    from aigon.journal.spending import format_cost
    from aigon.spec.foreign import list_proposals
    from aigon.text.amounts import format_count

    name, path = draft.feature.name_for_people, draft.feature.path
    cost = f"Cost of the draft: {format_cost(draft.answer.cost, draft.answer.cost_status)}."
    if not is_written:
        return f"{cost} Nothing was written."
    counts = [
        format_count(len(draft.parts.criteria), "criterion"),
        format_count(len(draft.parts.questions), "question"),
    ]
    lines = [f"{cost} Wrote {' and '.join(counts)} into {path}"]
    if count := len(list_proposals(draft.after)):
        lines.append(f"{format_count(count, 'proposal')} to decide them: aigon spec-compile {name} --accept")
    return "\n".join([*lines, f"Next: aigon feature-prove {name}"])


def _encode(draft: "SpecDraft", is_written: bool) -> dict[str, object]:
    return {
        "slug": draft.feature.slug,
        "path": draft.feature.path,
        "stage": draft.feature.stage,
        "summary": draft.parts.summary,
        "criteria": [{"text": each.text, "proposal": each.annotation} for each in draft.parts.criteria],
        "questions": list(draft.parts.questions),
        "cost_usd": draft.answer.cost,
        "cost_status": draft.answer.cost_status,
        "written": is_written,
    }
