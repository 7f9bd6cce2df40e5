"""Who is to work on a feature: nobody's worktree (solo), one agent's, or those of an arena."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aigon.agents.configured import find_agent
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import usage
from aigon.files.home import known_home
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.journal import candidates
from aigon.journal.records import records_of
from aigon.model.candidates import (
    Candidate,
    RequestedAgent,
    assign_distinct_labels,
    find_candidate,
    parse_requested_agent,
)
from aigon.spec.features import Feature, feature_at, is_called

SHORT = 3
"""Characters of a kind's alias that is short enough to be a label: `cc`."""


def known(main: Checkout, wanted: str) -> tuple[Candidate, ...]:
    """Return the candidates of the feature that a person calls `wanted`: its ID, slug, title, path or branch."""
    given = feature_at(wanted if "/" in wanted else f"/{wanted.removesuffix('.md')}.md")
    names = {wanted, given.name_for_people, given.slug} if given else {wanted}
    every = candidates.every(known_home(main.common_dir))
    return tuple(each for each in every if each.branch == wanted or any(_is(each, name) for name in names))


def _is(candidate: Candidate, name: str) -> bool:
    return is_called(Feature(candidate.feature, candidate.slug, "", ""), name)


def agents(main: Checkout, names: Sequence[str]) -> tuple[RequestedAgent, ...]:
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


def spelled_out(main: Checkout, options: Options) -> Options:
    """`--agent claude:opus` as `--agent claude --model opus`. Raises AigonError (exit 2) where two models are named."""
    if len(options.agents) != 1 or ":" not in options.agents[0]:
        return options
    if options.agents[0] in load_configuration(open_work_tree(main.root)).agents:
        return options
    (each,) = agents(main, options.agents)
    if options.model and options.model != each.model:
        raise usage(f"{each.name} names another model than --model {options.model}", where="--agent", hint="Name one")
    sources = {"model": source} if (source := options.sources.get("agents")) else {}
    return replace(options, agents=(each.agent,), model=each.model, sources={**options.sources, **sources})


def chosen(main: Checkout, options: Options, here: Candidate | None) -> tuple[str, ...]:
    """The agents that are to work in worktrees, as people name them; none for solo mode in the checkout at hand.

    What was set up is used: a feature's worktrees where nobody is named, the worktree that one stands in first of all.
    """
    there = known(main, options.feature)
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
            named_ = agents(main, [name])[0]
            fits = find_candidate(there, named_.name) or find_candidate(there, named_.label)
        if fits or not (resumed_by_name and there):
            return (fits.agent,) if fits else (name,) if options.worktree else ()
    if here and here in there:
        return (here.agent,)
    if options.worktree or not there:
        return (there[0].agent,) if len(there) == 1 else (_default(main, options),) if options.worktree else ()
    if solo_since(main, there):
        return ()
    return tuple(each.agent for each in there)


def _default(main: Checkout, options: Options) -> str:
    import os

    from aigon.loop.actors import agent_of

    read = open_work_tree(main.root)
    return agent_of(main.root, load_configuration(read), options, dict(os.environ), read)[0].name


def solo_since(main: Checkout, there: Sequence[Candidate]) -> bool:
    """Whether the feature's last run was in no worktree."""
    home = known_home(main.common_dir)
    if home is None:
        return False
    journals = {each: candidates.records(home, each).journal for each in there}
    solo = records_of(home, there[0].feature).journal
    newest = max((file.stat().st_mtime for file in journals.values() if file.exists()), default=0.0)
    return solo.exists() and solo.stat().st_mtime > newest
