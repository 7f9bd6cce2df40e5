"""A profile: which checks a kind of project has, how it is detected. Data in YAML, resolved for one project."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from aigon.errors import usage
from aigon.model.checks import ROLES, Check, Project, Role
from aigon.profiles import ecosystem as ecosystems
from aigon.profiles import protection
from aigon.profiles.condition_document import parse
from aigon.profiles.conditions import Always, Condition, holds
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.extending import Documents
from aigon.profiles.overrides import overridden
from aigon.profiles.resolution import Absent, Resolution, choose
from aigon.text.documents import Node, nearest
from aigon.text.yaml import parsed

FOLDER = "ecosystems/"
PROTECTION = "protection"
"""The document with the rules for any project: no profile."""
CONFIG = ".aigon/config.json"
KEYS = ("description", "priority", "detect", "ecosystems", "roles", "timeouts")
TURN = "turn"
"""Under `timeouts`, beside the roles: how long an agent's turn may take."""
EVERY = "*"
"""Under `ecosystems`: each one that the profile does not name."""


@dataclass(frozen=True, slots=True)
class Part:
    """An ecosystem and the roles that a profile takes from it."""

    ecosystem: Ecosystem
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """`detect` is None for a profile that is only ever asked for by name; `timeouts` are in seconds, as is `turn`, the
    longest that a turn of an agent takes unless the configuration says otherwise."""

    name: str
    description: str
    detect: Condition | None
    parts: tuple[Part, ...]
    priority: int = 0
    timeouts: Mapping[Role, float] = field(default_factory=dict)
    file: str = ""
    turn: float | None = None


def available(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Profile]:
    """Every profile by name. A project's own comes in by the same door and replaces a shipped one of its name.

    The keys are paths without suffix: `library`, `ecosystems/python`. Raises AigonError (usage) for the first
    document that is malformed.
    """
    documents = Documents(shipped, own)
    shared = shared_parts(shipped, own)
    names = [name for name in documents.names() if not name.startswith(FOLDER) and name != PROTECTION]
    return {name: _profile(name, documents.read(name), shared) for name in names}


def shared_parts(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Ecosystem]:
    """Every ecosystem by name. Raises AigonError (usage) for the first document that is malformed."""
    return dict(_ecosystems(tuple(_of_ecosystems(shipped)), tuple(_of_ecosystems(own))))


