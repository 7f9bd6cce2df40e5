"""`aigon cancel`: a feature that will not be built."""

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option
from aigon.commands.completers import complete_open_features


@click.command("cancel")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@commit_option
@verify_option
@json_option
def command(feature: str, commit: bool, verify: bool, as_json: bool) -> int:
    """Put away feature ID: move its spec to docs/specs/features/07-cancelled, commit that, remove its worktrees.

    Work in them that no commit holds is saved aside. Branches and records stay; `aigon reopen ID` takes it up again.

    Exit codes: 0 cancelled, 2 there is no such feature or it is over, 7 a loop works on it.
    """
    from aigon.done.cancellation import cancel_feature
    from aigon.job.seat import hold_checkout, open_main_checkout
    from aigon.run.authority import require_outside_a_run

    require_outside_a_run("cancel")
    how = committing(commit=commit, verify=verify, as_json=as_json)
    with here() as checkout, open_main_checkout(checkout) as (main, _), hold_checkout(main):
        done = cancel_feature(main, feature, how)
    kept = [f"Its branch {name} stays. To delete it: git branch -D {name}" for name in done.branches]
    parked = [f"Saved aside: {ref} (aigon parked restore {ref})" for ref in done.parked]
    text = "\n".join([f"Cancelled feature {done.feature.name_for_people}: {done.feature.path}", *kept, *parked])
    document = {"feature": done.feature.name_for_people, "path": done.feature.path, "stage": done.feature.stage}
    answer({**document, "branches": list(done.branches), "parked": list(done.parked)}, text, as_json)
    return 0
