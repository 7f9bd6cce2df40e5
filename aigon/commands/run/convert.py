"""`aigon run convert`: make a spec of a table of tasks."""

from pathlib import Path

import click
from msgspec import to_builtins

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option
from aigon.text.amounts import format_count


@click.command("convert")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--title", metavar="TEXT", default="", help="Name the feature; by default its project, or its file.")
@click.option("--slug", metavar="NAME", default="", help="Name the feature, if its title does not make a good name.")
@commit_option
@verify_option
@json_option
def command(file: Path, title: str, slug: str, commit: bool, verify: bool, as_json: bool) -> int:
    """Write a spec of the tasks in FILE into the inbox: prd.toon, JSON, or Markdown with `- [ ] T001: ...`.

    Each task becomes a criterion under its ID, after those that it depends on. A task that is done becomes a ticked
    box, which is a claim: the run proves it, or takes the tick back. Annotations in FILE run nothing until you accept
    them with `aigon spec-compile ID --accept`.

    Exit codes: 0 written, 2 the file is malformed: everything that is wrong with it is named.
    """
    from aigon.job.seat import hold_checkout
    from aigon.run.convert import convert_table

    how = committing(commit=commit, verify=verify, as_json=as_json)
    with here() as checkout, hold_checkout(checkout):
        made = convert_table(checkout, file, title, slug, how)
    feature = made.feature
    lines = [f"Wrote {feature.path} with {format_count(made.criteria, 'criterion')}"]
    lines += [f"{format_count(made.claimed, 'task')} said to be done: a claim until a run proves it"] * (
        made.claimed > 0
    )
    lines += [f"{format_count(made.skipped, 'skipped task')} left out"] * (made.skipped > 0)
    lines.append(f"Next: aigon spec-compile {feature.slug} finds something to run that decides each criterion")
    if made.proposed:
        came = f"{format_count(made.proposed, 'annotation')} came with the file"
        lines[-1] = f"Next: aigon spec-compile {feature.slug} --accept ({came}, and nothing runs until you accept it)"
    lines.append(f"Then: aigon feature-prioritise {feature.slug}, and aigon run start builds it")
    document = {**to_builtins(made), "slug": feature.slug, "path": feature.path, "stage": feature.stage}
    answer({key: value for key, value in document.items() if key != "feature"}, "\n".join(lines), as_json)
    return 0
