"""`aigon judge-eval`: measure a judge's accuracy on labelled changes."""

import sys
from pathlib import Path

import click

from aigon.commands.common import answer, json_option
from aigon.errors import Exit

ENDS = {"": Exit.MET, "SIGTERM": Exit.TERMINATED}
"""The exit code by what ended it; whatever is not here is an interruption."""


@click.command("judge-eval")
@click.option("--set", "folder", metavar="PATH", help="A folder of cases of your own.  [default: the set that ships]")
@click.option("--judge", envvar="AIGON_JUDGE", help="Who is measured: anthropic, agent, command.")
@click.option("--model", help="Its model, in place of judge.model.")
@click.option("--mode", type=click.Choice(["all", "each"]), help="All criteria of a change in one call, or one each.")
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="Judge the whole set so many times.")
@click.option("--verbose", is_flag=True, help="Show a line per case, and every verdict that is not the truth.")
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
    """Measure a judge: let it decide labelled changes, exactly as it would in a loop.

    Counts false ticks (said to be met, and it is not), missed ticks, what was left unclear, quotes that did not stand
    where they were said to, calls, tokens and cost. With a model that is paid for, this costs money.

    \b
    A set of your own (--set) is a folder with one folder per case:
      case.yaml     about: one line; truth: {1: met, 2: failed}, one label per
                    criterion that a judge decides. Optional: delete: [paths];
                    checks: [{title, summary, output}], what passed on the change
      spec.md       a feature spec, as any other
      before/       the files before the change; none for an empty project
      after/        the files that are new or changed, or change.diff in its place
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
