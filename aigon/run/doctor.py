"""Look at what there is to work with: agents, the machine, the judge. Nothing is changed and no model is asked."""

import os
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.configured import OWN, find_agent, user_types_folder
from aigon.agents.health import AgentToExamine, examine_agents, find_version, parse_version
from aigon.agents.obstacles import NEVER_CHOSEN, choose_agent, rank_type
from aigon.config.loading import ReadFile, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, Exit
from aigon.files import home
from aigon.files.folders import TemporaryFolder
from aigon.files.resources import find_agent_types
from aigon.git.person import Checkout
from aigon.git.repository import find_repository, find_repository_root
from aigon.git.trusted import refuse_unsupported
from aigon.hooks.services import explain_unusable_service
from aigon.isolation import mechanisms, sandbox
from aigon.journal.queue import read_queue
from aigon.judge.backends import AgentJudgeSettings, choose_judge
from aigon.model.agents import AgentType
from aigon.model.outcomes import Diagnosis, MachineFact
from aigon.model.turns import Agent
from aigon.process import capacity, running
from aigon.process.start import capture_output
from aigon.run.actors import find_judge
from aigon.run.repair import list_damage

QUEUE_COMMANDS = {"watch": "watch", "queue": "run start"}
OLDEST_GIT = "2.36"
"""The first git that flushes refs and nothing else on demand (core.fsync), which every iteration commit asks for."""


def diagnose(start: Path, env: Mapping[str, str]) -> Diagnosis:
    """Return everything, in a repository around `start` or not. What is malformed is a fact, never an error."""
    root = find_repository_root(start)
    read: ReadFile = open_work_tree(root) if root else lambda _: None
    errors: list[AigonError] = []
    config = Config()
    try:
        config = load_configuration(read)
    except AigonError as error:
        errors.append(error)
    known = _load_agent_types(root, errors)
    agents = examine_agents(_list_agents(root or start, config, known, read, errors), root or start, env)
    git = _check_git(env)
    machine = (
        git,
        *_describe_platform(),
        _check_clean_room(root, config),
        _check_sandbox(config, env),
        _check_free_space(root or Path.cwd(), config),
        _check_state_home(),
        *([_check_repository(root)] if root and git.data.get("version") else []),
        *(_check_records(root) if root else ()),
        *(_check_queue(root) if root else ()),
        _check_judge(root or start, config, env),
        *_check_services(config, env),
        *(
            MachineFact("configuration", "Settings", "", problem=_render_error(error), code=Exit.USAGE)
            for error in errors
        ),
    )
    taken, why = choose_agent(config, env, agents, known, root or start)
    return Diagnosis(agents, machine, taken, why, known["command"].note)


def _render_error(error: AigonError) -> str:
    """Return an error in one line: what, where, what to do."""
    where = f" ({error.where})" if error.where else ""
    return f"{error.what}{where}" + (f". {error.hint}" if error.hint else "")


def _load_agent_types(root: Path | None, errors: list[AigonError]) -> dict[str, AgentType]:
    """Return every agent type that can be read: one malformed file leaves those of its folder out."""
    sound = []
    for folder in (user_types_folder(), *([root / OWN] if root else [])):
        try:
            load_types([folder])
            sound.append(folder)
        except (AigonError, OSError) as error:
            errors.append(error if isinstance(error, AigonError) else AigonError(str(error), where=str(folder)))
    return load_types(sound)


def _list_agents(
    root: Path, config: Config, known: Mapping[str, AgentType], read: ReadFile, errors: list[AigonError]
) -> list[AgentToExamine]:
    """Return the configured agents, then every agent type of another name."""
    foreign = find_agent_types(root / OWN)
    agents = []
    for name in sorted(config.agents):
        try:
            agent = find_agent(root, config, name, read)
            agents.append(AgentToExamine(agent, agent.kind or known[agent.adapter], True, agent.adapter in foreign))
        except AigonError as error:
            errors.append(error)
    others = [kind for name, kind in known.items() if name not in config.agents and name not in NEVER_CHOSEN]
    for kind in sorted(others, key=rank_type):
        agent = Agent(kind.name, kind.name, kind=kind, passed=tuple(config.env.pass_))
        agents.append(AgentToExamine(agent, kind, foreign=kind.name in foreign))
    return agents


