"""Merge a proven tip, or open a pull request for it, with the person's own git."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from aigon.done.checkouts import move_branch, save_changes_aside, save_commit_aside
from aigon.done.choice import Landing
from aigon.done.proof import is_same_but_for_features
from aigon.errors import AigonError, environment, usage
from aigon.git import forge
from aigon.git.person import NO_HOOKS, Checkout
from aigon.job import branch
from aigon.journal.state import State, replay
from aigon.loop.iteration_log import render_squash_message
from aigon.model.criteria import Spec
from aigon.spec.document import parse_spec
from aigon.text.quoting import fold

IN_PLACE = ("-c", "merge.directoryRenames=false")
"""Git takes a folder whose only spec moves to done for renamed, and would move specs added to it meanwhile."""
SHOWN = 10
"""Paths with conflicts that a message names."""
TITLE = 120
"""Characters of a title that forges show whole."""


Prove = Callable[[Checkout, Landing], None]
"""Runs everything on the files of a checkout. Raises AigonError if that is not proven."""
RenderReport = Callable[[Checkout, str], str]
"""Returns the report on a feature as Markdown. Raises AigonError if there is none."""


def merge_tip(
    landing: Landing, message: str, prove: Prove, note_tree: Callable[[str], None], *, squash: bool, verify: bool
) -> tuple[str, bool]:
    """Return the commit on the target, and whether the result had to be proven anew.

    `note_tree` is given the tree that the merge came to when it was tried. Raises AigonError, with everything as it
    was: 3 if the result is not proven, 7 for conflicts or a hook's refusal.
    """
    branch.enter_branch(landing.main, landing.target)
    tree, anew = landing.find_tree(landing.tip), False
    if not landing.is_settled:
        with _try_merge(landing) as tree:
            note_tree(tree)
            anew = not is_same_but_for_features(landing.main, tree, landing.tip, landing.feature.path)
            if anew:
                prove(landing.main, landing)
    if verify and not squash:
        require_pre_commit(landing)
    main, options = landing.main, (*no_verify_options(verify), "-m", message)
    with restore_on_error(landing):
        if squash:
            main.git_with_hooks(*IN_PLACE, "merge", "-q", "--squash", "--ff", landing.tip)
            if main.git("write-tree") != landing.find_tree(landing.onto):
                main.git_with_hooks("commit", "-q", *options)
        else:
            main.git_with_hooks(*IN_PLACE, "merge", "--no-ff", *options, landing.tip)
        if landing.find_tree("HEAD") != tree:
            raise _explain_change(landing)
    return str(main.head), anew


def no_verify_options(verify: bool) -> tuple[str, ...]:
    """Return the option by which git skips the hooks that may refuse."""
    return () if verify else ("--no-verify",)


def require_pre_commit(landing: Landing) -> None:
    """Let the person's pre-commit hook see all that the feature adds to the target, staged as for one commit.

    `git merge` does not run it, and in a merge that waits for its commit the program pre-commit looks at conflicts
    alone. Raises AigonError (exit 7) if it fails or stages something else.
    """
    with _try_merge(landing) as tree:
        try:
            landing.main.run_hook("pre-commit")
        except AigonError as error:
            raise _explain_refusal(landing, error) from None
        if landing.main.head != landing.onto or landing.main.git("write-tree") != tree:
            raise _explain_change(landing)


def _explain_change(landing: Landing) -> AigonError:
    what = "A hook changed what was to be committed, and that is not what was proven"
    hint = "Let the hook only check, or skip the hooks with --no-verify"
    if (head := landing.main.head) and head != landing.onto:
        hint = f"What was committed is kept as refs/aigon/parked/{landing.chosen.branch}/{head[:12]}. {hint}"
    return environment(what, where=landing.target, hint=hint)


@contextmanager
def _try_merge(landing: Landing) -> Iterator[str]:
    """Yield the tree of the merge, with files and index as it would make them, and put them back."""
    try:
        with restore_on_error(landing):
            landing.main.git(*NO_HOOKS, *IN_PLACE, "merge", "-q", "--squash", "--ff", landing.tip)
        yield landing.main.git("write-tree")
    finally:
        _put_back(landing)


@contextmanager
def restore_on_error(landing: Landing) -> Iterator[None]:
    """Put the target back if something goes wrong in here. An error of git's becomes one that says what to do."""
    try:
        yield
    except AigonError as error:
        conflicts = list_conflicts(landing.main)
        refused = bool(landing.main.under_way() or landing.main.list_changed()) and not conflicts
        _put_back(landing)
        if not error.what.startswith("git "):
            raise
        raise (_explain_refusal(landing, error) if refused else explain_conflicts(landing, conflicts, error)) from None
    except BaseException:
        _put_back(landing)
        raise


def list_conflicts(checkout: Checkout) -> list[str]:
    """Return the paths that a merge or a rebase could not bring together."""
    return [path for path in (checkout.ask("diff", "--name-only", "--diff-filter=U", "-z") or "").split("\0") if path]


