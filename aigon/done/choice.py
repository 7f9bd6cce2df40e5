"""Choose the work on a feature that is to be merged, find its spec, and read whether aigon's journal proves it."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import build_loop_command, resolve_agents
from aigon.compare.file import recall_proposal
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.job import list_known_candidates
from aigon.journal.events import RunFinished
from aigon.journal.records import Records, candidate_records, locate_records
from aigon.journal.state import replay
from aigon.model.agents import Candidate, find_candidate, format_run_command
from aigon.model.outcomes import Met, NeedsHuman, describe_outcome
from aigon.run.seating import has_run_solo_last
from aigon.spec import features, files
from aigon.spec.features import ROOT, Feature, parse_feature_path
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from aigon.done.done import DoneRequest


class ChosenWork(Struct, frozen=True):
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

    @property
    def is_claim(self) -> bool:
        """True if the records came from elsewhere: what they say decides nothing here."""
        return self.records.fetched.exists()

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


class Landing(Struct, frozen=True):
    """The commit `tip`, whose tree is proven, on its way into `target`, which is at `onto`."""

    main: Checkout
    chosen: ChosenWork
    feature: Feature
    target: str
    onto: str
    tip: str

    def find_tree(self, commit: str) -> str:
        """Return the tree of a commit."""
        return self.main.git("rev-parse", f"{commit}^{{tree}}")

    @property
    def is_settled(self) -> bool:
        """True if the target has nothing that the tip lacks: the result is the tip's own tree."""
        return self.main.is_ancestor(self.onto, self.tip)


def choose_work(main: Checkout, request: "DoneRequest", here: Candidate | None) -> ChosenWork:
    """Return what is to be merged; `here` is the candidate whose worktree the person is in.

    Raises AigonError: 2 for an agent without a worktree, 3 if none of several is proven, 4 if several are.
    """
    home, wanted = ensure_home(main.common_dir), request.wanted
    candidates = list_known_candidates(main, wanted)
    if candidates and (request.agent or here or not has_run_solo_last(main, candidates)):
        _refuse_merged(main, open_work(home, candidates[0]), request)
        if request.agent:
            chosen = resolve_agent(main, candidates, request.agent)
        elif here in candidates:
            chosen = here
        else:
            chosen = candidates[0] if len(candidates) == 1 else _choose_proven(main, home, candidates)
        return open_work(home, chosen)
    if request.agent:
        what = f"Feature {fold(wanted)} has no worktree of {fold(request.agent)}"
        raise usage(what, where=fold(wanted), hint="aigon worktrees lists what there is")
    own = branch.find_branch(main, wanted)  # it alone may have the spec
    feature = (parse_feature_path(f"/{own}.md") if own else None) or files.locate_feature(main.root, wanted)
    if main.commit_of(f"refs/heads/{feature.name}") is None:
        refuse_done(main, "HEAD", feature)
        raise usage(f"There is no branch {feature.name}", where=feature.path, hint=f"aigon feature-setup {feature.id}")
    return ChosenWork(feature.name_for_people, feature.name, home, locate_records(home, feature.name_for_people))


def open_work(home: Path, candidate: Candidate) -> ChosenWork:
    return ChosenWork(candidate.feature, candidate.branch, home, candidate_records(home, candidate), candidate)


def _refuse_merged(main: Checkout, chosen: ChosenWork, request: "DoneRequest") -> None:
    """Refuse a feature that is merged: all its candidates began in one place, and their branches may be gone."""
    assert chosen.candidate is not None
    origin = chosen.records.origin()
    feature = Feature(chosen.name, chosen.candidate.slug, "", "")
    if target := request.into or (origin.branch if origin else ""):
        in_progress = replace(feature, path=feature.at("in-progress"))
        refuse_done(main, f"refs/heads/{target}", in_progress, f"aigon cleanup {chosen.name}")


def resolve_agent(main: Checkout, candidates: Sequence[Candidate], wanted: str) -> Candidate:
    """Return the candidate that a person means. Raises AigonError (exit 2) that lists the candidates."""
    with suppress(AigonError):  # the name of no agent may still be a label
        agent = resolve_agents(main.root, [wanted])[0]
        if chosen := find_candidate(candidates, agent.name) or find_candidate(candidates, agent.label):
            return chosen
    if chosen := find_candidate(candidates, wanted):
        return chosen
    listed = ", ".join(f"{each.label} ({fold(each.agent, 80)})" for each in candidates)
    what = f"'{fold(wanted)}' is not an agent of feature {candidates[0].feature}"
    raise usage(what, hint=f"There are: {listed}")


