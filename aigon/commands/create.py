"""`aigon feature-create` and `aigon spec-draft`: a new spec, or what is missing in one."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import (
    answer,
    build_committing,
    commit_option,
    confirm,
    here,
    json_option,
    open_main,
    verify_option,
    yes_option,
)
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.errors import Exit, usage

if TYPE_CHECKING:
    from aigon.compile.drafting import Say, SpecDraft
    from aigon.git.person import Checkout
    from aigon.job.bookkeeping import Committing
    from aigon.run.importing import ImportResult


with_option = click.option("--with", "agent", metavar="AGENT", default="", shell_complete=complete_agents,
                           help="Choose who drafts it.  [default: the judge's model]")  # fmt: skip


@click.command("spec-draft")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@with_option
@yes_option
@json_option
def draft_parts(feature: str, agent: str, yes: bool, as_json: bool) -> None:
    """Draft a summary, criteria and open questions for the spec of feature ID, in one call of a model.

    The existing text stays. The model has no tools. It is shown the spec, the README, the names of files and checks,
    the files that start the project's programs, and the beginning of five files that share words with the title.

    You see a diff, and aigon writes it when you agree. Commands in the draft are proposals and run only once you accept
    them: aigon spec-compile ID --accept.
    """
    from aigon.compile.drafting import draft_spec
    from aigon.job.bookkeeping import Committing

    how = Committing(lambda _text: None, commit=False)
    draft_and_write("spec-draft", how, yes, as_json, lambda checkout, say: draft_spec(checkout, feature, agent, say))


def draft_and_write(
    verb: str, how: "Committing", yes: bool, as_json: bool, draft: "Callable[[Checkout, Say], SpecDraft]"
) -> str:
    """Show what `draft` returns as a difference, and write it if the person says yes. Return its feature, "" if not."""
    from aigon.compile.drafting import write_draft
    from aigon.run.invocations import require_person

    require_person(verb, yes)  # before anything is paid
    with here() as checkout:
        found = draft(checkout, lambda line: print(line, file=sys.stderr))
        print(found.render_diff(), file=sys.stderr if as_json else sys.stdout)
        is_written = yes or confirm("Write this?")
        if is_written:
            write_draft(checkout, found, how)
    answer(_encode_draft(found, is_written), _render_draft(found, is_written), as_json)
    return found.feature.name_for_people if is_written else ""


def _render_draft(draft: "SpecDraft", is_written: bool) -> str:
    from aigon.journal.spending import format_cost
    from aigon.spec.foreign import list_proposals
    from aigon.text.amounts import format_count

    name, path = draft.feature.name_for_people, draft.feature.path
    cost = f"Cost of the draft: {format_cost(draft.answer.cost, draft.answer.cost_status)}."
    if not is_written:
        return f"{cost} Nothing was written."
    counts = [
        format_count(len(draft.parts.criteria), "criterion"),
        format_count(len(draft.parts.questions), "question"),
    ]
    lines = [f"{cost} Wrote {' and '.join(counts)} into {path}"]
    if count := len(list_proposals(draft.after)):
        lines.append(f"{format_count(count, 'proposal')} to decide them: aigon spec-compile {name} --accept")
    return "\n".join([*lines, f"Next: aigon feature-prove {name}"])


def _encode_draft(draft: "SpecDraft", is_written: bool) -> dict[str, object]:
    return {
        "slug": draft.feature.slug,
        "path": draft.feature.path,
        "stage": draft.feature.stage,
        "summary": draft.parts.summary,
        "criteria": [{"text": each.text, "proposal": each.annotation} for each in draft.parts.criteria],
        "questions": list(draft.parts.questions),
        "cost_usd": draft.answer.cost,
        "cost_status": draft.answer.cost_status,
        "written": is_written,
    }


_MOST_SKIPPED = 20
"""Sources that are named of those that brought nothing."""


@click.command("feature-create")
@click.argument("title", nargs=-1)
@click.option("--slug", metavar="NAME", default="", help="Name the feature if its title makes no good name.")
@click.option("--from", "source", metavar="SOURCE", default="",
              help="Import gh:123, the URL of an issue, or a file or folder of another tool.")  # fmt: skip
@click.option(
    "--priority", type=click.Choice(["high", "medium", "low"]), help="Set its priority for `aigon run start`."
)
@click.option("--draft", is_flag=True, help="Have a model draft summary, criteria and questions for you to accept.")
@with_option
@click.option("--go", is_flag=True, help="Continue at once: review the criteria, have tests written, run the loop.")
@commit_option
@verify_option
@yes_option
@json_option
def create(
    title: tuple[str, ...],
    source: str,
    draft: bool,
    agent: str,
    go: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Write a spec for the feature TITLE (a few words) into the inbox, and commit it.

    With --from, aigon imports a GitHub issue (by the program gh) or specs of spec-kit, OpenSpec, Kiro, BMAD,
    Taskmaster, prd.json, prd.toon or Markdown; a folder imports every spec in it. The original text stays below
    "Source". Commands in it are proposals: aigon spec-compile ID --accept.

    With --go, one command takes a draft or an import to a proven feature. aigon shows how each criterion is decided and
    asks you. Then it continues like `aigon feature-implement ID --loop --prove-first`, with the same exit codes. 4
    means that you answered no; what was written stays.
    """
    if not (title or source):
        raise click.UsageError("Give the feature a title, or import it with --from SOURCE")
    if draft and source:
        raise click.UsageError("Import first, then draft what is missing: aigon spec-draft ID")
    commit, name = given["commit"], " ".join(title)
    slug, priority = given["slug"], given["priority"] or ""
    if go:
        _require_way(agent, is_possible=(draft or bool(source)) and commit and not as_json, yes=yes)
    how = build_committing(commit=commit, verify=given["verify"], as_json=as_json)
    if draft:
        from aigon.compile.drafting import draft_feature

        made = draft_and_write(
            "feature-create --draft", how, yes, as_json,
            lambda checkout, say: draft_feature(checkout, name, slug, priority, agent, say),
        )  # fmt: skip
    elif source:
        made = _import(source, name, slug, priority, how, as_json, is_one=go)
    else:
        _write_template(name, slug, priority, how, as_json)
    if go:
        return _go_on(made, agent, yes) if made else Exit.NEEDS_HUMAN
    return 0


