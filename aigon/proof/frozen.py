"""What a feature is compared with, from before any agent touched it: the record of what decides it, and its baseline.

The record is outside of the workspace, over runs. A later run, or a resume, does not look for its checks in a tree that
an agent has written to: what vanished from it (a linter's section, a test folder) is still asked for. The baseline is
the commit where the branch left the target branch, with what passed there already.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct, convert, field, to_builtins
from msgspec.structs import replace

from aigon.errors import environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum
from aigon.files.home import is_runtime
from aigon.git.repository import find_ref
from aigon.git.trusted import TrustedGit
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.branch import has_only_own_lines, is_own_command
from aigon.job.job import Job
from aigon.job.world import Attendant
from aigon.journal.state import State
from aigon.model.checks import Check, TestResult
from aigon.observation import Observation
from aigon.profiles.protection import Rule
from aigon.proof.vacuity import criterion_key, results_of
from aigon.spec.features import ROOT

VERSION = 3
LARGEST = 4 * 1024 * 1024
"""Bytes of a guarded file that are kept; what is larger is no script and no configuration."""
LINK, LEFT = 0o120000, -1
"""Modes of what is no ordinary file."""


class Guarded(Struct, frozen=True):
    """A file that is put back: its bytes and mode bits.

    Of a link (mode LINK) `data` is where it leads; what is no file or too large (mode LEFT) is known to be there.
    """

    data: bytes
    mode: int

    @property
    def whole(self) -> bool:
        """True if it is an ordinary file, of which every byte is known."""
        return self.mode not in (LINK, LEFT)


class Tested(Struct, frozen=True):
    """The tests that a check ran on the base, by id, and whether a report said so."""

    tests: Mapping[str, TestResult]
    reported: bool


def had_no_tests(tested: Tested | None) -> bool:
    """Return whether a check reported on the base that there is no test."""
    return tested is not None and tested.reported and not tested.tests


class ProtectedFiles(Struct, Attendant, frozen=True):
    """The files that decide, by path, as people left them: they are put back after each turn."""

    files: Mapping[str, Guarded] = field(default_factory=dict)


class Frozen(Struct, frozen=True):
    """`inputs` names what a person chose (configuration, flags); `theirs` are files that people changed since the base,
    with the commit that has their version; `tested` is by check name; `guarded` by path, `folders` are fingerprints of
    dependency folders by path; `passed` says by a criterion's key whether it passed at the base; `observed` says what
    deciding commands read there.
    """

    base: str
    root: str
    inputs: str
    checks: tuple[Check, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)
    tested: Mapping[str, Tested] = field(default_factory=dict)
    guarded: Mapping[str, Guarded] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    passed: Mapping[str, bool] = field(default_factory=dict)
    observed: Observation = field(default_factory=Observation)

    def version(self, path: str) -> str:
        """Return the commit whose version of a file counts as the base's: a person's later one, if there is one."""
        return self.theirs.get(path, self.base)


def load(file: Path) -> Frozen | None:
    """Return the record, or None. Raises AigonError (exit 7) for one that is damaged or too new.

    It must never seem as if nothing had been recorded, since then nothing would be protected.
    """
    try:
        document = load_with_sum(file.read_bytes())
        version = document.pop("schema_version")
        if isinstance(version, int) and version > VERSION:
            what = "The record of what decides this feature is from a newer aigon"
            raise environment(what, where=str(file), hint="Update aigon; the record is left as it is")
        return convert(document, Frozen)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, MsgspecError):
        raise damage_error("The record of what decides this feature", str(file)) from None


def copy_of(file: Path) -> Path:
    """Return the second copy of the record, which nothing could make anew once an agent has written to the tree."""
    return file.with_name(f"{file.name}.copy")


def save(file: Path, frozen: Frozen) -> None:
    """Write the record whole, twice: the copy first, so that it is never the older one."""
    make_lasting(file.parent)
    data = dump_with_sum({"schema_version": VERSION, **to_builtins(frozen)})
    write_atomic(copy_of(file), data)
    write_atomic(file, data, lasting=True)


def inputs_of(*parts: object) -> str:
    """Return a name for what a person chose."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def lasting(frozen: Frozen | None, now: Sequence[Check], root: str, inputs: str, base: str) -> tuple[Check, ...]:
    """Return the recorded checks and what has come since; all anew after a person's own change of them.

    Recorded programs that are gone (another interpreter, a moved repository) are looked up anew as well.
    """
    if frozen is None or (frozen.root, frozen.inputs, frozen.base) != (root, inputs, base):
        return tuple(now)
    found = {check.name: check for check in now}
    kept = {check.name: check if _can_start(check) else found.get(check.name, check) for check in frozen.checks}
    return tuple({**kept, **{name: check for name, check in found.items() if name not in kept}}.values())


def _can_start(check: Check) -> bool:
    program = check.argv[0] if check.argv else ""
    # The check of endpoints is a file of aigon's that an interpreter runs.
    own = [part for part in check.argv[1:3] if part.startswith("/") and part.endswith(".py")]
    there = not program.startswith("/") or os.access(program, os.X_OK)
    return not check.missing and there and all(map(os.path.exists, own))


def begin_record(
    known: Frozen | None, *, base: str, root: str, inputs: str, checks: Sequence[Check], theirs: Mapping[str, str]
) -> Frozen:
    """Return the record as a run begins: what is known of this base stays, what people changed since is theirs."""
    if known is None or known.base != base:
        return Frozen(base, root, inputs, tuple(checks), theirs)
    same = known.inputs == inputs and known.root == root
    return replace(
        known,
        root=root,
        inputs=inputs,
        checks=tuple(checks),
        theirs={**known.theirs, **theirs},
        tested=known.tested if same else {},
        passed=known.passed if same else {},
        observed=known.observed if same else Observation(),
    )


def with_base(
    frozen: Frozen, tested: Mapping[str, Tested], folders: Mapping[str, str], passed: Mapping[str, bool]
) -> Frozen:
    """Return the record with the base's tests, criteria and dependency folders, unless it knows them already."""
    return replace(
        frozen,
        tested={**tested, **frozen.tested},
        folders={**folders, **frozen.folders},
        passed={**passed, **frozen.passed},
    )


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
