"""What an agent sees of the person's environment: all but credentials and providers' variables that are not its own."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from aigon.model.agent_types import AgentType, Credentials
from aigon.model.turns import Agent
from aigon.secrets.redaction import holds_secret, is_credential

_OFF = ("", "0", "false", "no", "off")
_MODEL = "model:"
_SHOWN = 8


def for_agent(env: Mapping[str, str], agent: Agent, kind: AgentType) -> dict[str, str]:
    """`env` without what is kept from this agent. What `agents.NAME.env` sets is not in it."""
    kept = frozenset(kept_from(env, agent, kind))
    return {name: value for name, value in env.items() if name not in kept}


def kept_from(env: Mapping[str, str], agent: Agent, kind: AgentType) -> tuple[str, ...]:
    """The names of the variables that are kept from this agent, those that hold secrets first."""
    known = (*_declared(kind.credentials, {**env, **agent.env}, agent.model),)
    kept = [name for name in env if is_credential(name) and name not in agent.passed and not _any(known, name)]
    return tuple(sorted(kept, key=lambda name: (not holds_secret(name), name)))


def _declared(own: Credentials, env: Mapping[str, str], model: str) -> Iterator[str]:
    """Globs on the names of what is this agent's own, as things are switched on."""
    yield from own.env
    yield from own.more
    for when, names in own.when.items():
        if when.startswith(_MODEL):
            switched = fnmatchcase(model, when.removeprefix(_MODEL))
        else:
            switched = env.get(when, "").strip().lower() not in _OFF
        if switched:
            yield from (when, *names)


def _any(globs: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, each) for each in globs)


def listed(names: Sequence[str]) -> str:
    """Names for a sentence: the first few, and how many more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
