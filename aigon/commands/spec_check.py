"""`aigon spec-check`: say what is wrong with a spec before anybody works on it."""

import sys
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from aigon.commands.common import Duration, answer, here, json_option, profile_option
from aigon.commands.completers import complete_open_features
from aigon.errors import Exit
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.compile.review import SpecReview


@click.command("spec-check")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@profile_option
@click.option("--no-run", is_flag=True, help="Run no command of the spec: for an editor, or a spec of a stranger.")
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="Give each command this long.")
@json_option
def command(feature: str, profile: str | None, no_run: bool, timeout: float, as_json: bool) -> int:
    """Check the spec of feature ID (or the path of its file) without a model.

    It names words that nobody can decide, two claims in one box, commands that pass already, a spec without tests or
    with more than 20 criteria, and says how many criteria wait for a judge or a person. Each finding has its line and
    column. It exits with 3 if there is any, and with 0 if there is none.

    The commands of the criteria are run once on the files as they are, as a run would before its first turn.
    """
    from aigon.compile.review import review_spec

    options = Options(feature, profile=profile)
    with here() as checkout:
        review = review_spec(
            checkout, options, run=not no_run, timeout=timeout, say=lambda line: print(line, file=sys.stderr)
        )
    answer(_encode(review), _render(review), as_json)
    return Exit.STOPPED if review.findings else Exit.MET


def _render(review: "SpecReview") -> str:
    from aigon.compile.review import describe_deciders
    from aigon.text.amounts import format_count
    from aigon.text.quoting import clean

    lines = []
    for each in review.findings:
        hint = f". {each.hint}" if each.hint else ""
        lines.append(clean(f"{review.path}:{each.line}:{each.column}: {each.message}{hint} [{each.rule}]"))
    lines += [f"No command of the spec was run: {clean(review.not_run)}"] if review.not_run else []
    lines += [describe_deciders(review), format_count(len(review.findings), "finding")]
    if any(criterion.kind == "judge" for criterion in review.spec.criteria):
        lines.append(f"aigon feature-prove {review.name} has an agent write tests for what nothing decides yet")
    return "\n".join(lines)


def _encode(review: "SpecReview") -> dict[str, object]:
    return {
        "spec": review.path,
        "criteria": len(review.spec.criteria),
        "findings": to_builtins(review.findings),
        "judge": list(review.judged),
        "person": list(review.people),
        "not_run": review.not_run or None,
    }
