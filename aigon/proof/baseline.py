"""The baseline of a feature: the commit where its branch left the target branch, and what passed there already."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from aigon.files.home import is_runtime
from aigon.git.repository import find_ref
from aigon.git.trusted import TrustedGit
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.branch import has_only_own_lines, is_own_command
from aigon.job.job import Job
from aigon.journal.state import State
from aigon.proof.vacuity import criterion_key, results_of
from aigon.spec.features import ROOT


def find_baseline(git: TrustedGit, head: str, target: str) -> str:
    """Return the commit with which a feature is compared whose branch is at `head`.

    That is the fork point with the branch `target` ("" if it is not known: with the nearest branch that is no
    feature's). It is `head` itself while the branch holds nothing but aigon's own files beyond the fork.
    """
    fork = _find_fork(git, head, _tips(git, target))
    if fork in ("", head):
        return head
    listed = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", fork, head)
    paths = filter(None, listed.decode(errors="surrogateescape").split("\0"))
    return head if are_aigons_own(git, fork, paths) else fork


def are_aigons_own(git: TrustedGit, base: str, paths: Iterable[str]) -> bool:
    """Return whether the work tree differs from `base` in these paths by nothing but what aigon itself writes.

    That is specs and logs, `.aigon/`, its lines of .gitignore and the commands that it installs for agents.
    """
    return all(_is_aigons_own(git, base, path) for path in paths)


def _is_aigons_own(git: TrustedGit, base: str, path: str) -> bool:
    file = git.root / path
    if path == ".gitignore":
        before = git.attempt("cat-file", "blob", f"{base}:{path}")[1].decode(errors="replace")
        return has_only_own_lines(before, file.read_text(errors="replace") if file.is_file() else "")
    if path.startswith((f"{ROOT}/", ".aigon/")) or is_runtime(path):
        return True
    return is_own_command(file)


def _tips(git: TrustedGit, target: str) -> set[str]:
    """Return the commit of the branch `target`, or of every branch that is no feature's."""
    if target and (tip := find_ref(git.common_dir, f"refs/heads/{target}")) is not None:
        return {tip} - {""}
    wanted = (f"refs/heads/{target}",) if target else ("refs/heads", "refs/remotes")
    code, listed = git.refs("for-each-ref", "--format=%(objectname) %(refname)", *wanted)
    rows = [line.split(" ", 1) for line in listed.splitlines()] if code == 0 else []
    return {tip for tip, name in rows if target or not name.rpartition("/")[2].startswith("feature-")}


def _find_fork(git: TrustedGit, head: str, tips: Collection[str]) -> str:
    """Return the newest commit that `head` shares with one of `tips`; "" if it shares none."""
    if head in tips:
        return head
    shared = {out.decode().strip() for tip in tips if (out := git.attempt("merge-base", tip, head)[1])}
    for one in shared:
        if all(git.attempt("merge-base", "--is-ancestor", other, one)[0] == 0 for other in shared - {one}):
            return one
    return ""


def compare_with_baseline(
    job: Job, git: TrustedGit, snapshot: Snapshot, look: Assessment, state: State, *, whole: bool
) -> Assessment:
    """Return the look with the criteria that passed at the baseline and, if `whole`, whether it adds anything to it."""
    adds_nothing = whole and are_aigons_own(git, job.base_commit, snapshot.content().entries)
    known = job.base_results
    if not known and state.base and state.base.adds_nothing:
        known = results_of(job.spec.criteria, state.base.verdicts)
    elif not known and state.base:
        known = {criterion_key(c): True for c in job.spec.criteria if c.number in state.base.passed_at_base}
    met = {verdict.criterion for verdict in look.verdicts if verdict.status == "met" and not verdict.is_waived}
    passed = (c.number for c in job.spec.criteria if known.get(criterion_key(c), adds_nothing and c.number in met))
    return replace(look, passed_at_base=tuple(passed), adds_nothing=adds_nothing)