def _check_git(env: Mapping[str, str]) -> MachineFact:
    program = shutil.which("git", path=env.get("PATH"))
    if program is None:
        problem = f"there is no git on PATH: install git {OLDEST_GIT} or newer"
        return MachineFact("git", "git", "not installed", {"minimum": OLDEST_GIT}, problem=problem)
    code, out, _ = capture_output([program, "--version"], env={**env, "LC_ALL": "C"})
    version = find_version(out)
    data = {"path": program, "version": version, "minimum": OLDEST_GIT}
    if code or not version:
        return MachineFact("git", "git", program, data, problem="it does not say its version: is it git?")
    old = f"aigon needs git {OLDEST_GIT} or newer" if parse_version(version) < parse_version(OLDEST_GIT) else ""
    return MachineFact("git", "git", f"{version} (needs {OLDEST_GIT} or newer)", data, problem=old)


def _describe_platform() -> Iterator[MachineFact]:
    """Yield the Python that runs aigon, and the operating system."""
    version = platform.python_version()
    data = {"version": version, "path": sys.executable}
    yield MachineFact("python", "Python", f"{version} ({sys.executable})", data)
    name, release, cpu = platform.system(), platform.release(), platform.machine()
    remark = "" if sys.platform.startswith("linux") else "aigon is tested on Linux alone"
    data = {"system": name, "release": release, "machine": cpu}
    yield MachineFact("platform", "Platform", f"{name} {release} {cpu}", data, remark=remark)


def _check_clean_room(root: Path | None, config: Config) -> MachineFact:
    """Return how commands are kept from the workspace when a feature is proven."""
    with TemporaryFolder("doctor") as folder:
        try:
            isolation = mechanisms.choose_isolation(root or folder, config.proof.isolation)
        except AigonError as error:
            data, problem = {"isolation": None}, _render_error(error)
            return MachineFact("clean_room", "Clean room", "not as wanted", data, problem=problem)
    remark = 'proofs will say "not isolated": no bubblewrap, namespaces or Landlock here' if isolation == "none" else ""
    return MachineFact("clean_room", "Clean room", isolation, {"isolation": isolation}, remark=remark)


def _check_sandbox(config: Config, env: Mapping[str, str]) -> MachineFact:
    """Return what keeps agents to the workspace, and why it is nothing better."""
    own, wanted = config.sandbox, env.get("AIGON_SANDBOX") or config.sandbox.mode
    data = {"mode": wanted, "mechanism": None, "network": own.network}
    try:
        mechanism = sandbox.choose_mechanism(wanted, own.network)  # type: ignore[arg-type]  # a run refuses other texts
    except (AigonError, KeyError) as error:
        problem = _render_error(error) if isinstance(error, AigonError) else f"AIGON_SANDBOX is {wanted!r}"
        return MachineFact("sandbox", "Sandbox", "not as wanted", data, problem=problem)
    remark = ""
    if mechanism == "none":
        why = "as wanted" if wanted == "none" else sandbox.explain_no_mechanism()
        remark = f"agents can read and change everything you can ({why})"
    elif mechanism == "landlock" and wanted == "auto":
        flaw = sandbox.find_sandbox_flaw("bwrap")
        remark = f"without bubblewrap or namespaces, sockets and process numbers are shared ({flaw})"
    elif mechanism == "namespaces" and not sandbox.has_process_numbers():
        remark = "/proc cannot be mounted here, so agents see the numbers of your processes"
    text = f"{mechanism} (as wanted)" if wanted == mechanism else mechanism
    return MachineFact("sandbox", "Sandbox", text, {**data, "mechanism": mechanism}, remark=remark)


def _check_free_space(root: Path, config: Config) -> MachineFact:
    """Return free disk and memory, against the guards."""
    disk, memory = capacity.measure_free_disk(root), capacity.measure_free_memory()
    wanted = {"disk": config.guards.disk_free, "memory": config.guards.memory_free}
    short = [name for name, free in (("disk", disk), ("memory", memory)) if free is not None and free < wanted[name]]
    text = f"{_format_size(disk)} of disk, {_format_size(memory)} of memory"
    data = {"disk_free": disk, "memory_free": memory, "disk_needed": wanted["disk"], "memory_needed": wanted["memory"]}
    problem = "; ".join(
        f"a run stops below {_format_size(wanted[name])} of {name} (guards.{name}Free)" for name in short
    )
    return MachineFact("room", "Free", text, data, problem=problem)


