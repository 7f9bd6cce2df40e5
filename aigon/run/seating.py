"""Decide who works on a feature, and where: the checkout at hand, one agent's worktree, or those of an arena."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.configured import resolve_agents
from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import AigonError, usage
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.job import branch
from aigon.job.job import Seat, list_known_candidates, open_main_checkout
from aigon.job.options import Options
from aigon.job.spec_locations import find_feature_to_begin, locate_spec, require_open_feature
from aigon.journal import records
from aigon.journal.records import locate_records
from aigon.model.agents import Candidate, find_candidate
from aigon.run.feature_stages import require_feature
from aigon.spec.features import ROOT

_LANDLOCK_ALONE = "Landlock cannot keep agents out of .git in this checkout"


def spell_out_agent(main: Checkout, options: Options) -> Options:
    """Return `--agent claude:opus` as `--agent claude --model opus`. Raises AigonError (exit 2) for two models."""
    if len(options.agents) != 1 or ":" not in options.agents[0]:
        return options
    if options.agents[0] in load_configuration(open_work_tree(main.root)).agents:
        return options
    (requested,) = resolve_agents(main.root, options.agents)
    if options.model and options.model != requested.model:
        what = f"{requested.name} names another model than --model {options.model}"
        raise usage(what, where="--agent", hint="Name one")
    sources = {"model": source} if (source := options.sources.get("agents")) else {}
    return replace(options, agents=(requested.agent,), model=requested.model, sources={**options.sources, **sources})


def choose_agents(main: Checkout, options: Options, here: Candidate | None) -> tuple[str, ...]:
    """Return the agents that are to work in worktrees, as people name them; none for solo mode in this checkout.

    Without names the feature's worktrees are used, first of all the one that the person is in.
    """
    known = list_known_candidates(main, options.feature)
    if options.worktree is False:
        return ()
    # On a resume AIGON_AGENT may say which worktree is meant, but not who works: the run itself does.
    resumed_by_name = options.resume and not options.is_flag("agents")
    if len(options.agents) > 1 and not resumed_by_name:
        return tuple(options.agents)
    if len(options.agents) == 1:
        (name,) = options.agents
        if not known and not options.worktree:
            return ()  # it may be an agent of the feature's branch, which is not checked out yet
        match = _find_candidate(main, known, name)
        if match or not (resumed_by_name and known):
            return (match.agent,) if match else (name,) if options.worktree else ()
    if here and here in known:
        return (here.agent,)
    if options.worktree and len(known) != 1:
        return (choose_default_agent(main, options),)
    if options.worktree or not known:
        return tuple(each.agent for each in known)
    return () if has_run_solo_last(main, known) else tuple(each.agent for each in known)


def _find_candidate(main: Checkout, known: Sequence[Candidate], name: str) -> Candidate | None:
    if match := find_candidate(known, name):  # the label of a worktree need not name an agent
        return match
    (requested,) = resolve_agents(main.root, [name])
    return find_candidate(known, requested.name) or find_candidate(known, requested.label)


def choose_default_agent(main: Checkout, options: Options) -> str:
    from aigon.run.actors import choose_agent

    read = open_work_tree(main.root)
    return choose_agent(main.root, load_configuration(read), options, dict(os.environ), read)[0].name


def _require_agent(main: Checkout, options: Options) -> None:
    from aigon.run.actors import choose_agent, require_agent

    read, env = open_work_tree(main.root), dict(os.environ)
    agent, _ = choose_agent(main.root, load_configuration(read), spell_out_agent(main, options), env, read)
    require_agent(main.root, agent, options, env)


def has_run_solo_last(main: Checkout, known: Sequence[Candidate]) -> bool:
    """Return whether the feature's last run was in no worktree."""
    home = find_home(main.common_dir)
    if home is None:
        return False
    journals = [records.candidate_records(home, each).journal for each in known]
    solo = locate_records(home, known[0].feature).journal
    newest = max((file.stat().st_mtime for file in journals if file.exists()), default=0.0)
    return solo.exists() and solo.stat().st_mtime > newest


