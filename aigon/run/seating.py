"""Who works on a feature, and where: the checkout at hand, one agent's worktree, or those of an arena."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from aigon.agents.configured import find_agent
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import usage
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.seat import Seat, open_main_checkout, open_worktree
from aigon.job.spec_locations import require_open_feature
from aigon.journal import records
from aigon.journal.records import locate_records
from aigon.model.candidates import (
    Candidate,
    RequestedAgent,
    assign_distinct_labels,
    find_candidate,
    parse_requested_agent,
)
from aigon.run.feature_stages import require_feature
from aigon.spec.features import Feature, is_named, parse_feature_path

SHORT = 3
"""Characters of a kind's alias that is short enough to be a label: `cc`."""


def list_known_candidates(main: Checkout, wanted: str) -> tuple[Candidate, ...]:
    """Return the candidates of the feature that a person calls `wanted`: its ID, slug, title, path or branch."""
    given = parse_feature_path(wanted if "/" in wanted else f"/{wanted.removesuffix('.md')}.md")
    names = {wanted, given.name_for_people, given.slug} if given else {wanted}
    every = records.list_candidates(find_home(main.common_dir))
    return tuple(each for each in every if each.branch == wanted or any(_is(each, name) for name in names))


def _is(candidate: Candidate, name: str) -> bool:
    return is_named(Feature(candidate.feature, candidate.slug, "", ""), name)


def resolve_agents(main: Checkout, names: Sequence[str]) -> tuple[RequestedAgent, ...]:
    """The agents that a person names, with labels of their own. Raises AigonError (exit 2) for unknown ones."""
    read = open_work_tree(main.root)
    config = load_configuration(read)
    return assign_distinct_labels([_named(main.root, config, name, read) for name in names])


def _named(root: Path, config: Config, name: str, read: ReadFile) -> RequestedAgent:
    agent = find_agent(root, config, name if name in config.agents else name.partition(":")[0], read)
    short = next((a for a in agent.kind.aliases if len(a) <= SHORT), "") if agent.kind else ""
    found = parse_requested_agent(
        name, short if agent.kind and agent.name == agent.kind.name else agent.name, config.agents
    )
    whole = f"{agent.name}:{found.model}" if found.model else agent.name
    return RequestedAgent(whole, agent.name, found.model, found.label)


def spell_out_agent(main: Checkout, options: Options) -> Options:
    """`--agent claude:opus` as `--agent claude --model opus`. Raises AigonError (exit 2) where two models are named."""
    if len(options.agents) != 1 or ":" not in options.agents[0]:
        return options
    if options.agents[0] in load_configuration(open_work_tree(main.root)).agents:
        return options
    (each,) = resolve_agents(main, options.agents)
    if options.model and options.model != each.model:
        raise usage(f"{each.name} names another model than --model {options.model}", where="--agent", hint="Name one")
    sources = {"model": source} if (source := options.sources.get("agents")) else {}
    return replace(options, agents=(each.agent,), model=each.model, sources={**options.sources, **sources})


def choose_agents(main: Checkout, options: Options, here: Candidate | None) -> tuple[str, ...]:
    """The agents that are to work in worktrees, as people name them; none for solo mode in the checkout at hand.

    What was set up is used: a feature's worktrees where nobody is named, the worktree that one stands in first of all.
    """
    there = list_known_candidates(main, options.feature)
    if options.worktree is False:
        return ()
    # On a resume AIGON_AGENT may say which worktree is meant, but not who works: the run itself does.
    resumed_by_name = options.resume and not options.is_flag("agents")
    if len(options.agents) > 1 and not resumed_by_name:
        return tuple(options.agents)
    if len(options.agents) == 1:
        (name,) = options.agents
        if not there and not options.worktree:
            return ()  # it may be an agent of the feature's branch, which is not checked out yet
        fits = find_candidate(there, name)  # the label of a worktree need not name an agent
        if fits is None:
            named_ = resolve_agents(main, [name])[0]
            fits = find_candidate(there, named_.name) or find_candidate(there, named_.label)
        if fits or not (resumed_by_name and there):
            return (fits.agent,) if fits else (name,) if options.worktree else ()
    if here and here in there:
        return (here.agent,)
    if options.worktree or not there:
        return (there[0].agent,) if len(there) == 1 else (_default(main, options),) if options.worktree else ()
    if has_run_solo_last(main, there):
        return ()
    return tuple(each.agent for each in there)


