"""`aigon judge-eval`: measure a judge's accuracy on labelled changes."""

import sys
from pathlib import Path

import click

from aigon.commands.common import answer, json_option, judge_option
from aigon.commands.completers import complete_models
from aigon.errors import Exit

ENDS = {"": Exit.MET, "SIGTERM": Exit.TERMINATED}
"""The exit code by what ended it; whatever is not here is an interruption."""


@click.command("judge-eval")
@click.option("--set", "folder", metavar="PATH", help="Use the cases in this folder.  [default: the set that ships]")
@judge_option("Choose the judge: anthropic, agent, command.")
@click.option(
    "--model", metavar="NAME", shell_complete=complete_models, help="Choose its model instead of judge.model."
)
@click.option(
    "--mode",
    type=click.Choice(["all", "each"]),
    help="Ask about all criteria of a change in one call, or about each in its own.",
)
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="Judge the whole set this many times.")
@click.option("--verbose", is_flag=True, help="Show a line per case, and every wrong verdict.")
@json_option
def command(
    folder: str | None,
    judge: str | None,
    model: str | None,
    mode: str | None,
    repeat: int,
    verbose: bool,
    as_json: bool,
) -> int:
    """Measure a judge's accuracy: let it decide labelled changes as it would in a loop.

    It counts false ticks (the judge says passed, the label says failed), missed ticks, undecided criteria, quotes that
    are not where the judge said, calls, tokens and cost. With a paid model, this costs money.

    Your own set (--set) is a folder with one folder per case:

    \b
    case.yaml  about: one line; truth: {1: met, 2: failed},
               a label for each criterion of a judge;
               if needed: delete: [paths], and what passed:
               checks: [{title, summary, output}]
    spec.md    a feature spec
    before/    the files before the change, if any
    after/     the files that are new or changed,
               or change.diff in its place

    The set that ships is described in templates/judging/README.md.
    """
    from aigon.git.person import forget_inherited_repository
    from aigon.run.judge_eval import JudgeEvalRequest, evaluate_judge
    from aigon.views.judge_eval import build_accuracy_document, render_accuracy

    forget_inherited_repository()
    asked = JudgeEvalRequest(folder, judge, model, mode, repeat)
    found, ended = evaluate_judge(Path.cwd(), asked, lambda line: print(line, file=sys.stderr))
    answer(build_accuracy_document(found), render_accuracy(found, verbose), as_json)
    return int(ENDS.get(ended, Exit.INTERRUPTED))