def _put_back(landing: Landing) -> None:
    """Restore target, index and files. What was committed, or changed in tracked files, is saved aside first."""
    main = landing.main
    if (head := main.head) and head != landing.onto:
        if not main.ask("for-each-ref", "--contains", head, "refs/aigon/parked"):
            save_commit_aside(main, landing.chosen.branch, head)
        main.ask(*NO_HOOKS, "reset", "-q", "--soft", landing.onto)
    if main.ask(*NO_HOOKS, "reset", "-q", "--merge") is None:
        save_changes_aside(main, landing.chosen.branch)


def explain_conflicts(landing: Landing, conflicts: list[str], error: AigonError) -> AigonError:
    """Return an error that says how an agent or a person brings both sides together on the feature's branch."""
    chosen, target = landing.chosen, landing.target
    listed = ", ".join(fold(path, 200) for path in conflicts[:SHOWN]) or target
    resume = chosen.resume(landing.main)
    hint = (
        f"Merge {target} into {chosen.branch} ({chosen.bring(target)}), resolve and commit, then `{resume}`, "
        f"then `{chosen.again}`. {'' if conflicts else error.hint}"
    )
    return environment(f"{chosen.branch} does not merge into {target}", where=listed, hint=hint.rstrip())


def _explain_refusal(landing: Landing, error: AigonError) -> AigonError:
    what = f"A hook, or git, refused the merge of {landing.chosen.branch} into {landing.target}; nothing was merged"
    hint = f"Fix what it says on {landing.chosen.branch}, or skip the hooks with --no-verify\n{error.hint}"
    return environment(what, where=landing.target, hint=hint)


def build_squash_message(landing: Landing) -> str:
    """Return subject, what is proven and by what, and trailers, from the journal of the run that proved it."""
    records, spec = landing.chosen.records, _read_spec(landing)
    state = State()
    with suppress(AigonError):  # a forced merge may have no record that can be read
        state = replay(records.each()) if records.journal.exists() else state
    texts = {c.number: c.text for c in spec.criteria} if spec else {}
    verdicts = state.last.verdicts if state.last else ()
    return render_squash_message(
        feature_id=landing.chosen.name,
        title=_read_title(landing),
        agent=state.started.agent if state.started else "",
        findings=state.last.findings if state.last else (),
        criteria=[(verdict, texts.get(verdict.criterion, "")) for verdict in verdicts],
    )


def _read_title(landing: Landing) -> str:
    """Return the title in the spec, or the slug if that cannot be read."""
    spec = _read_spec(landing)
    return (spec.title if spec else "") or landing.feature.slug


def _read_spec(landing: Landing) -> Spec | None:
    raw = landing.main.ask("show", f"{landing.tip}:{landing.feature.path}")
    try:
        return parse_spec((raw or "").encode("utf-8", "surrogateescape"))
    except AigonError:
        return None


def open_pull_request(landing: Landing, old: str, render_report: RenderReport, *, verify: bool) -> str:
    """Push the branch, open a pull request for it and return its address. One that is open is only pushed to.

    Raises AigonError (exit 7) with git's or gh's own words; before anything is pushed the branch is as it was.
    """
    main, branch = landing.main, landing.chosen.branch
    forge.require_gh()
    remote = _find_remote(main, landing.target)
    listed = forge.run_gh(main.root, "pr", "list", "--head", branch, "--state", "open", "--json", "url")
    try:
        body = render_report(main, landing.chosen.name)
    except AigonError as error:
        body = f"There is no report on this feature: {fold(error.what)}.\n"
    if issue := _find_issue(landing, remote):
        body = f"{body.rstrip()}\n\nCloses {issue}\n"
    move_branch(main, branch, landing.tip, old)
    try:
        refspec = f"refs/heads/{branch}:refs/heads/{branch}"
        main.git_with_hooks("push", "-q", *no_verify_options(verify), remote, refspec)
    except AigonError:
        move_branch(main, branch, old, landing.tip)
        raise
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(listed or "[]")[0]["url"])
    title = fold(f"feat(feature-{landing.chosen.name}): {_read_title(landing)}", TITLE)
    options = ("--head", branch, "--base", landing.target, "--title", title, "--body-file", "-")
    output = forge.run_gh(main.root, "pr", "create", *options, stdin=body)
    return output.splitlines()[-1] if output else ""


def _find_issue(landing: Landing, remote: str) -> str:
    """Return the issue that the spec was imported from, as the forge of the remote calls it; "" for none."""
    spec = _read_spec(landing)
    source = str(spec.frontmatter.get("source", "")) if spec else ""
    return forge.refer_to_issue(source, landing.main.ask("remote", "get-url", remote) or "")


def _find_remote(main: Checkout, target: str) -> str:
    """Return the remote of the target. Raises AigonError (exit 2) if nothing says which."""
    remotes = main.git("remote").splitlines()
    configured = main.config.get(f"branch.{target.lower()}.remote", "origin")
    if configured in remotes:
        return configured
    if len(remotes) == 1:
        return remotes[0]
    raise usage("It is not known where to push to", where="--pr", hint=f"git branch -u REMOTE/{target} {target}")
