"""`aigon reject`: a person decides that criteria are not met."""

import click

from aigon.commands.common import answer, here, json_option, yes_option


@click.command("reject")
@click.argument("feature", metavar="ID")
@click.argument("criteria", type=int, nargs=-1, required=True, metavar="CRITERION...")
@click.option("--why", required=True, help="What is missing: the agent is told.")
@json_option
@yes_option
def command(feature: str, criteria: tuple[int, ...], why: str, as_json: bool, yes: bool) -> int:
    """Decide that criteria of feature ID are not met by the last checkpoint; the next iteration is told WHY."""
    from aigon.run.authority import require_person
    from aigon.run.decide_by_hand import decide

    require_person("reject", yes)
    with here() as checkout:
        decided = decide(checkout, feature, criteria, "reject", why)
    names = "\n".join(f"Rejected {number}: {text}" for number, text in decided)
    text = f"{names}\nNext: aigon feature-implement {feature} --resume"
    answer({"feature": feature, "rejected": [number for number, _ in decided]}, text, as_json)
    return 0
