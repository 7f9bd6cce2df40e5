"""What is here to work with: agents, the machine, the judge. Nothing is changed and no model is asked."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.choice import NEVER_CHOSEN, choose_agent, rank_type
from aigon.agents.configured import OWN, find_agent, user_types_folder
from aigon.agents.health import AgentToExamine, examine_agents, find_version, parse_version
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, Exit
from aigon.files import home
from aigon.files.resources import find_agent_types
from aigon.git.person import Checkout
from aigon.git.repository import find_repository_root
from aigon.git.trusted import refuse_unsupported
from aigon.isolation import mechanisms, sandbox
from aigon.judge.settings import AgentJudgeSettings, choose_judge
from aigon.model.agent_types import AgentType
from aigon.model.diagnosis import Diagnosis, MachineFact
from aigon.model.turns import Agent
from aigon.process import capacity, run
from aigon.run.actors import find_judge
from aigon.run.repair.repair import list_damage

OLDEST_GIT = "2.36"
"""The first git that flushes refs and nothing else on demand (core.fsync), which every iteration commit asks for."""
TRIED_ON = "linux"


def check_git_version(env: Mapping[str, str]) -> MachineFact:
    """The git on PATH."""
    program = shutil.which("git", path=env.get("PATH"))
    if program is None:
        return MachineFact("git", "git", "not installed", {"minimum": OLDEST_GIT},
                    problem=f"there is no git on PATH: install git {OLDEST_GIT} or newer")  # fmt: skip
    code, out, _ = run.capture_output([program, "--version"], env={**env, "LC_ALL": "C"})
    version = find_version(out)
    data = {"path": program, "version": version, "minimum": OLDEST_GIT}
    if code or not version:
        return MachineFact("git", "git", program, data, problem="it does not say its version: is it git?")
    old = f"aigon needs git {OLDEST_GIT} or newer" if parse_version(version) < parse_version(OLDEST_GIT) else ""
    return MachineFact("git", "git", f"{version} (needs {OLDEST_GIT} or newer)", data, problem=old)


def describe_python() -> MachineFact:
    """The Python that runs aigon."""
    version = platform.python_version()
    return MachineFact(
        "python", "Python", f"{version} ({sys.executable})", {"version": version, "path": sys.executable}
    )


def describe_system() -> MachineFact:
    """The operating system."""
    name, release, cpu = platform.system(), platform.release(), platform.machine()
    remark = "" if sys.platform.startswith(TRIED_ON) else "aigon is tested on Linux alone"
    data = {"system": name, "release": release, "machine": cpu}
    return MachineFact("platform", "Platform", f"{name} {release} {cpu}", data, remark=remark)


def check_clean_room(root: Path | None, config: Config) -> MachineFact:
    """How commands are kept from the workspace when a feature is proven."""
    with tempfile.TemporaryDirectory(prefix="aigon-doctor-") as folder:
        try:
            found = mechanisms.choose_isolation(root or Path(folder), config.proof.isolation)
        except AigonError as error:
            return MachineFact(
                "clean_room", "Clean room", "not as wanted", {"isolation": None}, problem=render_error(error)
            )
    remark = "" if found != "none" else 'proofs will say "not isolated": no bubblewrap, namespaces or Landlock here'
    return MachineFact("clean_room", "Clean room", found, {"isolation": found}, remark=remark)


def check_sandbox(config: Config, env: Mapping[str, str]) -> MachineFact:
    """What keeps agents to the workspace, and why it is nothing better."""
    own, wanted = config.sandbox, env.get("AIGON_SANDBOX") or config.sandbox.mode
    data = {"mode": wanted, "mechanism": None, "network": own.network}
    try:
        found = sandbox.choose_mechanism(wanted, own.network)  # type: ignore[arg-type]  # what it is not is refused by a run
    except (AigonError, KeyError) as error:
        said = render_error(error) if isinstance(error, AigonError) else f"AIGON_SANDBOX is {wanted!r}"
        return MachineFact("sandbox", "Sandbox", "not as wanted", data, problem=said)
    text = f"{found} (as wanted)" if wanted == found else found
    return MachineFact("sandbox", "Sandbox", text, {**data, "mechanism": found}, remark=_no_better(found, wanted))


def _no_better(found: str, wanted: str) -> str:
    if found == "none":
        why = "as wanted" if wanted == "none" else sandbox.explain_no_mechanism()
        return f"agents can read and change everything you can ({why})"
    if found == "landlock" and wanted == "auto":
        return f"without bubblewrap, sockets and process numbers are shared ({sandbox.find_sandbox_flaw('bwrap')})"
    return ""


def check_free_space(root: Path, config: Config) -> MachineFact:
    """Free disk and memory, against the guards."""
    disk, memory = capacity.measure_free_disk(root), capacity.measure_free_memory()
    wanted = {"disk": config.guards.disk_free, "memory": config.guards.memory_free}
    short = [name for name, free in (("disk", disk), ("memory", memory)) if free is not None and free < wanted[name]]
    text = f"{_size(disk)} of disk, {_size(memory)} of memory"
    data = {"disk_free": disk, "memory_free": memory, "disk_needed": wanted["disk"], "memory_needed": wanted["memory"]}
    problem = "; ".join(f"a run stops below {_size(wanted[name])} of {name} (guards.{name}Free)" for name in short)
    return MachineFact("room", "Free", text, data, problem=problem)


def check_state_home() -> MachineFact:
    """Where aigon keeps its records."""
    place = home.state_home()
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    problem = "" if writable else f"{there} is not writable: make it writable, or point AIGON_STATE_HOME elsewhere"
    return MachineFact("state_home", "Records", str(place), {"path": str(place), "writable": writable}, problem=problem)


def render_error(error: AigonError) -> str:
    """An error in one line: what, where, what to do."""
    where = f" ({error.where})" if error.where else ""
    return f"{error.what}{where}" + (f". {error.hint}" if error.hint else "")


def _size(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def gather_machine_facts(root: Path | None, config: Config, env: Mapping[str, str]) -> tuple[MachineFact, ...]:
    """Everything that needs no agent. `root` is the repository, None outside of one."""
    rooms = check_clean_room(root, config), check_sandbox(config, env)
    return (
        check_git_version(env),
        describe_python(),
        describe_system(),
        *rooms,
        check_free_space(root or Path.cwd(), config),
        check_state_home(),
    )


def diagnose(start: Path, env: Mapping[str, str]) -> Diagnosis:
    """Everything, from the folder `start`, in a repository or not. What is malformed is a finding, never an error."""
    root = find_repository_root(start)
    read: ReadFile = open_work_tree(root) if root else lambda _: None
    wrong: list[AigonError] = []
    config = _configuration(read, wrong)
    known = _kinds(root, wrong)
    patients = _patients(root or start, config, known, read, wrong)
    agents = examine_agents(patients, root or start, env)
    basics = gather_machine_facts(root, config, env)
    git = any(fact.name == "git" and fact.data.get("version") for fact in basics)
    machine = (
        *basics,
        *([_repository(root)] if root and git else []),
        *(_records(root) if root else ()),
        _judge(root or start, config, env),
        *(
            MachineFact("configuration", "Settings", "", problem=render_error(error), code=Exit.USAGE)
            for error in wrong
        ),
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
    foreign = find_agent_types(root / OWN)
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
        return MachineFact(
            "repository", "Repository", str(root), {**data, "usable": False}, problem=render_error(error)
        )
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
        settings = None if chosen == "none" else find_judge(config, chosen, (), env, root)
    except AigonError as error:
        return MachineFact("judge", "Judge", "none", {"backend": None}, remark=render_error(error))
    if settings is None:
        return MachineFact(
            "judge", "Judge", "a person (aigon approve); no judge model is configured", {"backend": None}
        )
    who = settings.agent if isinstance(settings, AgentJudgeSettings) else settings.model
    data = {"backend": settings.backend, "agent": settings.agent, "model": settings.model}
    return MachineFact("judge", "Judge", f"{settings.backend} ({who})", data)
