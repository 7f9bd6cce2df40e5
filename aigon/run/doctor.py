"""What is here to work with: agents, the machine, the judge. Nothing is changed and no model is asked."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.choice import NEVER_CHOSEN, choose_agent, rank_type
from aigon.agents.configured import OWN, find_agent, user_types_folder
from aigon.agents.health import AgentToExamine, examine_agents
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, Exit
from aigon.files.resources import agent_kinds
from aigon.git.person import Checkout
from aigon.git.repository import find_repository_root
from aigon.git.trusted import refuse_unsupported
from aigon.judge.settings import AgentJudgeSettings, choose_judge
from aigon.loop.actors import chosen_judge
from aigon.model.agent_types import AgentType
from aigon.model.diagnosis import Diagnosis, MachineFact
from aigon.model.turns import Agent
from aigon.run.machine_health import facts, worded
from aigon.run.repair.repair import list_damage


def diagnose(start: Path, env: Mapping[str, str]) -> Diagnosis:
    """Everything, from the folder `start`, in a repository or not. What is malformed is a finding, never an error."""
    root = find_repository_root(start)
    read: ReadFile = open_work_tree(root) if root else lambda _: None
    wrong: list[AigonError] = []
    config = _configuration(read, wrong)
    known = _kinds(root, wrong)
    patients = _patients(root or start, config, known, read, wrong)
    agents = examine_agents(patients, root or start, env)
    basics = facts(root, config, env)
    git = any(fact.name == "git" and fact.data.get("version") for fact in basics)
    machine = (
        *basics,
        *([_repository(root)] if root and git else []),
        *(_records(root) if root else ()),
        _judge(root or start, config, env),
        *(MachineFact("configuration", "Settings", "", problem=worded(error), code=Exit.USAGE) for error in wrong),
    )
    taken, why = choose_agent(config, env, agents, known, root or start)
    return Diagnosis(agents, machine, taken, why, known["command"].note)


def _configuration(read: ReadFile, wrong: list[AigonError]) -> Config:
    try:
        return load_configuration(read)
    except AigonError as error:
        wrong.append(error)
        return Config()


def _kinds(root: Path | None, wrong: list[AigonError]) -> dict[str, AgentType]:
    """Every kind that can be read: one malformed file leaves those of its folder out."""
    sound = []
    for folder in (user_types_folder(), *([root / OWN] if root else [])):
        try:
            load_types([folder])
            sound.append(folder)
        except (AigonError, OSError) as error:
            wrong.append(error if isinstance(error, AigonError) else AigonError(str(error), where=str(folder)))
    return load_types(sound)


def _patients(
    root: Path, config: Config, known: Mapping[str, AgentType], read: ReadFile, wrong: list[AigonError]
) -> list[AgentToExamine]:
    """The configured agents, then every kind that is none of them by name."""
    foreign = agent_kinds(root / OWN)
    found = []
    for name in sorted(config.agents):
        try:
            agent = find_agent(root, config, name, read)
            found.append(AgentToExamine(agent, agent.kind or known[agent.adapter], True, agent.adapter in foreign))
        except AigonError as error:
            wrong.append(error)
    others = [kind for name, kind in known.items() if name not in config.agents and name not in NEVER_CHOSEN]
    others.sort(key=rank_type)
    passed = tuple(config.env.pass_)
    named = [(one, Agent(one.name, one.name, kind=one, passed=passed)) for one in others]
    return found + [AgentToExamine(agent, one, foreign=one.name in foreign) for one, agent in named]


def _repository(root: Path) -> MachineFact:
    """Whether aigon can work in this repository at all, whatever its branches and files are like just now."""
    data = {"path": str(root)}
    try:
        with Checkout.open(root) as checkout:
            checkout.identity()
            refuse_unsupported(checkout)
    except AigonError as error:
        return MachineFact("repository", "Repository", str(root), {**data, "usable": False}, problem=worded(error))
    return MachineFact("repository", "Repository", str(root), {**data, "usable": True})


def _records(root: Path) -> Iterator[MachineFact]:
    """What is damaged of aigon's own records, if anything is."""
    try:
        wrong = list_damage(root)
    except (AigonError, OSError) as error:
        wrong = (str(error),)
    if wrong:
        problem = f"{'; '.join(wrong)}; aigon doctor --repair keeps what is damaged and makes of it what can be made"
        yield MachineFact("records", "Records", f"{len(wrong)} damaged", {"damaged": list(wrong)}, problem=problem)


def _judge(root: Path, config: Config, env: Mapping[str, str]) -> MachineFact:
    """Who would decide criteria that no command decides."""
    own = config.judge or JudgeConfig()
    try:
        chosen = choose_judge(own, env.get("AIGON_JUDGE") or None)
        settings = None if chosen == "none" else chosen_judge(config, chosen, (), env, root)
    except AigonError as error:
        return MachineFact("judge", "Judge", "none", {"backend": None}, remark=worded(error))
    if settings is None:
        return MachineFact(
            "judge", "Judge", "a person (aigon approve); no judge model is configured", {"backend": None}
        )
    who = settings.agent if isinstance(settings, AgentJudgeSettings) else settings.model
    data = {"backend": settings.backend, "agent": settings.agent, "model": settings.model}
    return MachineFact("judge", "Judge", f"{settings.backend} ({who})", data)
