"""Stage moves and other small commits of aigon's own, outside a run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aigon.core import features
from aigon.core.errors import environment, usage
from aigon.core.features import FOLDERS, ROOT, Feature
from aigon.ports.commit_paths import commit_as_person
from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.ports.resources import resource
from aigon.ports.trusted import TrustedGit
from aigon.run import branch, specs
from aigon.run.records import Origin, records_of
from aigon.run.stages import moved_to

OWN_DIRECTORY = "git-bookkeeping"
"""Apart from a loop's own git, whose rules were read before its agent ran: an agent may call these commands too."""


def create(checkout: Checkout, title: str, name: str = "", *, verify: bool = True) -> Feature:
    """Write a spec into the inbox, named after its title or by `name`.

    Raises AigonError: 2 if a feature of that name exists, 7 if a hook refuses the commit.
    """
    slug = features.slug(name or title)
    for path in specs.spec_paths(checkout.root):
        if (found := features.feature_at(path)) and found.slug == slug:
            raise usage(f"A feature '{slug}' exists already", where=path, hint="Edit that spec, or choose another name")
    _require_committer(checkout)
    path = f"{ROOT}/{FOLDERS['inbox']}/feature-{slug}.md"
    template = resource("templates", "specs", "feature.md").read_text(encoding="utf-8")
    target = checkout.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(template.replace("{{TITLE}}", title.strip()), encoding="utf-8")
    try:
        _commit(checkout, [path], f"docs(feature-{slug}): add the spec to the inbox\n", verify)
    except BaseException:
        target.unlink()
        raise
    return Feature("", slug, path, "inbox")


def prioritise(checkout: Checkout, wanted: str, *, verify: bool = True) -> Feature:
    """Give a feature of the inbox its ID and move it to the backlog. Raises AigonError: 2, or 7 by a hook."""
    feature = specs.locate(checkout.root, wanted)
    if feature.id and feature.stage != "inbox":
        raise usage(f"Feature {feature.id} is in the stage {feature.stage} already", where=feature.path)
    _require_committer(checkout)
    id = feature.id or features.next_id(specs.spec_paths(checkout.root))
    with moved_to(checkout.root, feature, "backlog", id) as (moved, paths):
        _commit(checkout, paths, f"docs(feature-{id}): prioritise {feature.slug}\n", verify)
    return moved


def set_up(checkout: Checkout, wanted: str, *, verify: bool = True) -> tuple[Feature, str]:
    """Start a feature: its branch at HEAD, its spec in progress; the feature and the branch. Raises AigonError."""
    feature = specs.locate(checkout.root, wanted)
    specs.refuse_done(feature)
    if not feature.id:
        raise usage(
            f"'{feature.slug}' has no ID yet", where=feature.path, hint=f"aigon feature-prioritise {feature.slug}"
        )
    current = branch.require_sound(checkout)
    own = branch.own_changes(checkout, [feature.path])
    with _entered(checkout, feature.name):
        branch.ignore_runtime_files(checkout)
        with moved_to(checkout.root, feature, "in-progress") as (moved, paths):
            commit = take_up(checkout, moved, [*own, *paths], verify=verify)
    records = records_of(repository_home(checkout.common_dir), feature.id)
    if records.origin() is None:
        records.set_origin(Origin("" if current == feature.name else current, commit))
    return moved, feature.name


@contextmanager
def _entered(checkout: Checkout, name: str) -> Iterator[None]:
    """Check out the branch `name`; if something goes wrong in here, HEAD is back and a branch made here is gone."""
    before, is_new = str(checkout.branch), checkout.commit_of(f"refs/heads/{name}") is None
    branch.enter(checkout, name)
    try:
        yield
    except BaseException:
        if before != name:
            checkout.switch(before)
            if is_new:
                checkout.ask("branch", "-q", "-D", name)
        raise


def take_up(checkout: Checkout, feature: Feature, paths: Sequence[str], *, verify: bool) -> str:
    """Commit aigon's own uncommitted paths as the person does; return HEAD's commit. Raises AigonError (exit 7)."""
    message = branch.take_up_message(trusted(checkout), feature, paths)
    return commit_as_person(checkout, paths, message, verify=verify) if paths else str(checkout.head)


def _commits(checkout: Checkout) -> bool:
    """Whether small changes are committed; before the first commit, for one, they are only written."""
    return checkout.head is not None and checkout.branch is not None and not checkout.under_way()


def _require_committer(checkout: Checkout) -> None:
    """Raise AigonError (exit 7), before anything is written, where a commit could not be made."""
    if _commits(checkout):
        branch.require_committable(checkout)


def _commit(checkout: Checkout, paths: Sequence[str], message: str, verify: bool) -> None:
    """Commit these paths on the branch that is checked out, where small changes are committed."""
    if _commits(checkout):
        commit_as_person(checkout, paths, message, verify=verify)


def trusted(checkout: Checkout) -> TrustedGit:
    """aigon's own git for this checkout."""
    return TrustedGit(checkout, repository_home(checkout.common_dir) / OWN_DIRECTORY)


def require_clean(checkout: Checkout) -> None:
    """Raise AigonError (exit 7) where anything is uncommitted."""
    if changed := checkout.changed():
        hint = 'git add -A && git commit -m "..."   or   git stash --include-untracked'
        raise environment("There are uncommitted changes", where=", ".join(changed[:5]), hint=hint)
