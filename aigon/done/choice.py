"""Which work on a feature is to be merged: the one branch, or the candidate that a person names or that is proven."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.agents.configured import build_loop_command
from aigon.compare.kept import remembered
from aigon.done.proven import standing
from aigon.done.request import Request
from aigon.done.spec import refuse_done
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job import branch
from aigon.journal.records import Records, candidate_records, locate_records
from aigon.model.candidates import Candidate, find_candidate, format_run_command
from aigon.run.seating import has_run_solo_last, list_known_candidates, resolve_agents
from aigon.spec import files
from aigon.spec.features import ROOT, Feature, parse_feature_path
from aigon.text.quoting import fold


@dataclass(frozen=True, slots=True)
class Chosen:
    """The work that is to be merged: the feature by its name for people, the branch, aigon's records of it.

    `candidate` says whose worktree it was made in; None in solo mode.
    """

    name: str
    branch: str
    home: Path
    records: Records
    candidate: Candidate | None = None

    @property
    def label(self) -> str:
        """What tells it from others of the feature; "" in solo mode."""
        return self.candidate.label if self.candidate else ""

    def resume(self, main: Checkout) -> str:
        """The command that lets its agent continue, or begin."""
        begun = self.records.journal.exists()
        if not begun and not self.candidate:
            return build_loop_command(main.root, self.name)
        return format_run_command(self.name, self.label, "--resume" if begun else "--loop")

    def bring(self, target: str) -> str:
        """The command that merges `target` into it, for a person to bring both together."""
        path = self.candidate.path if self.candidate else ""
        go = f"cd {shlex.quote(path)}" if path and Path(path).is_dir() else f"git switch {self.branch}"
        return f"{go} && git merge {target}"

    @property
    def again(self) -> str:
        """The command that merges it."""
        return f"aigon feature-done {self.name} {self.label}".rstrip()


def choose(main: Checkout, request: Request, here: Candidate | None) -> Chosen:
    """What is to be merged; `here` is whose worktree the person stands in.

    Raises AigonError: 2 for an agent without a worktree, 3 where none of several is proven, 4 where several are.
    """
    home = ensure_home(main.common_dir)
    found = list_known_candidates(main, request.wanted)
    if found and not (has_run_solo_last(main, found) and not request.agent and here is None):
        _refuse_done(main, of(home, found[0]), request)
        return of(home, _one(main, home, found, request, here))
    if request.agent:
        what = f"Feature {fold(request.wanted)} has no worktree of {fold(request.agent)}"
        raise usage(what, where=fold(request.wanted), hint="aigon worktrees lists what there is")
    return _solo(main, home, request.wanted)


def of(home: Path, candidate: Candidate) -> Chosen:
    """A candidate's work."""
    records = candidate_records(home, candidate)
    return Chosen(candidate.feature, candidate.branch, home, records, candidate)


def _refuse_done(main: Checkout, chosen: Chosen, request: Request) -> None:
    """All candidates of a feature began in one place. Once it is merged, their branches may be gone."""
    assert chosen.candidate is not None
    origin = chosen.records.origin()
    named = Feature(chosen.name, chosen.candidate.slug, "", "")
    feature = replace(named, path=named.at("in-progress"))
    if target := request.into or (origin.branch if origin else ""):
        refuse_done(main, f"refs/heads/{target}", feature, f"aigon cleanup {chosen.name}")


def _solo(main: Checkout, home: Path, wanted: str) -> Chosen:
    """By its branch where it has one: its spec may stand only there."""
    own = branch.find_branch(main, wanted)
    feature = (parse_feature_path(f"/{own}.md") if own else None) or files.locate_feature(main.root, wanted)
    if main.commit_of(f"refs/heads/{feature.name}") is None:
        refuse_done(main, "HEAD", feature)
        raise usage(f"There is no branch {feature.name}", where=feature.path, hint=f"aigon feature-setup {feature.id}")
    return Chosen(feature.name_for_people, feature.name, home, locate_records(home, feature.name_for_people))


def _one(main: Checkout, home: Path, found: Sequence[Candidate], request: Request, here: Candidate | None) -> Candidate:
    if request.agent:
        return named_by(main, found, request.agent)
    if here in found:
        assert here is not None
        return here
    return found[0] if len(found) == 1 else _proven(main, home, found)


def named_by(main: Checkout, found: Sequence[Candidate], wanted: str) -> Candidate:
    """The candidate that a person means. Raises AigonError (exit 2) with those there are."""
    with suppress(AigonError):  # the name of no agent may still be a label
        each = resolve_agents(main, [wanted])[0]
        if one := find_candidate(found, each.name) or find_candidate(found, each.label):
            return one
    if one := find_candidate(found, wanted):
        return one
    listed = ", ".join(f"{each.label} ({fold(each.agent, 80)})" for each in found)
    raise usage(f"'{fold(wanted)}' is none of the agents of feature {found[0].feature}", hint=f"There are: {listed}")


def _proven(main: Checkout, home: Path, found: Sequence[Candidate]) -> Candidate:
    """The only one that is proven. What somebody wrote about them is no evidence, so of several a person takes one."""
    how = {each.label: standing(main, of(home, each).records, each.branch) for each in found}
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
        hint="   or   ".join([*(of(home, each).again for each in proven), _compared(main, home, name, tips)]),
        code=Exit.NEEDS_HUMAN,
    )


def _compared(main: Checkout, home: Path, name: str, tips: Mapping[str, str]) -> str:
    """Where a person finds how they compare, and whom the comparison proposed."""
    file = f"{ROOT}/evaluations/feature-{name}-eval.md"
    found = remembered(home, name, tips)
    said = f"{found.label} was proposed by " if found and found.kind == "winner" else "compare: "
    return f"{said}{file}" if (main.root / file).is_file() else f"compare: aigon feature-eval {name}"
