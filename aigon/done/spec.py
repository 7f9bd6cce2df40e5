"""The spec of a feature that is merged: where it is on its branch, and the commit that moves it to done."""

from aigon.errors import AigonError, usage
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.spec import features, files
from aigon.spec.features import ROOT, Feature, parse_feature_path


def spec_at(main: Checkout, commit: str, name: str, wanted: str) -> Feature:
    """The feature as `commit` has it; a spec that lies outside of aigon's folders, as the checkout has it."""
    listed = main.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", f"{ROOT}/").split("\0")
    paths = [path for path in listed if path and path.split("/")[-2] not in files.NOT_STAGES]
    try:
        return features.find_feature(paths, name)
    except AigonError:
        return files.locate_feature(main.root, wanted)


def is_done(main: Checkout, commit: str, feature: Feature) -> bool:
    """Whether `commit` has the spec in the stage done."""
    return _is_ours(feature) and main.ask("cat-file", "-e", f"{commit}:{feature.at('done')}") is not None


def refuse_done(main: Checkout, commit: str, feature: Feature, hint: str = "") -> None:
    """Raise AigonError (exit 2) where `commit` has the spec in the stage done: there is nothing left to merge."""
    if is_done(main, commit, feature):
        raise usage(f"Feature {feature.name_for_people} is done already", where=feature.at("done"), hint=hint)


def done_commit(main: Checkout, tip: str, feature: Feature) -> tuple[Feature, str]:
    """The feature in its last stage, and a commit on `tip` that moves its spec there; no ref moves, no file changes.

    `tip` itself where there is nothing to move. Raises AigonError (exit 2) when another spec stands in the way.
    """
    if not _is_ours(feature) or feature.stage == "done":
        return feature, tip
    target = feature.at("done")
    if is_done(main, tip, feature):
        raise usage("Another spec stands in the way", where=target, hint="Rename or remove one of the two")
    git = bookkeeping.open_own_git(main)
    index = git.directory / "index.done"
    index.unlink(missing_ok=True)
    git.run("read-tree", tip, index=index)
    mode, _, sha = git.run("ls-tree", "--full-tree", tip, "--", feature.path).decode().partition("\t")[0].split()
    lines = f"0 {'0' * len(sha)}\t{feature.path}\n{mode} {sha}\t{target}\n"
    git.run("update-index", "--index-info", stdin=lines.encode(), index=index)
    tree = git.run("write-tree", index=index).decode().strip()
    message = f"docs(feature-{feature.id}): done\n"
    commit = git.run("commit-tree", tree, "-p", tip, "-F", "-", stdin=message.encode()).decode().strip()
    moved = parse_feature_path(target)
    assert moved is not None, "a feature's path parses back"
    return moved, commit


def _is_ours(feature: Feature) -> bool:
    """A spec outside of aigon's folders stays where its owner put it."""
    return feature.path.startswith(f"{ROOT}/")