def _choose_proven(main: Checkout, home: Path, candidates: Sequence[Candidate]) -> Candidate:
    """Return the only one that is proven. An evaluation is no evidence, so of several a person chooses."""
    proofs = {each.label: read_proof(main, open_work(home, each).records, each.branch) for each in candidates}
    proven = [each for each in candidates if proofs[each.label].proven]
    if len(proven) == 1:
        return proven[0]
    name = candidates[0].feature
    if not proven:
        listed = "; ".join(f"{each.label}: {proofs[each.label].why}" for each in candidates)
        hint = f"aigon feature-status {name}, or name one and --force it, if you know better"
        what = f"None of the agents of feature {name} is proven"
        raise AigonError(what, where=listed, hint=hint, code=Exit.STOPPED)
    page = f"{ROOT}/evaluations/feature-{name}-eval.md"
    comparison = f"compare: aigon feature-eval {name}"
    if (main.root / page).is_file():
        proposal = recall_proposal(home, name, {label: proof.tip for label, proof in proofs.items()})
        is_won = proposal and proposal.kind == "winner"
        comparison = f"{proposal.label} was proposed by {page}" if proposal and is_won else f"compare: {page}"
    raise AigonError(
        f"Several agents of feature {name} are proven: choose one",
        where=", ".join(each.label for each in proven),
        hint=f"{'   or   '.join(open_work(home, each).again for each in proven)}   ({comparison})",
        code=Exit.NEEDS_HUMAN,
    )


class BranchProof(Struct, frozen=True):
    """The `tip` of a branch, the commit that the last run `ended` on, and whether the tip is proven, else `why` not.

    `changed`: the run was, but the branch has other commits since. `nothing_built`: every criterion passed at the base.
    `waiting` are criteria, by number, that a person has not decided yet. `lacks_check`: what remains needs checks that
    the project does not have.
    """

    tip: str
    ended: str
    proven: bool
    why: str = ""
    changed: bool = False
    nothing_built: bool = False
    waiting: tuple[int, ...] = ()
    lacks_check: bool = False


def read_proof(main: Checkout, records: Records, branch: str) -> BranchProof:
    """Read the journal, since an agent can write the state file. A damaged journal proves nothing."""
    tip = main.commit_of(f"refs/heads/{branch}") or ""
    try:
        events = records.events() if records.journal.exists() else []
    except AigonError as error:
        return BranchProof(tip, "", proven=False, why=error.what)
    state = replay(events)
    ended = next((event.commit for event in reversed(events) if isinstance(event, RunFinished)), "")
    unproven = partial(BranchProof, tip, ended, proven=False)
    if not tip:
        return unproven(why="its branch is gone")
    if state.outcome is None:
        return unproven(why="its last run has not ended" if state.started else "it has not run")
    if isinstance(state.outcome, NeedsHuman):
        asked = set(state.outcome.criteria)
        verdicts = state.last.verdicts if state.last else ()
        missing = asked & {each.criterion for each in verdicts if each.method.startswith("check:")}
        asked -= missing
        waiting = tuple(sorted(asked - {each.criterion for each in records.decisions() if each.commit == ended}))
        why = describe_outcome(state.outcome)
        if asked and not waiting:
            why = "what you decided takes effect in its next run"
        empty, lacks_check = state.outcome.nothing_built, bool(missing and not asked)
        return unproven(why=why, nothing_built=empty, waiting=waiting, lacks_check=lacks_check)
    if not isinstance(state.outcome, Met):
        return unproven(why=describe_outcome(state.outcome))
    if tip == ended or _moves_only_spec(main, ended, tip):
        return BranchProof(tip, ended, proven=True)
    return unproven(why="it has changed since it was proven", changed=True)


def _moves_only_spec(main: Checkout, proven: str, tip: str) -> bool:
    """Return whether `tip` only moves the spec to a later stage, byte for byte, in one commit of aigon's."""
    if not proven or main.ask("rev-list", "--parents", "-1", tip) != f"{tip} {proven}":
        return False
    raw = main.ask("diff-tree", "-r", "--raw", "--no-renames", proven, tip) or ""
    rows = sorted((row.split() for row in raw.splitlines()), key=lambda row: row[4])
    if [row[4] for row in rows] != ["A", "D"]:
        return False
    come, gone = rows
    old, new = parse_feature_path(gone[5]), parse_feature_path(come[5])
    is_same_file = (gone[0].lstrip(":"), gone[2]) == (come[1], come[3])
    return bool(
        is_same_file
        and old
        and new
        and gone[5].startswith(f"{ROOT}/")
        and come[5] in (old.at("in-evaluation"), old.at("done"))
    )


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
        raise usage("Another spec is in the way", where=target, hint="Rename or remove one of the two")
    git = bookkeeping.open_own_git(main)
    entry = objects.list_entries(git, tip, [feature.path])[feature.path]
    tree = objects.write_tree_with(git, tip, {feature.path: None, target: (entry.mode, entry.sha)})
    message = f"docs(feature-{feature.id}): done\n"
    commit = git.run("commit-tree", tree, "-p", tip, "-F", "-", stdin=message.encode()).decode().strip()
    moved = parse_feature_path(target)
    assert moved is not None, "a feature's path parses back"
    return moved, commit


def _is_in_root(feature: Feature) -> bool:
    """A spec outside of aigon's folders stays where its owner put it."""
    return feature.path.startswith(f"{ROOT}/")
