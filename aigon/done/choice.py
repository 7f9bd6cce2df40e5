"""Which work on a feature is to be merged, whether aigon's journal proves it, and where its spec is."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.agents.configured import build_loop_command, resolve_agents
from aigon.compare.file import recall_proposal
from aigon.done.request import DoneRequest
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.seat import list_known_candidates
from aigon.journal.events import Event, RunFinished
from aigon.journal.records import Records, candidate_records, locate_records
from aigon.journal.state import State, replay
from aigon.model.candidates import Candidate, find_candidate, format_run_command
from aigon.model.outcomes import Met, NeedsHuman, describe_outcome
from aigon.run.seating import has_run_solo_last
from aigon.spec import features, files
from aigon.spec.features import ROOT, Feature, parse_feature_path
from aigon.text.quoting import fold


@dataclass(frozen=True, slots=True)
class ChosenWork:
    """The work that is to be merged. `name` is the feature's name for people; `candidate` is None in solo mode."""

    name: str
    branch: str
    home: Path
    records: Records
    candidate: Candidate | None = None

    @property
    def label(self) -> str:
        """Return the candidate's label; "" in solo mode."""
        return self.candidate.label if self.candidate else ""

    def resume(self, main: Checkout) -> str:
        """Return the command that lets its agent continue, or begin."""
        begun = self.records.journal.exists()
        if not begun and not self.candidate:
            return build_loop_command(main.root, self.name)
        return format_run_command(self.name, self.label, "--resume" if begun else "--loop")

    def bring(self, target: str) -> str:
        """Return the command by which a person merges `target` into it."""
        path = self.candidate.path if self.candidate else ""
        go = f"cd {shlex.quote(path)}" if path and Path(path).is_dir() else f"git switch {self.branch}"
        return f"{go} && git merge {target}"

    @property
    def again(self) -> str:
        """Return the command that merges it."""
        return f"aigon feature-done {self.name} {self.label}".rstrip()


def choose_work(main: Checkout, request: DoneRequest, here: Candidate | None) -> ChosenWork:
    """Return what is to be merged; `here` is the candidate whose worktree the person is in.

    Raises AigonError: 2 for an agent without a worktree, 3 if none of several is proven, 4 if several are.
    """
    home = ensure_home(main.common_dir)
    found = list_known_candidates(main, request.wanted)
    if found and not (has_run_solo_last(main, found) and not request.agent and here is None):
        _refuse_done_feature(main, open_work(home, found[0]), request)
        return open_work(home, _choose_candidate(main, home, found, request, here))
    if request.agent:
        what = f"Feature {fold(request.wanted)} has no worktree of {fold(request.agent)}"
        raise usage(what, where=fold(request.wanted), hint="aigon worktrees lists what there is")
    return _choose_solo(main, home, request.wanted)


def open_work(home: Path, candidate: Candidate) -> ChosenWork:
    records = candidate_records(home, candidate)
    return ChosenWork(candidate.feature, candidate.branch, home, records, candidate)


def _refuse_done_feature(main: Checkout, chosen: ChosenWork, request: DoneRequest) -> None:
    # All candidates of a feature began in one place. Once it is merged, their branches may be gone.
    assert chosen.candidate is not None
    origin = chosen.records.origin()
    named = Feature(chosen.name, chosen.candidate.slug, "", "")
    feature = replace(named, path=named.at("in-progress"))
    if target := request.into or (origin.branch if origin else ""):
        refuse_done(main, f"refs/heads/{target}", feature, f"aigon cleanup {chosen.name}")


def _choose_solo(main: Checkout, home: Path, wanted: str) -> ChosenWork:
    # The spec may be on the feature's branch only.
    own = branch.find_branch(main, wanted)
    feature = (parse_feature_path(f"/{own}.md") if own else None) or files.locate_feature(main.root, wanted)
    if main.commit_of(f"refs/heads/{feature.name}") is None:
        refuse_done(main, "HEAD", feature)
        raise usage(f"There is no branch {feature.name}", where=feature.path, hint=f"aigon feature-setup {feature.id}")
    return ChosenWork(feature.name_for_people, feature.name, home, locate_records(home, feature.name_for_people))


def _choose_candidate(
    main: Checkout, home: Path, found: Sequence[Candidate], request: DoneRequest, here: Candidate | None
) -> Candidate:
    if request.agent:
        return resolve_agent(main, found, request.agent)
    if here in found:
        assert here is not None
        return here
    return found[0] if len(found) == 1 else _choose_proven(main, home, found)


def resolve_agent(main: Checkout, found: Sequence[Candidate], wanted: str) -> Candidate:
    """Return the candidate that a person means. Raises AigonError (exit 2) that lists the candidates."""
    with suppress(AigonError):  # the name of no agent may still be a label
        each = resolve_agents(main.root, [wanted])[0]
        if one := find_candidate(found, each.name) or find_candidate(found, each.label):
            return one
    if one := find_candidate(found, wanted):
        return one
    listed = ", ".join(f"{each.label} ({fold(each.agent, 80)})" for each in found)
    raise usage(f"'{fold(wanted)}' is none of the agents of feature {found[0].feature}", hint=f"There are: {listed}")


