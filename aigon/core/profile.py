"""A profile: which checks a kind of project has, how it is detected. Data in YAML, resolved for one project."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from aigon.core import ecosystem as ecosystems
from aigon.core import protection
from aigon.core.condition_document import parse
from aigon.core.conditions import Always, Condition, holds
from aigon.core.document import Node, nearest
from aigon.core.ecosystem import Ecosystem
from aigon.core.errors import usage
from aigon.core.model import ROLES, Check, Role
from aigon.core.overrides import overridden
from aigon.core.project import Project
from aigon.core.resolution import Absent, Resolution, choose
from aigon.core.yaml_text import parsed

FOLDER = "ecosystems/"
PROTECTION = "protection"
"""The document with the rules for any project: no profile."""
CONFIG = ".aigon/config.json"
KEYS = ("description", "priority", "detect", "ecosystems", "roles", "timeouts")


@dataclass(frozen=True, slots=True)
class Part:
    """An ecosystem and the roles that a profile takes from it."""

    ecosystem: Ecosystem
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """`detect` is None for a profile that is only ever asked for by name; `timeouts` are in seconds."""

    name: str
    description: str
    detect: Condition | None
    parts: tuple[Part, ...]
    priority: int = 0
    timeouts: Mapping[Role, float] = field(default_factory=dict)
    file: str = ""


def available(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Profile]:
    """Every profile by name. A project's own comes in by the same door and replaces a shipped one of its name.

    The keys are paths without suffix: `library`, `ecosystems/python`. Raises AigonError (usage) for the first
    document that is malformed.
    """
    documents = _documents(shipped, own)
    shared = shared_parts(shipped, own)
    names = [name for name in documents if not name.startswith(FOLDER) and name != PROTECTION]
    return {name: load(name, documents[name][0], shared, documents[name][1]) for name in names}


def shared_parts(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Ecosystem]:
    """Every ecosystem by name. Raises AigonError (usage) for the first document that is malformed."""
    return {
        short: ecosystems.read(short, parsed(content, file))
        for name, (content, file) in _documents(shipped, own).items()
        if name.startswith(FOLDER) and (short := name.removeprefix(FOLDER))
    }


def protections(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> tuple[protection.Rule, ...]:
    """What an agent may change: the rules for any project, then those of every ecosystem, whether it is here or not."""
    content, file = _documents(shipped, own)[PROTECTION]
    general = protection.read(parsed(content, file).fields(("protect",), ("protect",))["protect"])
    return (*general, *(rule for each in shared_parts(shipped, own).values() for rule in each.protect))


def _documents(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, tuple[bytes, str]]:
    """Content and file of each; a project's own replaces a shipped one of its name."""
    theirs = {name: (content, f".aigon/profiles/{name}.yaml") for name, content in own.items()}
    return {**{name: (content, f"profiles/{name}.yaml") for name, content in shipped.items()}, **theirs}


def load(name: str, document: bytes, shared: Mapping[str, Ecosystem] | None = None, file: str = "") -> Profile:
    """The profile in a YAML document; `shared` are the ecosystems it may use. Raises AigonError (usage)."""
    file = file or f"profiles/{name}.yaml"
    fields = parsed(document, file).fields(KEYS, required=("description",))
    used = fields["ecosystems"].pairs() if "ecosystems" in fields else {}
    parts = [_part(node, each, shared or {}) for each, node in used.items()]
    if "roles" in fields:
        parts.append(_own_part(name, fields["roles"]))
    return Profile(
        name,
        fields["description"].text(),
        parse(fields["detect"]) if "detect" in fields else None,
        tuple(parts),
        fields["priority"].whole() if "priority" in fields else 0,
        _timeouts(fields["timeouts"]) if "timeouts" in fields else {},
        file,
    )


def _part(node: Node, name: str, shared: Mapping[str, Ecosystem]) -> Part:
    if name not in shared:
        raise node.wrong("is not an ecosystem", nearest(name, shared))
    offered = tuple(shared[name].roles)
    return Part(shared[name], tuple(item.choice(offered) for item in node.items()))


def _own_part(name: str, node: Node) -> Part:
    """Roles that stand in the profile itself: an ecosystem that is always there."""
    own = ecosystems.roles(node)
    return Part(Ecosystem(name, name, Always(), "", own, {}, node.file), tuple(own))


def _timeouts(node: Node) -> dict[Role, float]:
    pairs = node.fields(ROLES)
    return {role: pairs[role].seconds() for role in ROLES if role in pairs}


def named(profiles: Mapping[str, Profile], name: str) -> Profile:
    """The profile called `name`. Raises AigonError (usage) that names the nearest."""
    if name not in profiles:
        where = f"--profile, AIGON_PROFILE or profile in {CONFIG}"
        raise usage(f"There is no profile {name!r}", where=where, hint=nearest(name, profiles))
    return profiles[name]


def detect(profiles: Iterable[Profile], project: Project) -> Profile:
    """The matching profile with the highest priority. Raises AigonError (usage) for none, and for a tie."""
    matching = [p for p in profiles if p.detect is not None and holds(p.detect, project)]
    if not matching:
        raise usage("No profile matches this project", hint='Choose one: --profile NAME, or "profile" in ' + CONFIG)
    top = max(profile.priority for profile in matching)
    best = sorted(profile.name for profile in matching if profile.priority == top)
    if len(best) > 1:
        hint = f'Choose one: --profile {best[0]}, or "profile": "{best[0]}" in {CONFIG}'
        raise usage(f"The profiles {' and '.join(best)} match equally well (priority {top})", hint=hint)
    return next(profile for profile in matching if profile.name == best[0])


def resolve(
    profile: Profile, project: Project, overrides: Mapping[str, object] | None = None, file: str = CONFIG
) -> Resolution:
    """The checks that this project has. `overrides` is the key `checks` of `file`, as it stands there.

    Looks at files and for programs, runs nothing of the project. Raises AigonError (usage) for malformed overrides
    and for configuration files of the project that cannot be read.
    """
    present = [part for part in profile.parts if holds(part.ecosystem.detect, project)]
    found = [
        (part, choose(part.ecosystem.roles[role], part.ecosystem, project, profile.timeouts.get(role)))
        for part in present
        for role in part.roles
    ]
    checks = _unique([(part, each) for part, each in found if isinstance(each, Check)])
    absent = tuple(each for _, each in found if isinstance(each, Absent)) if present else _nothing(profile)
    resolution = Resolution(profile.name, checks, absent)
    return overridden(resolution, overrides, project, file) if overrides else resolution


def _unique(found: list[tuple[Part, Check]]) -> tuple[Check, ...]:
    """By role; the first check of a role is called like it, the others also by their ecosystem: `tests-node`."""
    seen: set[Role] = set()
    checks = []
    for part, check in found:
        checks.append(replace(check, name=f"{check.role}-{part.ecosystem.name}") if check.role in seen else check)
        seen.add(check.role)
    return tuple(sorted(checks, key=lambda check: ROLES.index(check.role)))


def _nothing(profile: Profile) -> tuple[Absent, ...]:
    """None of the ecosystems is in the project: every role is absent for that reason."""
    why = "; ".join(part.ecosystem.absent for part in profile.parts)
    roles = {role for part in profile.parts for role in part.roles}
    return tuple(Absent(role, why) for role in ROLES if role in roles)