def _write_template(title: str, slug: str, priority: str, how: "Committing", as_json: bool) -> None:
    from aigon.agents.configured import build_loop_command
    from aigon.job.job import hold_checkout
    from aigon.run.feature_stages import create_feature

    with here() as checkout, hold_checkout(checkout):
        feature = create_feature(checkout, title, slug, how, priority)
        go_on = f"Next: write its acceptance criteria, then {build_loop_command(checkout.root, feature.slug)}"
    text = f"Wrote {feature.path}\n{go_on}"
    answer({"slug": feature.slug, "path": feature.path, "stage": feature.stage}, text, as_json)


def _import(
    source: str, title: str, slug: str, priority: str, how: "Committing", as_json: bool, *, is_one: bool
) -> str:
    """Import a source and return the first feature. With `is_one`, raise AigonError (exit 2) if there are more."""
    from aigon.job.job import hold_checkout
    from aigon.run.importing import ImportRequest, import_features

    with here() as checkout, hold_checkout(checkout):
        found = import_features(checkout, ImportRequest(source, Path.cwd(), title, slug, priority), how)
    answer(_encode_import(found), _render_import(found), as_json)
    names = [made.feature.slug for made in found.features]
    if is_one and len(names) > 1:
        hint = f"All of them are in the inbox. aigon feature-implement {names[0]} --loop --prove-first"
        raise usage(f"--go takes one feature, and {len(names)} were imported", where=source, hint=hint)
    return names[0]


def _require_way(agent: str, *, is_possible: bool, yes: bool) -> None:
    """Raise what would stop `--go` later on, before anything is written or paid."""
    from aigon.job.options import Options
    from aigon.run.invocations import require_person
    from aigon.run.seating import choose_default_agent

    if not is_possible:
        raise click.UsageError("--go takes a draft (--draft) or an import (--from), without --no-commit and --json")
    require_person("feature-create --go", yes)
    with open_main() as main:
        choose_default_agent(main, Options("", agents=(agent,) if agent else ()))


def _go_on(feature: str, agent: str, yes: bool) -> int:
    """Show what will be proven, and run the commands that come next if the person says yes."""
    from aigon.commands.implement import implement_feature
    from aigon.commands.spec import propose_commands, show
    from aigon.job.spec_locations import locate_spec
    from aigon.prove.deciders import list_open_criteria
    from aigon.spec.foreign import list_proposals
    from aigon.text.amounts import list_criteria

    with here() as checkout:
        place = locate_spec(checkout.root, checkout.common_dir, feature)
    if list_proposals(place.read()) and not yes:  # with --yes nobody has read them
        propose_commands.main([feature, "--accept"], "aigon spec-compile", standalone_mode=False)
    print()
    show.main([feature], "aigon spec-show", standalone_mode=False)
    if numbers := [criterion.number for criterion in list_open_criteria(place.parse())]:
        print(f"An agent writes tests for {list_criteria(numbers)} first, and you see what they are worth.")
    arguments = [feature, "--loop", "--prove-first", *(["--agent", agent] if agent else [])]
    print(f"Next: aigon feature-implement {shlex.join(arguments)}")
    if not (yes or confirm("Run it now?")):
        return Exit.NEEDS_HUMAN
    arguments += ["--yes"] if yes else []
    code: int = implement_feature.main(arguments, "aigon feature-implement", standalone_mode=False)
    return code


def _render_import(result: "ImportResult") -> str:
    from aigon.text.amounts import format_count
    from aigon.text.quoting import clean, fold

    lines: list[str] = []
    for made in result.features:
        criteria = format_count(len(made.found.spec.criteria), "criterion")
        lines.append(f"Wrote {made.feature.path}: {criteria} of {made.found.format} ({fold(made.found.source, 100)})")
        if made.found.spec.left:
            left = ", ".join(f"{fold(name, 60)} ({count})" for name, count in made.found.spec.left.items())
            lines.append(f"  Not carried over, but kept below Source: {left}")
        if made.proposals:
            accept = f"aigon spec-compile {made.feature.slug} --accept"
            lines.append(f"  It brought {format_count(made.proposals, 'annotation')} and ran none: {accept}")
    lines += [f"Skipped {path}: {clean(why)}" for path, why in result.skipped[:_MOST_SKIPPED]]
    if more := len(result.skipped[_MOST_SKIPPED:]):
        lines.append(f"Skipped {more} more")
    return "\n".join([*lines, f"Next: aigon spec-check {result.features[0].feature.slug}"])


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
