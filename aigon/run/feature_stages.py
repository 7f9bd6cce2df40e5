"""Features before and between runs: created, prioritised, set up, each step a commit of the person's."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.configured import build_loop_command
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home
from aigon.files.resources import find_resource
from aigon.git.commits import FIRST_COMMIT
from aigon.git.person import Checkout
from aigon.job import branch
from aigon.job.bookkeeping import Committing, commit_as_asked, commit_taken_up
from aigon.job.job import hold_checkout, list_known_candidates
from aigon.job.spec_locations import (
    choose_next_id,
    find_checked_out_feature,
    find_feature_to_begin,
    find_merge_target,
    list_spec_locations,
    locate_spec,
)
from aigon.journal.records import Origin, locate_records
from aigon.spec import features, files
from aigon.spec.features import FOLDERS, ROOT, Feature
from aigon.spec.files import moved_to_stage


def create_feature(
    checkout: Checkout, title: str, name: str, how: Committing, priority: str = "", content: bytes = b""
) -> Feature:
    """Write a spec into the inbox, named after its title or by `name`: the `content`, or else the template.

    The template gets a `priority` in its frontmatter if one is given.

    Raises AigonError: 2 if a feature of that name exists, 7 if it cannot be committed here or a hook refuses.
    """
    feature = make_feature(checkout, title, name)
    write_features(checkout, {feature: content or _fill_template(title, priority)}, how)
    return feature


def write_features(checkout: Checkout, specs: Mapping[Feature, bytes], how: Committing) -> None:
    """Write these specs, in one commit. Raises AigonError (exit 7) if they cannot be committed or a hook refuses."""
    how = require_committing(checkout, how)
    paths = [feature.path for feature in specs]
    scope = f"feature-{next(iter(specs)).slug}" if len(specs) == 1 else "features"
    what = "the spec" if len(specs) == 1 else f"{len(specs)} specs"
    try:
        for feature, data in specs.items():
            _write_spec(checkout.root, feature, data)
        commit_as_asked(checkout, paths, f"docs({scope}): add {what} to the inbox", how)
    except BaseException:
        for path in paths:
            (checkout.root / path).unlink(missing_ok=True)
        raise


def make_feature(checkout: Checkout, title: str, name: str = "") -> Feature:
    """Return a feature for the inbox. Raises AigonError (exit 2) if one of that name exists on any branch."""
    slug = features.slugify(name or title)
    for place in list_spec_locations(checkout.root, checkout.common_dir):
        if place.feature.slug == slug:
            hint = "Edit that spec, or choose another name"
            raise usage(f"A feature '{slug}' exists already", where=place.where, hint=hint)
    return Feature("", slug, f"{ROOT}/{FOLDERS['inbox']}/feature-{slug}.md", "inbox")


def require_feature(checkout: Checkout, wanted: str, *, write: bool) -> None:
    """Write the spec of a new feature into the inbox if `wanted` is the title of an unknown one.

    Raises AigonError (exit 2) then: no agent can start before it has acceptance criteria. Without `write` nothing is
    written.
    """
    if not features.is_title(wanted) or branch.find_branch(checkout, wanted):
        return
    try:
        locate_spec(checkout.root, checkout.common_dir, wanted)
        return
    except AigonError as error:
        if "Did you mean" in error.hint:
            error.hint += f" If not: aigon feature-create {shlex.quote(wanted)}"
            raise
    feature = make_feature(checkout, wanted)
    if not write:
        what = f"There is no feature '{wanted}' yet. Without --dry-run its spec is written"
        raise usage(what, where=feature.path, hint=f"aigon feature-create {shlex.quote(wanted)}")
    with hold_checkout(checkout):
        _write_spec(checkout.root, feature, _fill_template(wanted))
    raise usage(
        "The spec of a new feature is written, but it has no acceptance criteria yet",
        where=feature.path,
        hint=f"Write them there, then: {build_loop_command(checkout.root, feature.slug)}",
    )


def _write_spec(root: Path, feature: Feature, content: bytes) -> None:
    target = root / feature.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _fill_template(title: str, priority: str = "") -> bytes:
    template = find_resource("templates", "specs", "feature.md").read_text(encoding="utf-8")
    head = f"---\npriority: {priority}\n---\n" if priority else ""
    return (head + template.replace("{{TITLE}}", title.strip())).encode()


def edit_feature(checkout: Checkout, wanted: str, edit: Callable[[bytes], bytes], how: Committing) -> Feature:
    """Write what `edit` makes of the spec of a feature that has not begun, and commit it.

    Raises AigonError: 2 for a feature that was begun, 7 if the spec has changes that no commit has, or by a hook.
    """
    place = locate_spec(checkout.root, checkout.common_dir, wanted)
    feature = place.feature
    name = feature.name_for_people
    if feature.stage not in ("inbox", "backlog", "paused") or _list_work(checkout, feature):
        hint = f"Edit it where it is worked on, then: aigon feature-implement {name} --resume --accept-spec"
        raise usage(f"Work on feature {name} has begun, so its spec is fixed", where=place.where, hint=hint)
    target, old = checkout.root / feature.path, place.read()
    new = edit(old)
    if new == old:
        return feature
    how = require_committing(checkout, how)
    if checkout.head and checkout.ask("status", "--porcelain", "--", f":(top,literal){feature.path}"):
        hint = f"git commit {shlex.quote(feature.path)}"
        raise environment("The spec has changes that are not committed", where=feature.path, hint=hint)
    write_atomic(target, new)
    try:
        commit_as_asked(checkout, [feature.path], f"docs(feature-{name}): edit the spec", how)
    except BaseException:
        write_atomic(target, old)
        raise
    return feature


def _list_work(checkout: Checkout, feature: Feature) -> tuple[str, ...]:
    """Return the branches on which the feature was begun."""
    own = (feature.name,) if checkout.commit_of(f"refs/heads/{feature.name}") else ()
    return (*own, *(each.branch for each in list_known_candidates(checkout, feature.name_for_people)))


def prioritise_feature(checkout: Checkout, wanted: str, how: Committing) -> Feature:
    """Give a feature of the inbox its ID and move it to the backlog. Raises AigonError: 2, or 7 by a hook."""
    place = locate_spec(checkout.root, checkout.common_dir, wanted)
    feature = place.feature
    if feature.stage not in ("inbox", "backlog") or (feature.id and feature.stage != "inbox"):
        what = f"Feature {feature.name_for_people} is in the stage {feature.stage} already"
        raise usage(what, where=place.where)
    how = require_committing(checkout, how)
    id = feature.id or choose_next_id(checkout.root, checkout.common_dir)
    with moved_to_stage(checkout.root, feature, "backlog", id) as (moved, paths):
        commit_as_asked(checkout, paths, f"docs(feature-{id}): prioritise {feature.slug}", how)
    return moved


def set_up_feature(checkout: Checkout, wanted: str, how: Committing) -> tuple[Feature, str]:
    """Start a feature: its branch at HEAD, its spec in progress. Return the feature and the branch.

    Raises AigonError: 2 for a feature that is done, 7 for a checkout that no feature can start from.
    """
    place = locate_spec(checkout.root, checkout.common_dir, wanted)
    feature = place.feature if place.branch else find_feature_to_begin(checkout.root, checkout.common_dir, wanted)
    files.refuse_closed(feature)
    current = branch.require_sound(checkout)
    if checkout.commit_of(f"refs/heads/{feature.name}") is None:
        branch.require_configuration(checkout)
    own = branch.list_own_changes(checkout, [feature.path], elsewhere=render_worktree_command(checkout.root, feature))
    with _enter_branch(checkout, feature.name):
        branch.ignore_runtime_files(checkout)
        with moved_to_stage(checkout.root, feature, "in-progress") as (moved, paths):
            head = commit_taken_up(checkout, moved, [*own, *paths], how)
    records = locate_records(ensure_home(checkout.common_dir), feature.name_for_people)
    if records.origin() is None:
        records.set_origin(Origin("" if current == feature.name else current, head))
    return moved, feature.name


def render_worktree_command(root: Path, feature: Feature, agents: Sequence[str] = ()) -> str:
    """Return the command that lets an agent work on a feature without touching this checkout."""
    known = features.parse_feature_path(feature.path) or feature  # an ID that is still to be assigned finds nothing
    return build_loop_command(root, known.name_for_people, agents, "--loop --worktree")


@contextmanager
def _enter_branch(checkout: Checkout, name: str) -> Iterator[None]:
    """Check out the branch `name`; if something goes wrong in here, HEAD is back and a branch made here is gone."""
    before, is_new = str(checkout.branch), checkout.commit_of(f"refs/heads/{name}") is None
    branch.enter_branch(checkout, name, exists=not is_new)
    try:
        yield
    except BaseException:
        if before != name:
            checkout.switch(before)
            if is_new:
                checkout.ask("branch", "-q", "-D", name)
        raise


def require_committer(checkout: Checkout) -> None:
    """Raise AigonError (exit 7), before anything is written, if a commit cannot be made or does not belong here."""
    if checkout.head is None:
        branch.require_committable(checkout)
        return
    current = branch.require_sound(checkout)
    if owner := find_checked_out_feature(checkout.root):
        raise environment(
            f"{current} is checked out, so the commit would become a part of feature {owner.name_for_people}",
            where=str(checkout.root),
            hint=f"git switch {find_merge_target(checkout.common_dir, owner) or 'main'}",
        )


def require_committing(checkout: Checkout, how: Committing) -> Committing:
    """Return how to commit: not at all before the first commit, which is the person's to make."""
    if how.commit and checkout.head is None:
        how.say(f"The repository has no commits yet. Make the first one before a feature starts: {FIRST_COMMIT}")
        return replace(how, commit=False)
    try:
        if how.commit:
            require_committer(checkout)
    except AigonError as error:
        error.hint += "   or add --no-commit, which leaves the commit to you"
        raise
    return how
