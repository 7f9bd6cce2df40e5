"""A profile: which checks a kind of project has, how it is detected. Data in YAML, resolved for one project."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import usage
from aigon.model.checks import ROLES, Check, ProjectReader, Role
from aigon.profiles import ecosystem as ecosystems
from aigon.profiles import protection
from aigon.profiles.conditions import Condition, parse_condition
from aigon.profiles.ecosystem import Ecosystem
from aigon.profiles.resolution import Absent, Resolution, choose_check
from aigon.text.documents import DocumentNode, parse_yaml, suggest

MERGED = ("ecosystems", "roles", "timeouts", "variables", "caches")
"""Keys whose mappings are put together key by key; for all others the document's own value replaces the inherited."""
FOLDER = "ecosystems/"
PROTECTION = "protection"
"""The document with the rules for any project: no profile."""
CONFIG = ".aigon/config.json"
TURN = "turn"
"""Under `timeouts`, next to the roles: how long an agent's turn may take."""
EVERY = "*"
"""Under `ecosystems`: each one that the profile does not name."""


class ProfileDocuments(Struct, frozen=True):
    """Documents by their path without suffix (`library`, `ecosystems/python`): those shipped and a project's own.

    What a document does not say is taken from the one that its `extends:` names.
    """

    shipped: Mapping[str, bytes]
    own: Mapping[str, bytes]

    def names(self) -> list[str]:
        """Return all names; a project's own document replaces a shipped one of its name."""
        return list({**self.shipped, **self.own})

    def read(self, name: str) -> DocumentNode:
        """Return the document as it counts. Raises AigonError (usage): malformed, or it extends nothing."""
        return self._read(name, name in self.own, ())

    def _read(self, name: str, own: bool, extended_by: tuple[str, ...]) -> DocumentNode:
        document, place = (self.own[name], ".aigon/profiles") if own else (self.shipped[name], "profiles")
        node = parse_yaml(document, f"{place}/{name}.yaml")
        pairs = node.pairs()
        if "extends" not in pairs:
            return node
        folder, slash, _ = name.rpartition("/")
        wanted = f"{folder}{slash}{pairs['extends'].text()}"  # an ecosystem extends an ecosystem
        # A project's document of a shipped one's name extends that one; any other name is its own before a shipped one.
        theirs = wanted in self.own and wanted != name
        if not theirs and (wanted not in self.shipped or not own):
            alike = [n for n in self.names() if ("/" in n) == ("/" in name) and (n != name or n in self.shipped)]
            raise pairs["extends"].wrong(f"names nothing to extend: {wanted!r}", suggest(wanted, alike))
        if theirs and wanted in extended_by:
            raise pairs["extends"].wrong(f"goes round in a circle: {' extends '.join((*extended_by, name, wanted))}")
        return DocumentNode(_merge(self._read(wanted, theirs, (*extended_by, name)), node), node.file)


def _merge(base: DocumentNode, node: DocumentNode) -> dict[str, Any]:
    below: dict[str, Any] = {key: child.value for key, child in base.pairs().items()}
    own: dict[str, Any] = {key: child.value for key, child in node.pairs().items() if key != "extends"}
    mappings = (key for key in MERGED if isinstance(below.get(key), dict) and isinstance(own.get(key), dict))
    return {**below, **own, **{key: {**below[key], **own[key]} for key in mappings}}


class ProfilePart(Struct, frozen=True):
    """An ecosystem and the roles that a profile takes from it."""

    ecosystem: Ecosystem
    roles: tuple[Role, ...]


class Profile(Struct, frozen=True):
    """`detect` is None for a profile that is only ever asked for by name; `timeouts` are in seconds, as is `turn`, the
    longest that a turn of an agent takes unless the configuration says otherwise."""

    name: str
    description: str
    detect: Condition | None
    parts: tuple[ProfilePart, ...]
    priority: int = 0
    timeouts: Mapping[str, float] = field(default_factory=dict)
    file: str = ""

    @property
    def turn(self) -> float | None:
        return self.timeouts.get(TURN)


def load_profiles(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Profile]:
    """Return every profile by name. A project's own comes in by the same door and replaces a shipped one of its name.

    The keys are paths without suffix: `library`, `ecosystems/python`. Raises AigonError (usage) for the first
    document that is malformed.
    """
    return dict(_read_profiles(tuple(shipped.items()), tuple(own.items())))


@lru_cache(maxsize=4)
def _read_profiles(
    shipped: tuple[tuple[str, bytes], ...], own: tuple[tuple[str, bytes], ...]
) -> tuple[tuple[str, Profile], ...]:
    documents = ProfileDocuments(dict(shipped), dict(own))
    shared = load_ecosystems(dict(shipped), dict(own))
    names = [name for name in documents.names() if not name.startswith(FOLDER) and name != PROTECTION]
    return tuple((name, _read_profile(name, documents.read(name), shared)) for name in names)


def load_ecosystems(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, Ecosystem]:
    """Return every ecosystem by name. Raises AigonError (usage) for the first document that is malformed."""
    pairs = (tuple((n, raw) for n, raw in some.items() if n.startswith(FOLDER)) for some in (shipped, own))
    return dict(_read_ecosystems(*pairs))