def _default(main: Checkout, options: Options) -> str:
    import os

    from aigon.run.actors import choose_agent

    read = open_work_tree(main.root)
    return choose_agent(main.root, load_configuration(read), options, dict(os.environ), read)[0].name


def has_run_solo_last(main: Checkout, there: Sequence[Candidate]) -> bool:
    """Whether the feature's last run was in no worktree."""
    home = find_home(main.common_dir)
    if home is None:
        return False
    journals = {each: records.candidate_records(home, each).journal for each in there}
    solo = locate_records(home, there[0].feature).journal
    newest = max((file.stat().st_mtime for file in journals.values() if file.exists()), default=0.0)
    return solo.exists() and solo.stat().st_mtime > newest


def resolve_candidate(main: Checkout, here: Candidate | None, wanted: str, agent: str | None) -> Candidate | None:
    """The candidate by name, by the worktree that one stands in, or the only one that has run; None for solo mode.

    Raises AigonError (exit 2) where nobody of that name works on the feature, or more than one could be meant.
    """
    there = list_known_candidates(main, wanted)
    if agent:
        return _find_named(main, there, wanted, agent)
    if here and here in there:
        return here
    home = find_home(main.common_dir)
    ran = [each for each in there if home and records.candidate_records(home, each).journal.exists()]
    solo = bool(home and there and locate_records(home, there[0].feature).journal.exists())
    if len(ran) + solo > 1:
        raise _several(wanted, ran)
    return ran[0] if ran else None


def _find_named(main: Checkout, there: Sequence[Candidate], wanted: str, agent: str) -> Candidate:
    found = find_candidate(there, agent)
    if found is None:
        (each,) = resolve_agents(main, [agent])
        found = find_candidate(there, each.name) or find_candidate(there, each.label)
    if found is None:
        listed = ", ".join(each.label for each in there) or "nobody has a worktree"
        raise usage(f"{agent} does not work on feature {wanted}", where="--agent", hint=f"There: {listed}")
    return found


def _several(wanted: str, ran: Sequence[Candidate]) -> Exception:
    listed = ", ".join(each.label for each in ran)
    return usage(f"Several agents work on feature {wanted}: {listed}", hint="Name one with --agent")


@contextmanager
def take_seat(checkout: Checkout, options: Options, say: Callable[[str], None]) -> Iterator[tuple[Seat, Options]]:
    """The seat of the one agent that is to work, and the options with its name and model spelled out.

    Raises AigonError (exit 2) where more than one is meant.
    """
    with open_main_checkout(checkout) as (main, here):
        if not options.resume:
            require_feature(main, options.feature, write=True)
        names = choose_agents(main, options, here)
        if not names:
            _require_outside(here, options)
            require_open_feature(checkout.root, checkout.common_dir, options.feature)
            yield Seat(checkout, checkout.root), spell_out_agent(main, options)
            return
        if len(names) > 1:
            listed = ", ".join(each.label for each in list_known_candidates(main, options.feature)) or ", ".join(names)
            raise usage(f"Feature {options.feature} has several agents: {listed}", hint="Name one with --agent")
        from aigon.worktrees.setup import set_up_feature

        (candidate,) = set_up_feature(main, options.feature, names, say)
        with open_worktree(main, candidate) as seat:
            one = replace(options, feature=candidate.feature, agents=(candidate.agent,))
            yield seat, spell_out_agent(main, one)


def _require_outside(here: object, options: Options) -> None:
    """A worktree is for the feature and the agent that it was made for. Raises AigonError (exit 2)."""
    if here is not None:
        raise usage(
            f"This is the worktree of another feature or agent than {options.feature}",
            hint="Go to the main checkout for that one",
        )
