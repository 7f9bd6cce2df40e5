"""`aigon approve`: a person decides that criteria are met."""

import click

from aigon.commands.common import answer, here, json_option, yes_option


@click.command("approve")
@click.argument("feature", metavar="ID")
@click.argument("what", nargs=-1, required=True, metavar="CRITERION|RULE...")
@click.option("--why", default="", help="A word for the log.")
@click.option("--agent", help="Whose work, where several agents did the feature.")
@json_option
@yes_option
def command(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide that criteria of feature ID (by number, see `aigon spec-show ID`) are met by the last checkpoint, or that
    an integrity finding (by its rule, as the summary of the run names it) is all right.

    It holds for the code as it is there: when that changes afterwards, the criterion or finding is open again.
    """
    from aigon.run.authority import require_person
    from aigon.run.decide_by_hand import decide

    require_person("approve", yes)
    with here() as checkout:
        decided, again = decide(checkout, feature, what, "approve", why, agent)
    names = "\n".join(f"Approved {name}: {text}" for name, text in decided)
    text = f"{names}\nNext: {again}"
    answer(
        {"feature": feature, "approved": [int(name) if name.isdecimal() else name for name, _ in decided]},
        text,
        as_json,
    )
    return 0
