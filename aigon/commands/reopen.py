"""`aigon reopen`: take up a feature again that is cancelled or done."""

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option
from aigon.commands.completers import complete_closed_features


@click.command("reopen")
@click.argument("feature", metavar="ID", shell_complete=complete_closed_features)
@commit_option
@verify_option
@json_option
def command(feature: str, commit: bool, verify: bool, as_json: bool) -> int:
    """Take up feature ID again, which is cancelled or done: move its spec to the backlog and commit that.

    A cancelled feature continues on its branch. One that was done begins anew where you stand: its merged branch is
    saved aside, and it needs a criterion that does not hold yet.

    Exit codes: 0 reopened, 2 there is no such feature or it is open, 7 a loop works on it.
    """
    from aigon.done.cancellation import reopen_feature
    from aigon.job.seat import hold_checkout, open_main_checkout
    from aigon.run.authority import require_outside_a_run

    require_outside_a_run("reopen")
    how = committing(commit=commit, verify=verify, as_json=as_json)
    with here() as checkout, open_main_checkout(checkout) as (main, _), hold_checkout(main):
        done = reopen_feature(main, feature, how)
    name = done.feature.name_for_people
    lines = [f"Reopened feature {name}: {done.feature.path}"]
    lines += [f"It continues on its branch {branch}" for branch in done.branches]
    lines += [f"Saved aside: {ref} (aigon parked restore {ref})" for ref in done.parked]
    document = {"feature": name, "path": done.feature.path, "stage": done.feature.stage}
    text = "\n".join([*lines, f"Next: edit its criteria, then aigon feature-implement {name} --loop"])
    answer({**document, "branches": list(done.branches), "parked": list(done.parked)}, text, as_json)
    return 0
