"""New commits on a feature before it is merged: its own on top of the target, or files of other candidates."""

import os
import posixpath
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.done.checkouts import detach_head, save_commit_aside
from aigon.done.choice import ChosenWork, Landing, resolve_agent
from aigon.done.merge import (
    IN_PLACE,
    Prove,
    explain_conflicts,
    list_conflicts,
    no_verify_options,
    require_pre_commit,
    restore_on_error,
)
from aigon.done.proof import is_same_but_for_features
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import is_runtime
from aigon.git import objects
from aigon.git.commits import clear_index
from aigon.git.objects import TreeEntry
from aigon.git.person import NO_HOOKS, Checkout
from aigon.git.secret_files import find_leaks, make_content_check, make_tracked_check
from aigon.git.trusted import TrustedGit
from aigon.job import bookkeeping, branch
from aigon.job.options import Options
from aigon.loop.iteration_log import SUBJECT_CHARS
from aigon.model.agents import Candidate
from aigon.run.prepare import prepare
from aigon.secrets.leaks import HOW_TO_ALLOW
from aigon.spec.features import ROOT
from aigon.text.quoting import clip, fold

SAFE_REBASE = ("-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false", "-c", "rebase.autoSquash=false")
"""Nothing but HEAD may move before the result is proven."""


def rebase_tip(landing: Landing, prove: Prove, *, verify: bool) -> tuple[Landing, bool]:
    """Return the landing with the branch's commits on top of the target, and whether that had to be proven anew.

    No branch moves: HEAD is detached meanwhile where the branch is checked out.
    """
    chosen = landing.chosen
    if landing.is_settled:
        return landing, False
    with detach_head(landing.main, chosen.branch, landing.tip) as place:
        try:
            place.git_with_hooks(*SAFE_REBASE, *IN_PLACE, "rebase", "-q", *no_verify_options(verify), landing.onto)
        except AigonError as error:
            conflicts = list_conflicts(place)
            place.ask(*NO_HOOKS, "rebase", "--abort")
            raise explain_conflicts(landing, conflicts, error) from None
        rebased = replace(landing, tip=str(place.head))
        anew = not is_same_but_for_features(landing.main, rebased.tip, landing.tip, landing.feature.path)
        if anew:
            prove(place, rebased)
    return rebased, anew


def fast_forward(landing: Landing, *, verify: bool) -> str:
    """Move the target to the tip, which contains it, and return the tip.

    Git makes no commit here and runs no pre-commit hook; with `verify`, it is run on what the target gains.
    """
    branch.enter_branch(landing.main, landing.target)
    if verify:
        require_pre_commit(landing)
    with restore_on_error(landing):
        landing.main.git_with_hooks("merge", "-q", "--ff-only", landing.tip)
    return landing.tip


class Adoption(Struct, frozen=True):
    """A path, and the candidate whose version of it is wanted; `tip` is the last commit of that candidate."""

    whose: Candidate
    tip: str
    path: str


def parse_adoptions(
    main: Checkout, chosen: ChosenWork, others: Sequence[Candidate], texts: Sequence[str]
) -> tuple[Adoption, ...]:
    """Parse `AGENT:PATH`. Raises AigonError (exit 2) if there is no such agent or file."""
    if texts and not others:
        raise usage(
            f"There is no other agent to adopt from: {chosen.branch} is the only work on this feature", where="--adopt"
        )
    adoptions = []
    for text in texts:
        whose, path = _split_adoption(main, others, text)
        tip = main.commit_of(f"refs/heads/{whose.branch}")
        if tip is None:
            raise usage(f"The branch {whose.branch} is gone", where=f"--adopt {fold(text)}")
        clean = posixpath.normpath(path)
        if not path or clean.startswith(("../", "/")) or clean in (".", ".."):
            what = f"'{fold(text)}' names no file of the repository"
            raise usage(what, where="--adopt", hint="--adopt cx:tests/test_x.py")
        adoptions.append(Adoption(whose, tip, clean))
    return tuple(adoptions)


def _split_adoption(main: Checkout, others: Sequence[Candidate], text: str) -> tuple[Candidate, str]:
    # An agent's name may have a colon of its own: `claude:opus:src/x.py`.
    for each in others:
        for name in (each.label, each.agent):
            if text.startswith(f"{name}:"):
                return each, text[len(name) + 1 :]
    who, colon, path = text.partition(":")
    if not colon:
        raise usage(f"'{fold(text)}' does not say whose file it is", where="--adopt", hint="--adopt AGENT:PATH")
    return resolve_agent(main, others, who), path


