"""`aigon feature-eval`: compare the candidates of a feature."""

import click

from aigon.commands.common import answer, here, json_option, judge_option
from aigon.commands.completers import complete_open_features
from aigon.errors import Exit

ENDS = {"winner": Exit.MET, "tie": Exit.NEEDS_HUMAN, "nobody": Exit.STOPPED}


@click.command("feature-eval")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.option("--no-commit", is_flag=True, help="Print it only: write no file and commit nothing.")
@click.option("--no-cross-checks", is_flag=True, help="Do not run each agent's new tests on the work of the others.")
@judge_option("Choose who is asked if all is equal: agent, command, none.")
@json_option
def command(feature: str, no_commit: bool, no_cross_checks: bool, judge: str | None, as_json: bool) -> int:
    """Compare what several agents made of feature ID on the same evidence, and get one proposed.

    First the gates count, then one measure after the other; there is no score. It works while some still run. The
    result is committed as docs/specs/features/evaluations/feature-ID-eval.md.

    Exit codes: 0 a winner is proposed, 4 a tie that a person has to decide, 3 nobody passes the gates.
    """
    from aigon.compare.evaluation import EvaluationRequest, evaluate_feature
    from aigon.compare.file import EvaluationFile, remember_proposal, write_evaluation
    from aigon.compare.table import build_evaluation_document, render_evaluation
    from aigon.files.home import ensure_home
    from aigon.git.person import Checkout
    from aigon.git.repository import find_repository

    with here() as checkout, Checkout.open(find_repository(checkout.root).root) as main:
        found = evaluate_feature(main, EvaluationRequest(feature, not no_cross_checks, judge))
        remember_proposal(ensure_home(main.common_dir), found)
        kept = EvaluationFile(why="--no-commit") if no_commit else write_evaluation(main, found)
    answer(
        build_evaluation_document(found, kept.path, kept.commit, kept.why),
        render_evaluation(found, str(kept)),
        as_json,
    )
    return int(ENDS[found.proposal.kind])
