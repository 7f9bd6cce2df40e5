"""A profile: which checks a kind of project has, how it is detected. Data in YAML, resolved for one project."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from aigon.errors import usage
from aigon.model.checks import ROLES, Check, ProjectReader, Role
from aigon.profiles import ecosystem as ecosystems
from aigon.profiles import protection
from aigon.profiles.conditions import Always, Condition, holds, parse_condition
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.resolution import Absent, Resolution, apply_overrides, choose_check
from aigon.text.documents import DocumentNode, parse_yaml, suggest

MERGED = ("ecosystems", "roles", "timeouts", "variables", "caches")
"""Keys whose mappings are put together key by key; of all others the document's own value stands alone."""


@dataclass(frozen=True, slots=True)
class ProfileDocuments:
    """Documents by their path without suffix (`library`, `ecosystems/python`): those shipped and a project's own.

    What a document does not say is taken from the one that its `extends:` names.
    """

    shipped: Mapping[str, bytes]
    own: Mapping[str, bytes]

    def names(self) -> list[str]:
        """All of them; a project's own replaces a shipped one of its name."""
        return list({**self.shipped, **self.own})

    def read(self, name: str) -> DocumentNode:
        """Return the document as it counts. Raises AigonError (usage): malformed, or it extends nothing."""
        return self._read(name, name in self.own, ())

    def _read(self, name: str, own: bool, extended_by: tuple[str, ...]) -> DocumentNode:
        node = parse_yaml(self.own[name], f".aigon/profiles/{name}.yaml") if own else self._shipped(name)
        pairs = node.pairs()
        if "extends" not in pairs:
            return node
        wanted = _sibling(name, pairs["extends"].text())
        # A project's document of a shipped one's name extends that one; any other name is its own before a shipped one.
        theirs = wanted in self.own and wanted != name
        if not theirs and (wanted not in self.shipped or not own):
            raise pairs["extends"].wrong(f"names nothing to extend: {wanted!r}", self._near(name, wanted))
        if theirs and wanted in extended_by:
            raise pairs["extends"].wrong(f"goes round in a circle: {' extends '.join((*extended_by, name, wanted))}")
        return DocumentNode(_merge(self._read(wanted, theirs, (*extended_by, name)), node), node.file)

    def _near(self, name: str, wanted: str) -> str:
        """Documents of the same sort, but for the one that asks."""
        alike = [n for n in self.names() if ("/" in n) == ("/" in name) and (n != name or n in self.shipped)]
        return suggest(wanted, alike)

    def _shipped(self, name: str) -> DocumentNode:
        return parse_yaml(self.shipped[name], f"profiles/{name}.yaml")


def _sibling(name: str, wanted: str) -> str:
    """`wanted` in the folder that `name` is in: an ecosystem extends an ecosystem."""
    folder, _, _ = name.rpartition("/")
    return f"{folder}/{wanted}" if folder else wanted


def _merge(base: DocumentNode, node: DocumentNode) -> dict[str, Any]:
    below: dict[str, Any] = {key: child.value for key, child in base.pairs().items()}
    said: dict[str, Any] = {key: child.value for key, child in node.pairs().items() if key != "extends"}
    both = {key: {**below[key], **said[key]} for key in MERGED if _are_mappings(below.get(key), said.get(key))}
    return {**below, **said, **both}


def _are_mappings(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)


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
class ProfilePart:
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
    parts: tuple[ProfilePart, ...]
    priority: int = 0
    timeouts: Mapping[Role, float] = field(default_factory=dict)
    file: str = ""
    turn: float | None = None


def load_profiles(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Profile]:
    """Return every profile by name. A project's own comes in by the same door and replaces a shipped one of its name.

    The keys are paths without suffix: `library`, `ecosystems/python`. Raises AigonError (usage) for the first
    document that is malformed.
    """
    documents = ProfileDocuments(shipped, own)
    shared = load_ecosystems(shipped, own)
    names = [name for name in documents.names() if not name.startswith(FOLDER) and name != PROTECTION]
    return {name: _read_profile(name, documents.read(name), shared) for name in names}


def load_ecosystems(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Ecosystem]:
    """Return every ecosystem by name. Raises AigonError (usage) for the first document that is malformed."""
    return dict(_read_ecosystems(tuple(_select_ecosystems(shipped)), tuple(_select_ecosystems(own))))