def adopt_files(landing: Landing, adoptions: Sequence[Adoption], prove: Prove) -> Landing:
    """Commit these files on top of the tip, and prove the result; the branch does not move yet.

    Raises AigonError: 2 for what does not exist or may not be taken, 3 if it is not proven: it is saved aside then.
    """
    git = bookkeeping.open_own_git(landing.main)
    files = {path: entry for adoption in adoptions for path, entry in _list_files(git, adoption).items()}
    index = clear_index(git.directory / "index.adopting")
    git.run("read-tree", landing.tip, index=index)
    lines = [f"{entry.mode} {entry.sha}\t".encode() + os.fsencode(path) for path, entry in files.items()]
    git.run("update-index", "--replace", "-z", "--index-info", stdin=b"\0".join([*lines, b""]), index=index)
    commit, tree = landing.tip, git.run("write-tree", index=index).decode().strip()
    if tree != landing.find_tree(landing.tip):
        sources = [(each.whose.label, each.tip, each.path) for each in adoptions]
        message = _render_adoption_message(landing.chosen.name, sources).encode()
        commit = git.run("commit-tree", tree, "-p", landing.tip, "-F", "-", stdin=message).decode().strip()
    if commit == landing.tip:
        return landing
    grown = replace(landing, tip=commit)
    with detach_head(landing.main, landing.chosen.branch, commit) as place:
        _refuse_secrets(place, grown, list(files))
        try:
            prove(place, grown)
        except AigonError as error:
            if error.code == Exit.STOPPED:
                raise _save_unproven(landing, adoptions, commit, error) from None
            raise
    return grown


def _list_files(git: TrustedGit, adoption: Adoption) -> dict[str, TreeEntry]:
    """Return the files at a path. Raises AigonError (exit 2) if no file is there, or if they include aigon's own."""
    inside = f"{adoption.path}/"
    entries = objects.list_entries(git, adoption.tip)
    files = {path: entry for path, entry in entries.items() if path == adoption.path or path.startswith(inside)}
    where = f"--adopt {adoption.whose.label}:{fold(adoption.path)}"
    if not files:
        hint = f"git ls-tree -r --name-only {adoption.whose.branch} lists what there is"
        raise usage(f"{adoption.whose.label} has no {fold(adoption.path)}", where=where, hint=hint)
    for path in files:
        if path.startswith((f"{ROOT}/", ".aigon/")) or is_runtime(path):
            what = f"{fold(path)} is aigon's own, and is not adopted"
            raise usage(what, where=where, hint="Name other files")
    return files


def _refuse_secrets(place: Checkout, landing: Landing, paths: Sequence[str]) -> None:
    """Raise AigonError (exit 2) for what no iteration commit would hold."""
    options = Options(landing.chosen.name)
    prepared = prepare(place, options, with_agent=False, feature=landing.feature, main=landing.main.root)
    git, base = bookkeeping.open_own_git(place), landing.onto
    found = find_leaks(
        place.root,
        paths,
        make_tracked_check(git, base),
        make_content_check(git, base),
        prepared.protection.may_hold_secrets,
    )
    if found:
        hint = f"Take it out on that branch; if it is not a secret, {HOW_TO_ALLOW}"
        raise usage(found[0].sentence, where=f"--adopt {fold(found[0].path)}", hint=hint)


def _save_unproven(landing: Landing, adoptions: Sequence[Adoption], commit: str, error: AigonError) -> AigonError:
    """Save the commit aside, and return an error that says so."""
    ref = save_commit_aside(landing.main, landing.chosen.branch, commit)
    names = ", ".join(f"{each.whose.label}:{fold(each.path, 80)}" for each in adoptions)
    what = f"With {names} adopted, {landing.chosen.branch} is not proven, so it was dropped and nothing was merged"
    hint = f"It is kept as {ref}. Without it: {landing.chosen.again}"
    return AigonError(what, where=error.where, hint=hint, code=Exit.STOPPED)


def _render_adoption_message(feature_id: str, taken: Sequence[tuple[str, str, str]]) -> str:
    """Return the message of a commit with files of other candidates; `taken` has label, commit and path of each."""
    whose = " and ".join(dict.fromkeys(fold(label, 40) for label, _, _ in taken))
    paths = [fold(path, 200) for _, _, path in taken]
    what = paths[0] if len(paths) == 1 else str(len(paths))
    subject = f"feat(feature-{fold(feature_id, 40)}): adopt {what} of {whose}"
    sources = dict.fromkeys(f"Aigon-Adopted-From: {fold(label, 40)} {commit}" for label, commit, _ in taken)
    feature = f"Aigon-Feature: {fold(feature_id, 2000)}"
    return "\n".join([clip(subject, SUBJECT_CHARS), "", *(f"- {path}" for path in paths), "", feature, *sources]) + "\n"
