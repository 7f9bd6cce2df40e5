"""How every agent is: there, in which version, able to work here, and if not, what to do."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.agents.environment import kept_from, listed
from aigon.agents.first_ready import NEVER
from aigon.agents.obstacles import Obstacles, is_root, obstacles
from aigon.agents.versions import Question, Said, asked, compared, installed_version, numbers
from aigon.checks.interpreters import find_node
from aigon.model.agent_types import AgentType
from aigon.model.diagnosis import AgentHealth
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret

_PLAIN = {"--version", "-version", "-V", "-v", "version"}
"""The questions that a kind which came with the repository may put to a program: it is not to run what it likes."""


@dataclass(frozen=True, slots=True)
class Patient:
    """An agent to look at; `foreign` for one whose kind came with the repository, not from aigon or the person."""

    agent: Agent
    kind: AgentType
    configured: bool = False
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class _Examined:
    """A patient, what stands in its way as far as can be seen, its version if that is `known` without asking for it,
    and the command lines that tell more.
    """

    patient: Patient
    at: Obstacles
    known: str = ""
    version: Question = ()
    node: Question = ()


def health(patients: Iterable[Patient], root: Path, env: Mapping[str, str]) -> tuple[AgentHealth, ...]:
    """Every patient, in their order. Their programs are asked for their versions, all at the same time."""
    examined = [_examined(patient, root, env) for patient in patients]
    said = asked([q for one in examined for q in (one.version, one.node) if q], root, env)
    return tuple(_health(one, said, env) for one in examined)


def _examined(patient: Patient, root: Path, env: Mapping[str, str]) -> _Examined:
    at = obstacles(patient.agent, root, env)
    if not at.path:
        return _Examined(patient, at)
    kind = patient.kind
    allowed = not patient.foreign or ({*kind.version} <= _PLAIN and not Path(at.path).is_relative_to(root))
    node = find_node(at.path) if kind.needs.get("node") else None
    place = shutil.which(node, path={**env, **patient.agent.env}.get("PATH")) if node else None
    known = installed_version(at.path)
    version = (at.path, *kind.version) if kind.version and allowed and not known else ()
    return _Examined(patient, at, known, version, (place, "--version") if place else ())


def _health(one: _Examined, said: Mapping[Question, Said], env: Mapping[str, str]) -> AgentHealth:
    agent, kind, at = one.patient.agent, one.patient.kind, one.at
    version = said.get(one.version, Said(one.known))
    unfit = (version.problem, _node(one, said))
    problems = (*(problem for problem in unfit if problem), *at.problems)
    there = bool(at.path) or not kind.program
    return AgentHealth(
        name=agent.name,
        title=kind.title,
        kind=kind.name,
        state="not installed" if not there else "not ready" if problems else "ready",
        configured=one.patient.configured,
        program=kind.program or (agent.command[0] if agent.command else ""),
        path=at.path,
        version=version.version,
        tested=kind.tested,
        source=kind.source,
        problems=problems,
        remarks=tuple(remark for remark in _remarks(one, version, env) if remark) if there else (),
        seen=at.seen,
        install=kind.install,
        login=kind.login,
        as_root=kind.as_root,
    )


def _node(one: _Examined, said: Mapping[Question, Said]) -> str:
    """What is wrong with the Node that the program would start."""
    wanted = one.patient.kind.needs.get("node", "")
    here = said.get(one.node, Said())
    if here.problem:
        return f"it needs Node {wanted} or newer: {here.problem}"
    if not here.version or numbers(here.version) >= numbers(wanted):
        return ""
    return f"it needs Node {wanted} or newer; {one.node[0]} is {here.version}"


def _remarks(one: _Examined, version: Said, env: Mapping[str, str]) -> tuple[str, ...]:
    kind = one.patient.kind
    works_as_root = is_root({**env, **one.patient.agent.env}) and kind.as_root.lower().startswith("works")
    return (
        compared(version.version, kind.tested),
        version.remark or ("" if version.version or version.problem or not one.version else "its version is not known"),
        "known from its documentation alone, never run by aigon's tests" if kind.source == "docs" else "",
        f"as root: {kind.as_root}" if works_as_root and kind.as_root.lower() != "works" else "",
        kind.note if kind.name not in NEVER else "",
        _kept(one.patient, env),
    )


def _kept(patient: Patient, env: Mapping[str, str]) -> str:
    """A program that nothing is known of is told nothing: its person has to know why it finds no key."""
    kept = [name for name in kept_from(env, patient.agent, patient.kind) if holds_secret(name)]
    if patient.kind.name != "command" or not kept:
        return ""
    return f"kept from it: {listed(kept)} (agents.{patient.agent.name}.pass lets one through)"
