"""Merge with the person's own git, once the result is proven: tried first, without a commit, and taken back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aigon.done.choice import Chosen
from aigon.done.place import set_aside
from aigon.done.proof import same_but_for_features
from aigon.errors import AigonError, environment
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job import branch
from aigon.spec.features import Feature
from aigon.text.quoting import fold

IN_PLACE = ("-c", "merge.directoryRenames=false")
"""A spec that goes to done takes no other along: git holds the folder for renamed where it was the only one there."""
SHOWN = 10
"""Paths with conflicts that a message names."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The commit `tip`, whose tree is proven, on its way into `target`, which stands at `onto`."""

    main: Checkout
    chosen: Chosen
    feature: Feature
    target: str
    onto: str
    tip: str

    def tree(self, commit: str) -> str:
        """The tree of a commit."""
        return self.main.git("rev-parse", f"{commit}^{{tree}}")

    @property
    def settled(self) -> bool:
        """Whether the target has nothing that the tip lacks: the result is the tip's own tree."""
        return self.main.is_ancestor(self.onto, self.tip)


Prove = Callable[[Checkout, Landing], None]
"""Runs everything on the files of a checkout. Raises AigonError where that is not proven."""
Tried = Callable[[str], None]
"""Is told the tree that a merge tried out came to."""


def merge(
    landing: Landing, message: str, prove: Prove, tried: Tried, *, squash: bool, verify: bool
) -> tuple[str, bool]:
    """The commit on the target, and whether the result had to be proven anew. Without `verify` no hook may refuse it.

    Raises AigonError, with everything as it was: 3 where it is not proven, 7 for conflicts or a hook's refusal.
    """
    branch.enter_branch(landing.main, landing.target)
    tree, anew = landing.tree(landing.tip), False
    if not landing.settled:
        with _trial(landing) as tree:
            tried(tree)
            anew = not same_but_for_features(landing.main, tree, landing.tip, landing.feature.path)
            if anew:
                prove(landing.main, landing)
    if verify and not squash:
        require_pre_commit(landing)
    with undone(landing):
        if squash:
            _squash(landing, message, verify)
        else:
            options = ("--no-ff", *no_verify(verify), "-m", message)
            landing.main.git_with_hooks(*IN_PLACE, "merge", *options, landing.tip)
        _require(landing, tree)
    return str(landing.main.head), anew


def _squash(landing: Landing, message: str, verify: bool) -> None:
    landing.main.git_with_hooks(*IN_PLACE, "merge", "-q", "--squash", "--ff", landing.tip)
    if landing.main.git("write-tree") != landing.tree(landing.onto):
        landing.main.git_with_hooks("commit", "-q", *no_verify(verify), "-m", message)


def no_verify(verify: bool) -> tuple[str, ...]:
    """Return the option by which git skips the hooks that may refuse."""
    return () if verify else ("--no-verify",)


def require_pre_commit(landing: Landing) -> None:
    """Let the person's pre-commit hook see all that the feature adds to the target, staged as for one commit.

    `git merge` does not run it, and in a merge that waits for its commit the program pre-commit looks at conflicts
    alone. Raises AigonError (exit 7) if it fails or stages something else.
    """
    with _trial(landing) as tree:
        try:
            landing.main.run_hook("pre-commit")
        except AigonError as error:
            raise _refused(landing, error) from None
        if landing.main.git("write-tree") != tree:
            raise _changed(landing)


def _require(landing: Landing, tree: str) -> None:
    """Raise AigonError (exit 7) where another tree was committed than the one that is proven."""
    if landing.tree("HEAD") != tree:
        raise _changed(landing)


def _changed(landing: Landing) -> AigonError:
    what = "A hook changed what was to be committed, and that is not what was proven"
    return environment(what, where=landing.target, hint="Let the hook only look, then run it again")


@contextmanager
def _trial(landing: Landing) -> Iterator[str]:
    """Files and index as the merge would make them, for as long as the context lasts; their tree."""
    try:
        with undone(landing):
            landing.main.git(*NO_HOOKS, *IN_PLACE, "merge", "-q", "--squash", "--ff", landing.tip)
        yield landing.main.git("write-tree")
    finally:
        put_back(landing)


@contextmanager
def undone(landing: Landing) -> Iterator[None]:
    """The target as it was where something goes wrong in here; an error of git's says what, and what to do."""
    try:
        yield
    except AigonError as error:
        conflicts = conflicts_in(landing.main)
        refused = bool(landing.main.under_way() or landing.main.changed()) and not conflicts
        put_back(landing)
        if not error.what.startswith("git "):
            raise
        raise (_refused(landing, error) if refused else conflicting(landing, conflicts, error)) from None
    except BaseException:
        put_back(landing)
        raise


def conflicts_in(checkout: Checkout) -> list[str]:
    """Paths that a merge or a rebase could not bring together."""
    return [path for path in (checkout.ask("diff", "--name-only", "--diff-filter=U", "-z") or "").split("\0") if path]


def put_back(landing: Landing) -> None:
    """Target, index and files as before the merge. What checks changed in files that git knows is parked first."""
    main = landing.main
    if main.head != landing.onto:
        main.ask(*NO_HOOKS, "reset", "-q", "--soft", landing.onto)
    if main.ask(*NO_HOOKS, "reset", "-q", "--merge") is None:
        set_aside(main, landing.chosen.branch)


def conflicting(landing: Landing, conflicts: list[str], error: AigonError) -> AigonError:
    """Both sides changed the same: an agent, or a person, has to bring them together on the feature's branch."""
    chosen, target = landing.chosen, landing.target
    listed = ", ".join(fold(path, 200) for path in conflicts[:SHOWN]) or target
    resume = chosen.resume(landing.main)
    hint = (
        f"Merge {target} into {chosen.branch} ({chosen.bring(target)}), resolve and commit, then `{resume}`, "
        f"then `{chosen.again}`. {'' if conflicts else error.hint}"
    )
    return environment(f"{chosen.branch} does not merge into {target}", where=listed, hint=hint.rstrip())


def _refused(landing: Landing, error: AigonError) -> AigonError:
    what = f"A hook, or git, refused the merge of {landing.chosen.branch} into {landing.target}; nothing was merged"
    hint = f"Fix what it says on {landing.chosen.branch}, or skip the hooks with --no-verify\n{error.hint}"
    return environment(what, where=landing.target, hint=hint)