def _format_size(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _check_state_home() -> MachineFact:
    """Return where aigon keeps its records."""
    place = home.state_home()
    nearest = next(folder for folder in (place, *place.parents) if folder.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    problem = "" if writable else f"{nearest} is not writable: make it writable, or point AIGON_STATE_HOME elsewhere"
    return MachineFact("state_home", "Records", str(place), {"path": str(place), "writable": writable}, problem=problem)


def _check_repository(root: Path) -> MachineFact:
    """Return whether aigon can work in this repository at all, whatever its branches and files are like just now."""
    problem = ""
    try:
        with Checkout.open(root) as checkout:
            checkout.identity()
            refuse_unsupported(checkout)
    except AigonError as error:
        problem = _render_error(error)
    return MachineFact(
        "repository", "Repository", str(root), {"path": str(root), "usable": not problem}, problem=problem
    )


def _check_records(root: Path) -> Iterator[MachineFact]:
    """Yield what is damaged of aigon's own records, if anything is."""
    try:
        damage = list_damage(root)
    except (AigonError, OSError) as error:
        damage = (str(error),)
    if damage:
        problem = f"{'; '.join(damage)}; aigon doctor --repair keeps what is damaged and makes of it what can be made"
        yield MachineFact("records", "Records", f"{len(damage)} damaged", {"damaged": list(damage)}, problem=problem)


def _check_queue(root: Path) -> Iterator[MachineFact]:
    """Yield what watches folders or works through the backlog, and how many tasks it knows, if there are any."""
    place = home.find_home(find_repository(root).common_dir)
    if place is None:
        return
    alive = running.list_queues(place)
    try:
        states = Counter(entry.state for entry in read_queue(place).values())
    except AigonError as error:
        yield MachineFact("queue", "Tasks", "damaged", {"tasks": {}}, problem=_render_error(error))
        return
    if alive or states:
        who = [f"aigon {QUEUE_COMMANDS[each.feature]}, pid {each.loop.pid}, since {each.since}" for each in alive]
        words = {"taken": "under way", "waiting": "waiting for you", "ended": "ended"}
        counted = [f"{count} {words[state]}" for state, count in states.items()]
        data = {"running": [each.feature for each in alive], "tasks": dict(states)}
        text = "; ".join([*(who or ["no watcher runs"]), ", ".join(counted) or "none yet"])
        yield MachineFact("queue", "Tasks", text, data)


def _check_services(config: Config, env: Mapping[str, str]) -> Iterator[MachineFact]:
    """Yield which of the services to notify cannot be told, if there are any. A run begins all the same."""
    wanted = {f"notify[{number}].to": each.to for number, each in enumerate(config.notify) if each.to is not None}
    found = {name: explain_unusable_service(to, env, thorough=True) for name, to in wanted.items()}
    reasons = {name: reason for name, reason in found.items() if reason}
    text = f"{len(wanted) - len(reasons)} of {len(wanted)} can be told"
    remark = "; ".join(f"{name} cannot be used: {reason}" for name, reason in reasons.items())
    if wanted:
        yield MachineFact("notifications", "Notify", text, {"unusable": reasons}, remark=remark)


def _check_judge(root: Path, config: Config, env: Mapping[str, str]) -> MachineFact:
    """Return who would decide criteria that no command decides."""
    try:
        chosen = choose_judge(config.judge or JudgeConfig(), env.get("AIGON_JUDGE") or None)
        settings = None if chosen == "none" else find_judge(config, chosen, (), env, root)
    except AigonError as error:
        return MachineFact("judge", "Judge", "none", {"backend": None}, remark=_render_error(error))
    if settings is None:
        text = "a person (aigon approve); no judge model is configured"
        return MachineFact("judge", "Judge", text, {"backend": None})
    who = settings.agent if isinstance(settings, AgentJudgeSettings) else settings.model
    data = {"backend": settings.backend, "agent": settings.agent, "model": settings.model}
    return MachineFact("judge", "Judge", f"{settings.backend} ({who})", data)
