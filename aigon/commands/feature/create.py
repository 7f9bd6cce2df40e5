"""`aigon feature-create`: write a new feature spec into the inbox."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option, yes_option
from aigon.commands.spec_draft import draft_and_write, with_option

if TYPE_CHECKING:
    from aigon.run.importing import ImportedFeature, ImportResult

_MOST_SKIPPED = 20
"""Sources that are named of those that brought nothing."""


@click.command("feature-create")
@click.argument("title", nargs=-1)
@click.option("--slug", metavar="NAME", default="", help="Name the feature, if its title does not make a good name.")
@click.option("--from", "source", metavar="SOURCE", default="",
              help="Import it: gh:123, an issue's address, or a file or folder of another tool.")  # fmt: skip
@click.option(
    "--priority", type=click.Choice(["high", "medium", "low"]), help="Say how soon `aigon run start` takes it up."
)
@click.option("--draft", is_flag=True, help="Have a model draft summary, criteria and questions; you see them first.")
@with_option
@commit_option
@verify_option
@yes_option
@json_option
def command(
    title: tuple[str, ...],
    slug: str,
    source: str,
    priority: str | None,
    draft: bool,
    agent: str,
    commit: bool,
    verify: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Write a spec for the feature TITLE (a few words) into the inbox, and commit it.

    With --from it is written from a GitHub issue (by the program gh) or from specs of spec-kit, OpenSpec, Kiro, BMAD,
    Taskmaster, prd.json, prd.toon or Markdown; a folder imports all of it. The original stays below "Source". What it
    would run is only proposed: aigon spec-compile ID --accept.
    """
    from aigon.agents.configured import build_loop_command
    from aigon.job.seat import hold_checkout
    from aigon.run.feature_stages import create_feature

    if not (title or source):
        raise click.UsageError("Give the feature a title, or import it with --from SOURCE")
    if draft and source:
        raise click.UsageError("Import first, then draft what is missing: aigon spec-draft ID")
    how = committing(commit=commit, verify=verify, as_json=as_json)
    if draft:
        from aigon.compile.drafting import draft_feature

        name = " ".join(title)
        return draft_and_write(
            "feature-create --draft", how, yes, as_json,
            lambda checkout, say: draft_feature(checkout, name, slug, priority or "", agent, say),
        )  # fmt: skip
    with here() as checkout, hold_checkout(checkout):
        if source:
            from aigon.run.importing import ImportRequest, import_features

            request = ImportRequest(source, Path.cwd(), " ".join(title), slug, priority or "")
            found = import_features(checkout, request, how)
            answer(_encode_import(found), _render_import(found), as_json)
            return 0
        feature = create_feature(checkout, " ".join(title), slug, how, priority or "")
        go_on = f"Next: write its acceptance criteria, then {build_loop_command(checkout.root, feature.slug)}"
    text = f"Wrote {feature.path}\n{go_on}"
    answer({"slug": feature.slug, "path": feature.path, "stage": feature.stage}, text, as_json)
    return 0


def _render_import(result: "ImportResult") -> str:
    from aigon.text.amounts import format_count
    from aigon.text.quoting import clean, fold

    lines: list[str] = []
    for made in result.features:
        criteria = format_count(len(made.found.spec.criteria), "criterion")
        lines.append(f"Wrote {made.feature.path}: {criteria} of {made.found.format} ({fold(made.found.source, 100)})")
        if made.found.spec.left:
            lines.append(f"  Not carried over, but kept below Source: {_list_left(made)}")
        if made.proposals:
            accept = f"aigon spec-compile {made.feature.slug} --accept"
            lines.append(f"  It brought {format_count(made.proposals, 'annotation')}, which run nothing: {accept}")
    lines += [f"Skipped {path}: {clean(why)}" for path, why in result.skipped[:_MOST_SKIPPED]]
    if more := len(result.skipped[_MOST_SKIPPED:]):
        lines.append(f"Skipped {more} more")
    return "\n".join([*lines, f"Next: aigon spec-check {result.features[0].feature.slug}"])


def _list_left(made: "ImportedFeature") -> str:
    from aigon.text.quoting import fold

    return ", ".join(f"{fold(name, 60)} ({count})" for name, count in made.found.spec.left.items())


def _encode_import(result: "ImportResult") -> dict[str, object]:
    return {
        "features": [
            {
                "slug": made.feature.slug,
                "path": made.feature.path,
                "stage": made.feature.stage,
                "format": made.found.format,
                "source": made.found.source,
                "criteria": len(made.found.spec.criteria),
                "left": dict(made.found.spec.left),
                "proposals": made.proposals,
            }
            for made in result.features
        ],
        "skipped": [{"source": source, "why": why} for source, why in result.skipped],
    }
