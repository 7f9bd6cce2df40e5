"""Agents that work on a feature in worktrees of their own, and what they are called."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import usage

MAX_LABEL_CHARS = 40
"""A label is a part of branch, folder and project names, of which Docker Compose allows 63 characters."""


class RequestedAgent(Struct, frozen=True):
    """An agent as a person named it (`claude:opus`): the agent, the model asked for ("" for its own), the label."""

    name: str
    agent: str
    model: str
    label: str


class Candidate(Struct, frozen=True):
    """A worktree of a feature and the agent that works there; `path` is absolute.

    `feature` is the ID, `agent` as a person named it (`claude:opus`), `label` unique within the feature (`cc-opus`),
    `slot` a number from 1 that no other worktree of the repository has: it gives ports and names. `ready` names the
    set-up that was done in the worktree; "" before the first.
    """

    feature: str
    slug: str
    label: str
    agent: str
    mode: Literal["worktree", "arena"]
    slot: int
    branch: str
    path: str
    ready: str = ""


def parse_requested_agent(name: str, short: str, known: Iterable[str] = ()) -> RequestedAgent:
    """Parse `claude:opus` as the agent `claude` with the model `opus`. `short` is the agent's short name.

    A name in `known` is an agent's as a whole. Raises AigonError (exit 2) for half a name.
    """
    agent, colon, model = (name, "", "") if name in known else name.partition(":")
    if not agent or (colon and not model):
        raise usage(f"'{name}' names no agent", where="--agent", hint="Such as claude, or claude:opus for its model")
    text = f"{short or agent}-{model}" if model else short or agent
    ascii_ = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    label = re.sub(r"[^a-z0-9]+", "-", ascii_.lower()).strip("-")[:MAX_LABEL_CHARS].strip("-") or "agent"
    return RequestedAgent(name, agent, model, label)


def assign_distinct_labels(agents: Sequence[RequestedAgent]) -> tuple[RequestedAgent, ...]:
    """Return the agents with distinct labels. Raises AigonError (exit 2) if one is named twice."""
    labelled: dict[str, RequestedAgent] = {}
    for each in agents:
        if any((other.agent, other.model) == (each.agent, each.model) for other in labelled.values()):
            raise usage(
                f"{each.name} is named twice",
                where="--agent",
                hint=f"Give each a model ({each.agent}:MODEL), or configure it a second time under another name",
            )
        label, number = each.label, 2
        while label in labelled:
            label, number = f"{each.label}-{number}", number + 1
        labelled[label] = replace(each, label=label)
    return tuple(labelled.values())


def format_branch_name(feature: str, label: str, slug: str) -> str:
    """Return the branch of a candidate: `feature-42-cc-dark-mode`."""
    return f"feature-{feature}-{label}-{slug}"


def format_run_command(feature: str, label: str = "", option: str = "--resume") -> str:
    """Return the command that lets the agent called `label` ("" in solo mode) begin a feature or go on with it."""
    return f"aigon feature-implement {feature} {option}{f' --agent {label}' if label else ''}"


def describe_missing_failing_criterion(feature: str, label: str, spec: str) -> str:
    """Return what a person does after a run in which every criterion passed before anything was built."""
    again = format_run_command(feature, label)
    refactoring = f"for a refactoring: {again} --accept-passing"
    return f"add a criterion that fails now to {spec}, then {again} --accept-spec; {refactoring}"


def find_candidate(candidates: Sequence[Candidate], wanted: str) -> Candidate | None:
    """Return the only candidate that a person calls by its label, or else by the agent's name."""
    matches = [one for one in candidates if one.label == wanted] or [one for one in candidates if one.agent == wanted]
    return matches[0] if len(matches) == 1 else None