def _choose_proven(main: Checkout, home: Path, found: Sequence[Candidate]) -> Candidate:
    """Return the only one that is proven. An evaluation is no evidence, so of several a person chooses."""
    how = {each.label: read_proof(main, open_work(home, each).records, each.branch) for each in found}
    proven = [each for each in found if how[each.label].proven]
    if len(proven) == 1:
        return proven[0]
    name = found[0].feature
    tips = {label: each.tip for label, each in how.items()}
    if not proven:
        listed = "; ".join(f"{each.label}: {how[each.label].why}" for each in found)
        hint = f"aigon feature-status {name}, or name one and --force it, if you know better"
        what = f"None of the agents of feature {name} is proven"
        raise AigonError(what, where=listed, hint=hint, code=Exit.STOPPED)
    raise AigonError(
        f"Several agents of feature {name} are proven: choose one",
        where=", ".join(each.label for each in proven),
        hint="   or   ".join(
            [*(open_work(home, each).again for each in proven), _suggest_comparison(main, home, name, tips)]
        ),
        code=Exit.NEEDS_HUMAN,
    )


def _suggest_comparison(main: Checkout, home: Path, name: str, tips: Mapping[str, str]) -> str:
    """Return where a person finds how they compare, and whom the comparison proposed."""
    file = f"{ROOT}/evaluations/feature-{name}-eval.md"
    found = recall_proposal(home, name, tips)
    said = f"{found.label} was proposed by " if found and found.kind == "winner" else "compare: "
    return f"{said}{file}" if (main.root / file).is_file() else f"compare: aigon feature-eval {name}"


@dataclass(frozen=True, slots=True)
class BranchProof:
    """How a branch stands: its `tip`, the commit that the last run `ended` on, whether that is proven, else `why` not.

    `changed`: the run was, but the branch has other commits since. `nothing_built`: every criterion passed at the base.
    """

    tip: str
    ended: str
    proven: bool
    why: str = ""
    changed: bool = False
    nothing_built: bool = False


def read_proof(main: Checkout, records: Records, branch: str) -> BranchProof:
    """Read the journal, since an agent can write the state file. A damaged journal proves nothing."""
    tip = main.commit_of(f"refs/heads/{branch}") or ""
    try:
        events = records.events() if records.journal.exists() else []
    except AigonError as error:
        return BranchProof(tip, "", proven=False, why=error.what)
    state, ended = replay(events), _find_last_commit(events)
    if not tip:
        return BranchProof(tip, ended, proven=False, why="its branch is gone")
    if not isinstance(state.outcome, Met):
        empty = isinstance(state.outcome, NeedsHuman) and state.outcome.nothing_built
        return BranchProof(tip, ended, proven=False, why=_explain_unproven(state), nothing_built=empty)
    if tip == ended or _moves_only_spec(main, ended, tip):
        return BranchProof(tip, ended, proven=True)
    return BranchProof(tip, ended, proven=False, why="it has changed since it was proven", changed=True)


def _explain_unproven(state: State) -> str:
    if state.outcome:
        return describe_outcome(state.outcome)
    return "its last run has not ended" if state.started else "it has not run"


def _find_last_commit(events: list[Event]) -> str:
    """Return the commit that the last outcome is about."""
    return next((event.commit for event in reversed(events) if isinstance(event, RunFinished)), "")


def _moves_only_spec(main: Checkout, proven: str, tip: str) -> bool:
    """Return whether `tip` is the commit by which aigon moves a spec to done, byte for byte, and nothing else."""
    if not proven or main.ask("rev-list", "--parents", "-1", tip) != f"{tip} {proven}":
        return False
    rows = [
        row.split() for row in (main.ask("diff-tree", "-r", "--raw", "--no-renames", proven, tip) or "").splitlines()
    ]
    if len(rows) != 2 or {row[4] for row in rows} != {"D", "A"}:
        return False
    gone, come = sorted(rows, key=lambda row: row[4], reverse=True)
    old, new = parse_feature_path(gone[5]), parse_feature_path(come[5])
    same = (gone[0].lstrip(":"), gone[2]) == (come[1], come[3])
    return bool(same and old and new and gone[5].startswith(f"{ROOT}/") and come[5] == old.at("done"))


def find_spec(main: Checkout, commit: str, name: str, wanted: str) -> Feature:
    """Return the feature as `commit` has it; if the spec is outside of aigon's folders, as the checkout has it."""
    listed = main.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", f"{ROOT}/").split("\0")
    paths = [path for path in listed if path and path.split("/")[-2] not in files.NOT_STAGES]
    try:
        return features.find_feature(paths, name)
    except AigonError:
        return files.locate_feature(main.root, wanted)


def is_done(main: Checkout, commit: str, feature: Feature) -> bool:
    """Return whether `commit` has the spec in the stage done."""
    return _is_in_root(feature) and main.ask("cat-file", "-e", f"{commit}:{feature.at('done')}") is not None


def refuse_done(main: Checkout, commit: str, feature: Feature, hint: str = "") -> None:
    """Raise AigonError (exit 2) if `commit` has the spec in the stage done: there is nothing left to merge."""
    if is_done(main, commit, feature):
        raise usage(f"Feature {feature.name_for_people} is done already", where=feature.at("done"), hint=hint)


def commit_done(main: Checkout, tip: str, feature: Feature) -> tuple[Feature, str]:
    """Return the feature in its last stage, and a commit on `tip` that moves its spec there. No ref or file changes.

    If there is nothing to move, the commit is `tip`. Raises AigonError (exit 2) if another spec is in the way.
    """
    if not _is_in_root(feature) or feature.stage == "done":
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


def _is_in_root(feature: Feature) -> bool:
    """A spec outside of aigon's folders stays where its owner put it."""
    return feature.path.startswith(f"{ROOT}/")