def _of_ecosystems(documents: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    return ((name, content) for name, content in documents.items() if name.startswith(FOLDER))


@lru_cache(maxsize=4)
def _ecosystems(
    shipped: tuple[tuple[str, bytes], ...], own: tuple[tuple[str, bytes], ...]
) -> tuple[tuple[str, Ecosystem], ...]:
    """They are asked for several times in a run, and reading them all takes a while."""
    documents = Documents(dict(shipped), dict(own))
    shorts = ((name, name.removeprefix(FOLDER)) for name in documents.names())
    return tuple((short, ecosystems.read(short, documents.read(name))) for name, short in shorts)


def protections(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> tuple[protection.Rule, ...]:
    """What an agent may change: the rules for any project, then those of every ecosystem, whether it is here or not."""
    node = Documents(shipped, own).read(PROTECTION)
    general = protection.read(node.fields(("protect",), ("protect",))["protect"])
    return (*general, *(rule for each in shared_parts(shipped, own).values() for rule in each.protect))


def load(name: str, document: bytes, shared: Mapping[str, Ecosystem] | None = None, file: str = "") -> Profile:
    """The profile in a YAML document; `shared` are the ecosystems it may use. Raises AigonError (usage)."""
    return _profile(name, parsed(document, file or f"profiles/{name}.yaml"), shared or {})


def _profile(name: str, node: Node, shared: Mapping[str, Ecosystem]) -> Profile:
    fields = node.fields(KEYS, required=("description",))
    parts = list(_parts(fields["ecosystems"], shared)) if "ecosystems" in fields else []
    pairs = fields["timeouts"].fields((*ROLES, TURN)) if "timeouts" in fields else {}
    timeouts = {each: node.seconds() for each, node in pairs.items()}
    if "roles" in fields:
        parts.append(_own_part(name, fields["roles"]))
    return Profile(
        name,
        fields["description"].text(),
        parse(fields["detect"]) if "detect" in fields else None,
        tuple(parts),
        fields["priority"].whole() if "priority" in fields else 0,
        {role: timeouts[role] for role in ROLES if role in timeouts},
        node.file,
        timeouts.get(TURN),
    )


def _parts(node: Node, shared: Mapping[str, Ecosystem]) -> Iterable[Part]:
    """The ecosystems that the profile names, in its order; where it says `*` the others stand."""
    named = node.pairs()
    for name, child in named.items():
        if name == EVERY:
            roles = tuple(item.choice(ROLES) for item in child.items())
            yield from (Part(each, roles) for other, each in shared.items() if other not in named)
        elif name in shared:
            offered = tuple(dict.fromkeys(choice.role for choice in shared[name].roles.values()))
            yield Part(shared[name], tuple(item.choice(offered) for item in child.items()))
        else:
            raise child.wrong("is not an ecosystem", nearest(name, shared))


def _own_part(name: str, node: Node) -> Part:
    """Roles that stand in the profile itself: an ecosystem that is always there."""
    own = ecosystems.roles(node)
    return Part(Ecosystem(name, name, Always(), "", own, {}, node.file), tuple({c.role for c in own.values()}))


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
        flags = " or ".join(f"--profile {name}" for name in best)
        hint = f'Choose one: {flags}, or "profile": "{best[0]}" in {CONFIG}'
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
    # What stands in for others gives a check only where no other ecosystem has one for that role.
    ordered = sorted(present, key=lambda part: part.ecosystem.fallback)
    checks: list[tuple[Part, Check]] = []
    absent: list[Absent] = []
    for part in ordered:
        covered = {check.role for _, check in checks} if part.ecosystem.fallback else set()
        lacking = [_resolved(profile, part, role, project, checks) for role in part.roles if role not in covered]
        if not part.ecosystem.fallback or len(present) == 1:
            absent += [each for each in lacking if each]
    standing_in = {check.role for part, check in checks if part.ecosystem.fallback}
    absent = [each for each in absent if each.role not in standing_in]
    if not present:
        absent = _nothing(profile)
    outputs = tuple(line for part in present for line in part.ecosystem.outputs)
    resolution = Resolution(profile.name, _unique(checks), tuple(absent), outputs)
    return overridden(resolution, overrides, project, file) if overrides else resolution


def _resolved(
    profile: Profile, part: Part, role: Role, project: Project, checks: list[tuple[Part, Check]]
) -> Absent | None:
    """Add the checks that an ecosystem has for a role; where there is none, why."""
    timeout = profile.timeouts.get(role)
    found = [choose(choice, part.ecosystem, project, timeout) for choice in part.ecosystem.choices(role)]
    there = [(part, each) for each in found if isinstance(each, Check)]
    checks += there
    return None if there else next((each for each in found if isinstance(each, Absent) and each.why), None)


def _unique(found: list[tuple[Part, Check]]) -> tuple[Check, ...]:
    """By role; of several that are called alike the first stays so, the others also name their ecosystem."""
    seen: set[str] = set()
    checks = []
    for part, check in found:
        checks.append(replace(check, name=f"{check.name}-{part.ecosystem.name}") if check.name in seen else check)
        seen.add(check.name)
    return tuple(sorted(checks, key=lambda check: ROLES.index(check.role)))


def _nothing(profile: Profile) -> list[Absent]:
    """None of the ecosystems is in the project: every role is absent for that reason."""
    titles = [part.ecosystem.title for part in profile.parts if not part.ecosystem.fallback]
    why = next((part.ecosystem.absent for part in profile.parts), "") if len(titles) == 1 else ""
    why = why or f"nothing here of {', '.join(titles[:-1])} or {titles[-1]}" if titles else "the profile has none"
    roles = {role for part in profile.parts for role in part.roles}
    return [Absent(role, why) for role in ROLES if role in roles]