@lru_cache(maxsize=4)
def _read_ecosystems(
    shipped: tuple[tuple[str, bytes], ...], own: tuple[tuple[str, bytes], ...]
) -> tuple[tuple[str, Ecosystem], ...]:
    """Cached: they are asked for several times in a run, and reading them all takes a while."""
    documents = ProfileDocuments(dict(shipped), dict(own))
    shorts = ((name, name.removeprefix(FOLDER)) for name in documents.names())
    return tuple((short, ecosystems.read_ecosystem(short, documents.read(name))) for name, short in shorts)


_PROTECTION = {"protect": protection.read_rules, "locks": DocumentNode.texts, "free": DocumentNode.texts}


def load_protections(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> tuple[protection.Rule, ...]:
    """Return the rules on what an agent may change: for any project, then of every ecosystem, whether here or not."""
    node = ProfileDocuments(shipped, own).read(PROTECTION)
    general = node.read(_PROTECTION, required=("protect",))["protect"]
    return (*general, *(rule for each in load_ecosystems(shipped, own).values() for rule in each.protect))


def load_free_files(shipped: Mapping[str, bytes], own: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the patterns of files that decide nothing, whatever reads them."""
    node = ProfileDocuments(shipped, own).read(PROTECTION)
    return tuple(node.read(_PROTECTION, required=("protect",)).get("free", ()))


def parse_profile(name: str, document: bytes, shared: Mapping[str, Ecosystem] | None = None, file: str = "") -> Profile:
    """Return the profile in a YAML document; `shared` are the ecosystems it may use. Raises AigonError (usage)."""
    return _read_profile(name, parse_yaml(document, file or f"profiles/{name}.yaml"), shared or {})


def _read_profile(name: str, node: DocumentNode, shared: Mapping[str, Ecosystem]) -> Profile:
    readers = {
        "description": DocumentNode.text,
        "priority": DocumentNode.whole,
        "detect": parse_condition,
        "ecosystems": lambda child: tuple(_read_parts(child, shared)),
        "roles": ecosystems.read_roles,
        "timeouts": lambda child: child.read(dict.fromkeys((*ROLES, TURN), DocumentNode.seconds)),
    }
    values = {"detect": None, "ecosystems": (), "roles": {}, **node.read(readers, required=("description",))}
    parts, roles = values.pop("ecosystems"), values.pop("roles")
    if roles:  # an ecosystem that is always there
        own = Ecosystem(name, name, lambda _project: True, "", roles, node.file)
        parts = (*parts, ProfilePart(own, tuple({choice.role for choice in roles.values()})))
    return Profile(name, parts=parts, file=node.file, **values)


def _read_parts(node: DocumentNode, shared: Mapping[str, Ecosystem]) -> Iterable[ProfilePart]:
    """Yield the ecosystems that the profile names, in its order; where it says `*`, all others."""
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


def find_profile(profiles: Mapping[str, Profile], name: str) -> Profile:
    """Return the profile called `name`. Raises AigonError (usage) that names the nearest."""
    if name not in profiles:
        where = f"--profile, AIGON_PROFILE or profile in {CONFIG}"
        raise usage(f"There is no profile {name!r}", where=where, hint=suggest(name, profiles))
    return profiles[name]


def detect_profile(profiles: Iterable[Profile], project: ProjectReader) -> Profile:
    """Return the matching profile with the highest priority. Raises AigonError (usage) for none, and for a tie."""
    matching = [profile for profile in profiles if profile.detect is not None and profile.detect(project)]
    if not matching:
        raise usage("No profile matches this project", hint='Choose one: --profile NAME, or "profile" in ' + CONFIG)
    top = max(profile.priority for profile in matching)
    best = sorted(profile.name for profile in matching if profile.priority == top)
    if len(best) > 1:
        flags = " or ".join(f"--profile {name}" for name in best)
        hint = f'Choose one: {flags}, or "profile": "{best[0]}" in {CONFIG}'
        raise usage(f"The profiles {' and '.join(best)} match equally well (priority {top})", hint=hint)
    return next(profile for profile in matching if profile.name == best[0])


def resolve_profile(profile: Profile, project: ProjectReader) -> Resolution:
    """Return the checks that this project has.

    Looks at files and for programs, runs nothing of the project. Raises AigonError (usage) for configuration files of
    the project that cannot be read.
    """
    present = [part for part in profile.parts if part.ecosystem.detect(project)]
    checks: list[tuple[ProfilePart, Check]] = []
    absent: list[Absent] = []
    # What stands in for others gives a check only where no other ecosystem has one for that role.
    for part in sorted(present, key=lambda part: part.ecosystem.fallback):
        is_fallback = part.ecosystem.fallback
        covered = {check.role for _, check in checks} if is_fallback else set()
        for role in part.roles:
            if role not in covered:
                timeout = profile.timeouts.get(role)
                found = [choose_check(each, part.ecosystem, project, timeout) for each in part.ecosystem.choices(role)]
                there = [(part, each) for each in found if isinstance(each, Check)]
                checks += there
                if not there and (not is_fallback or len(present) == 1):
                    absent += [each for each in found if isinstance(each, Absent) and each.why][:1]
    standing_in = {check.role for part, check in checks if part.ecosystem.fallback}
    absent = [each for each in absent if each.role not in standing_in] if present else _explain_absence(profile)
    outputs = tuple(line for part in present for line in part.ecosystem.outputs)
    return Resolution(profile.name, _make_unique(checks), tuple(absent), outputs)


def _make_unique(found: list[tuple[ProfilePart, Check]]) -> tuple[Check, ...]:
    """Return the checks by role. Of several with one name, all but the first also name their ecosystem."""
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
