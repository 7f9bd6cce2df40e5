"""`aigon reject`: a person decides that criteria are not met."""

import click

from aigon.commands.common import answer, here, json_option, yes_option


@click.command("reject")
@click.argument("feature", metavar="ID")
@click.argument("what", nargs=-1, required=True, metavar="CRITERION|RULE...")
@click.option("--why", required=True, help="What is missing: the agent is told.")
@click.option("--agent", help="Whose work, where several agents did the feature.")
@json_option
@yes_option
def command(feature: str, what: tuple[str, ...], why: str, agent: str | None, as_json: bool, yes: bool) -> int:
    """Decide that criteria of feature ID are not met by the last checkpoint; the next iteration is told WHY."""
    from aigon.run.authority import require_person
    from aigon.run.decide_by_hand import decide

    require_person("reject", yes)
    with here() as checkout:
        decided, again = decide(checkout, feature, what, "reject", why, agent)
    names = "\n".join(f"Rejected {name}: {text}" for name, text in decided)
    text = f"{names}\nNext: {again}"
    answer(
        {"feature": feature, "rejected": [int(name) if name.isdecimal() else name for name, _ in decided]},
        text,
        as_json,
    )
    return 0
