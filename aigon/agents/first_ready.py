"""Which agent works where nobody named one: the first that is ready, found without starting anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.agents.adapters import kinds
from aigon.agents.obstacles import obstacles
from aigon.model.agent_types import AgentType
from aigon.model.turns import Agent

IN_ORDER = ("claude", "codex", "opencode", "gemini")
"""Who is asked first; the others follow by name."""
LAST = "api"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""One of these is a person's word that the built-in agent may spend money."""
NEVER = ("command", "replay")
"""Kinds, or what reads them, that are nothing without a command or a recording of their own."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kind whose program is there, and what keeps it from working."""

    kind: AgentType
    problems: tuple[str, ...]


def first_ready(folders: Iterable[Path], env: Mapping[str, str], root: Path | None = None) -> AgentType | None:
    """The kind of the first agent that is ready; None where none is. `folders` are those with kinds of people's own.

    Nothing is run. Raises AigonError (exit 2) for a malformed kind.
    """
    return next((one.kind for one in candidates(kinds(folders), env, root) if not one.problems), None)


def candidates(
    known: Mapping[str, AgentType], env: Mapping[str, str], root: Path | None = None
) -> tuple[Candidate, ...]:
    """The kinds that could be taken and whose program is there, in their order. One only read about is never taken."""
    found = []
    for kind in sorted(known.values(), key=rank):
        if kind.source == "docs" or {kind.name, kind.reads} & {*NEVER} or not _may_be_paid(kind, env):
            continue
        at = obstacles(Agent(kind.name, kind.name, kind=kind), root or Path.cwd(), env)
        if at.path or (not kind.program and not at.problems):
            found.append(Candidate(kind, at.problems))
    return tuple(found)


def said(taken: AgentType, among: Iterable[Candidate]) -> str:
    """The choice, to be said aloud: `agent: codex, the first that is ready (of claude, codex)`."""
    names = [one.kind.name for one in among]
    if len(names) < 2:
        return f"agent: {taken.name}, the only one that is here"
    return f"agent: {taken.name}, the first that is ready (of {', '.join(names)})"


def why_none(among: Iterable[Candidate]) -> str:
    """Why no agent is ready, as a hint: what each that is here lacks. Empty where none is here."""
    return "; ".join(f"{one.kind.name}: {one.problems[0]}" for one in among if one.problems)


def rank(kind: AgentType) -> tuple[bool, int, str]:
    """The place of a kind among the others."""
    place = IN_ORDER.index(kind.name) if kind.name in IN_ORDER else len(IN_ORDER)
    return kind.name == LAST, place, kind.name


def _may_be_paid(kind: AgentType, env: Mapping[str, str]) -> bool:
    return kind.name != LAST or any(env.get(key, "").strip() for key in KEYS)