def resolve_candidate(main: Checkout, here: Candidate | None, wanted: str, agent: str | None) -> Candidate | None:
    """Return the candidate by name, by the worktree that the person is in, or the only one that has run.

    Return None for solo mode. Raises AigonError (exit 2) if no candidate has that name, or several could be meant.
    """
    known = list_known_candidates(main, wanted)
    if agent:
        if match := _find_candidate(main, known, agent):
            return match
        listed = ", ".join(each.label for each in known) or "no candidate has a worktree"
        raise usage(f"{agent} does not work on feature {wanted}", where="--agent", hint=f"There: {listed}")
    if here and here in known:
        return here
    home = find_home(main.common_dir)
    ran = [each for each in known if home and records.candidate_records(home, each).journal.exists()]
    solo = bool(home and known and locate_records(home, known[0].feature).journal.exists())
    if len(ran) + solo > 1:
        listed = ", ".join(each.label for each in ran)
        raise usage(f"Several agents work on feature {wanted}: {listed}", hint="Name one with --agent")
    return ran[0] if ran else None


def prefer_worktree(main: Checkout, options: Options, say: Callable[[str], None]) -> Options:
    """Return the options with a worktree wanted where a run in the main checkout could not keep an agent out of `.git`.

    That is where only Landlock works. A run stays in the main checkout if a person says so, if the feature was begun
    there, or if a worktree would lack something that this checkout has.
    """
    known = list_known_candidates(main, options.feature)
    if options.worktree is not None or options.resume or known or len(options.agents) > 1:
        return options
    from aigon.isolation.machine_paths import is_repository_lent  # a status needs none of it
    from aigon.isolation.sandbox import choose_mechanism

    with suppress(AigonError):  # what is wrong is said by whoever needs it
        config = load_configuration(open_work_tree(main.root))
        mechanism = choose_mechanism(options.sandbox or config.sandbox.mode, config.sandbox.network)
        if mechanism != "landlock" or is_repository_lent(main.root, mechanism):
            return options
        feature = find_feature_to_begin(main.root, main.common_dir, options.feature)
        is_begun = main.commit_of(f"refs/heads/{feature.name}") is not None
        if feature.id and feature.path.startswith(f"{ROOT}/") and not is_begun and _is_worktree_complete(main, config):
            say(f"{_LANDLOCK_ALONE}: the run gets a worktree (--no-worktree: here)")
            return replace(options, worktree=True)
    return options


def require_startable(main: Checkout, options: Options, here: Candidate | None) -> None:
    """Raise AigonError (exit 7) if a run in the main checkout would refuse the changes that are there."""
    options = options if here else prefer_worktree(main, options, lambda _text: None)
    if here is None and not choose_agents(main, options, here):
        place = locate_spec(main.root, main.common_dir, options.feature)
        branch.list_own_changes(main, [place.feature.path])


def _is_worktree_complete(main: Checkout, config: Config) -> bool:
    """Return whether a worktree has the dependencies that the main checkout has: git does not bring them."""
    if config.worktree.setup or config.worktree.link or config.worktree.copy_:
        return True
    from aigon.checks.project import find_editable_installs
    from aigon.config.loading import build_tool_path
    from aigon.proof.protection import proof_of

    made = [setup.makes for setup in proof_of(main.root, config).setups if setup.makes]
    if any((main.root / name).is_dir() for name in made):
        return False
    return not find_editable_installs(main.root, {**os.environ, "PATH": build_tool_path(main.root)})


@contextmanager
def take_seat(checkout: Checkout, options: Options, say: Callable[[str], None]) -> Iterator[tuple[Seat, Options]]:
    """Yield the seat of the one agent that is to work, and the options with its name and model spelled out.

    Raises AigonError (exit 2) if several agents could be meant, and before a worktree is made if none could work there.
    """
    with open_main_checkout(checkout) as (main, here):
        if not options.resume:
            require_feature(main, options.feature, write=True)
        options = options if here else prefer_worktree(main, options, say)
        names = choose_agents(main, options, here)
        if not names:
            if here is not None:
                what = f"This is the worktree of another feature or agent than {options.feature}"
                raise usage(what, hint="Go to the main checkout for that one")
            require_open_feature(checkout.root, checkout.common_dir, options.feature)
            yield Seat(checkout, checkout.root), spell_out_agent(main, options)
            return
        if len(names) > 1:
            listed = ", ".join(each.label for each in list_known_candidates(main, options.feature)) or ", ".join(names)
            raise usage(f"Feature {options.feature} has several agents: {listed}", hint="Name one with --agent")
        from aigon.worktrees.setup import set_up_feature

        if not list_known_candidates(main, options.feature):
            locate_spec(main.root, main.common_dir, options.feature).parse()
            _require_agent(main, replace(options, agents=names))
        (candidate,) = set_up_feature(main, options.feature, names, say)
        with Checkout.open(Path(candidate.path)) as worktree:
            chosen = replace(options, feature=candidate.feature, agents=(candidate.agent,))
            yield Seat(worktree, main.root, candidate), spell_out_agent(main, chosen)