def _select_ecosystems(documents: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    return ((name, content) for name, content in documents.items() if name.startswith(FOLDER))


@lru_cache(maxsize=4)
def _read_ecosystems(
    shipped: tuple[tuple[str, bytes], ...], own: tuple[tuple[str, bytes], ...]
) -> tuple[tuple[str, Ecosystem], ...]:
    """They are asked for several times in a run, and reading them all takes a while."""
    documents = ProfileDocuments(dict(shipped), dict(own))
    shorts = ((name, name.removeprefix(FOLDER)) for name in documents.names())
    return tuple((short, ecosystems.read_ecosystem(short, documents.read(name))) for name, short in shorts)


def load_protections(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> tuple[protection.Rule, ...]:
    """What an agent may change: the rules for any project, then those of every ecosystem, whether it is here or not."""
    node = ProfileDocuments(shipped, own).read(PROTECTION)
    general = protection.read_rules(node.fields(("protect",), ("protect",))["protect"])
    return (*general, *(rule for each in load_ecosystems(shipped, own).values() for rule in each.protect))


def parse_profile(name: str, document: bytes, shared: Mapping[str, Ecosystem] | None = None, file: str = "") -> Profile:
    """Return the profile in a YAML document; `shared` are the ecosystems it may use. Raises AigonError (usage)."""
    return _read_profile(name, parse_yaml(document, file or f"profiles/{name}.yaml"), shared or {})


def _read_profile(name: str, node: DocumentNode, shared: Mapping[str, Ecosystem]) -> Profile:
    fields = node.fields(KEYS, required=("description",))
    parts = list(_read_parts(fields["ecosystems"], shared)) if "ecosystems" in fields else []
    pairs = fields["timeouts"].fields((*ROLES, TURN)) if "timeouts" in fields else {}
    timeouts = {each: node.seconds() for each, node in pairs.items()}
    if "roles" in fields:
        parts.append(_read_own_part(name, fields["roles"]))
    return Profile(
        name,
        fields["description"].text(),
        parse_condition(fields["detect"]) if "detect" in fields else None,
        tuple(parts),
        fields["priority"].whole() if "priority" in fields else 0,
        {role: timeouts[role] for role in ROLES if role in timeouts},
        node.file,
        timeouts.get(TURN),
    )


def _read_parts(node: DocumentNode, shared: Mapping[str, Ecosystem]) -> Iterable[ProfilePart]:
    """Return the ecosystems that the profile names, in its order; where it says `*` the others stand."""
    named = node.pairs()
    for name, child in named.items():
        if name == EVERY:
            roles = tuple(item.choice(ROLES) for item in child.items())
            yield from (ProfilePart(each, roles) for other, each in shared.items() if other not in named)
        elif name in shared:
            offered = tuple(dict.fromkeys(choice.role for choice in shared[name].roles.values()))
            yield ProfilePart(shared[name], tuple(item.choice(offered) for item in child.items()))
        else:
            raise child.wrong("is not an ecosystem", suggest(name, shared))


def _read_own_part(name: str, node: DocumentNode) -> ProfilePart:
    """Roles that stand in the profile itself: an ecosystem that is always there."""
    own = ecosystems.read_roles(node)
    return ProfilePart(Ecosystem(name, name, Always(), "", own, {}, node.file), tuple({c.role for c in own.values()}))


def find_profile(profiles: Mapping[str, Profile], name: str) -> Profile:
    """Return the profile called `name`. Raises AigonError (usage) that names the nearest."""
    if name not in profiles:
        where = f"--profile, AIGON_PROFILE or profile in {CONFIG}"
        raise usage(f"There is no profile {name!r}", where=where, hint=suggest(name, profiles))
    return profiles[name]


def detect_profile(profiles: Iterable[Profile], project: ProjectReader) -> Profile:
    """Return the matching profile with the highest priority. Raises AigonError (usage) for none, and for a tie."""
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


def resolve_profile(
    profile: Profile, project: ProjectReader, overrides: Mapping[str, object] | None = None, file: str = CONFIG
) -> Resolution:
    """Return the checks that this project has. `overrides` is the key `checks` of `file`, as it stands there.

    Looks at files and for programs, runs nothing of the project. Raises AigonError (usage) for malformed overrides
    and for configuration files of the project that cannot be read.
    """
    present = [part for part in profile.parts if holds(part.ecosystem.detect, project)]
    # What stands in for others gives a check only where no other ecosystem has one for that role.
    ordered = sorted(present, key=lambda part: part.ecosystem.fallback)
    checks: list[tuple[ProfilePart, Check]] = []
    absent: list[Absent] = []
    for part in ordered:
        covered = {check.role for _, check in checks} if part.ecosystem.fallback else set()
        lacking = [_resolve_role(profile, part, role, project, checks) for role in part.roles if role not in covered]
        if not part.ecosystem.fallback or len(present) == 1:
            absent += [each for each in lacking if each]
    standing_in = {check.role for part, check in checks if part.ecosystem.fallback}
    absent = [each for each in absent if each.role not in standing_in]
    if not present:
        absent = _explain_absence(profile)
    outputs = tuple(line for part in present for line in part.ecosystem.outputs)
    resolution = Resolution(profile.name, _make_unique(checks), tuple(absent), outputs)
    return apply_overrides(resolution, overrides, project, file) if overrides else resolution


def _resolve_role(
    profile: Profile, part: ProfilePart, role: Role, project: ProjectReader, checks: list[tuple[ProfilePart, Check]]
) -> Absent | None:
    """Add the checks that an ecosystem has for a role; where there is none, why."""
    timeout = profile.timeouts.get(role)
    found = [choose_check(choice, part.ecosystem, project, timeout) for choice in part.ecosystem.choices(role)]
    there = [(part, each) for each in found if isinstance(each, Check)]
    checks += there
    return None if there else next((each for each in found if isinstance(each, Absent) and each.why), None)


def _make_unique(found: list[tuple[ProfilePart, Check]]) -> tuple[Check, ...]:
    """By role; of several that are called alike the first stays so, the others also name their ecosystem."""
    seen: set[str] = set()
    checks = []
    for part, check in found:
        checks.append(replace(check, name=f"{check.name}-{part.ecosystem.name}") if check.name in seen else check)
        seen.add(check.name)
    return tuple(sorted(checks, key=lambda check: ROLES.index(check.role)))


def _explain_absence(profile: Profile) -> list[Absent]:
    """None of the ecosystems is in the project: every role is absent for that reason."""
    titles = [part.ecosystem.title for part in profile.parts if not part.ecosystem.fallback]
    why = next((part.ecosystem.absent for part in profile.parts), "") if len(titles) == 1 else ""
    why = why or f"nothing here of {', '.join(titles[:-1])} or {titles[-1]}" if titles else "the profile has none"
    roles = {role for part in profile.parts for role in part.roles}
    return [Absent(role, why) for role in ROLES if role in roles]
