"""`aigon approve`: a person decides that criteria are met."""

import click

from aigon.commands.common import answer, here, json_option, yes_option


@click.command("approve")
@click.argument("feature", metavar="ID")
@click.argument("criteria", type=int, nargs=-1, required=True, metavar="CRITERION...")
@click.option("--why", default="", help="A word for the log.")
@json_option
@yes_option
def command(feature: str, criteria: tuple[int, ...], why: str, as_json: bool, yes: bool) -> int:
    """Decide that criteria (by number, see `aigon spec-show ID`) of feature ID are met by the last checkpoint.

    It holds for the code as it is there: when the code changes afterwards, the criterion is open again.
    """
    from aigon.run.authority import require_person
    from aigon.run.decide_by_hand import decide

    require_person("approve", yes)
    with here() as checkout:
        decided = decide(checkout, feature, criteria, "approve", why)
    names = "\n".join(f"Approved {number}: {text}" for number, text in decided)
    text = f"{names}\nNext: aigon feature-implement {feature} --resume"
    answer({"feature": feature, "approved": [number for number, _ in decided]}, text, as_json)
    return 0
