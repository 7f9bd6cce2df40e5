"""Features by name: stages, file names, branches. Paths are strings relative to the repository, with `/`."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.text.amounts import MIB
from aigon.text.patterns import compile_re

ROOT = "docs/specs/features"
LOGS = f"{ROOT}/logs/"
"""Where iteration logs are."""
_LOG_PART = compile_re(r"^(.+-log)/\d{4,}-\d{4,}\.md$")
"""A part of a long iteration log, in a folder with the name of the log, named after its first and last iteration."""
Stage = Literal["inbox", "backlog", "in-progress", "in-evaluation", "done", "paused", "cancelled"]
FOLDERS: dict[Stage, str] = {
    "inbox": "01-inbox",
    "backlog": "02-backlog",
    "in-progress": "03-in-progress",
    "in-evaluation": "04-in-evaluation",
    "done": "05-done",
    "paused": "06-paused",
    "cancelled": "07-cancelled",
}
STAGES = {folder: stage for stage, folder in FOLDERS.items()}
INBOX = f"{ROOT}/{FOLDERS['inbox']}/"
"""Where new specs come into being; no agent works on them yet."""
_NAME = compile_re(r"^feature-(?:(?P<id>\d+)-)?(?P<slug>.+)\.md$")
PREFIX = "Feature: "
"""What a title begins with in a spec, and nowhere else."""
LONGEST_SLUG = 60
LARGEST = MIB
"""Bytes of a spec: some 200,000 words. It goes into every prompt, and no model takes in half of that."""
TOO_MUCH = "Keep what has to be true, and link to the rest; or is this another kind of file under a spec's name?"
"""What to do about a larger one."""


def strip_prefix(title: str) -> str:
    """Return a title without the word that titles of specs begin with."""
    return title.removeprefix(PREFIX.strip()).strip()


class Feature(Struct, frozen=True):
    """A feature: `id` as in the file name ("" in the inbox), `path` of its spec."""

    id: str
    slug: str
    path: str
    stage: str

    @property
    def name(self) -> str:
        """`feature-42-dark-mode`: the branch in solo mode and the stem of the file."""
        return f"feature-{self.id}-{self.slug}" if self.id else f"feature-{self.slug}"

    @property
    def name_for_people(self) -> str:
        """The name that a person types: its ID, or its slug."""
        return self.id or self.slug

    def at(self, stage: Stage, id: str | None = None) -> str:
        """Return the path of the spec in another stage, under another ID if given."""
        moved = Feature(self.id if id is None else id, self.slug, "", stage)
        return f"{ROOT}/{FOLDERS[stage]}/{moved.name}.md"

    def log(self, label: str = "") -> str:
        """Return the path of the iteration log; arena agents have one each."""
        parts = (self.id, label, self.slug)
        return f"{LOGS}feature-{'-'.join(filter(None, parts))}-log.md"

    def state_file(self, label: str = "") -> str:
        """Return the path of the state file."""
        return f".aigon/loop-state-{self.name_for_people}{f'-{label}' if label else ''}.json"


class OwnPaths(frozenset[str]):
    """Paths that aigon writes into iteration commits; the parts of a log belong to them with the log."""

    __slots__ = ()

    def __contains__(self, path: object) -> bool:
        if super().__contains__(path):
            return True
        part = _LOG_PART.match(path) if isinstance(path, str) else None
        return part is not None and super().__contains__(f"{part[1]}.md")


def parse_feature_path(path: str) -> Feature | None:
    """Return the feature whose spec is at `path`; None for other files."""
    folder, _, name = path.rpartition("/")
    match = _NAME.match(name)
    if not match:
        return None
    return Feature(match["id"] or "", match["slug"], path, STAGES.get(folder.rpartition("/")[2], folder))


def find_feature(paths: Iterable[str], wanted: str) -> Feature:
    """Return the feature among these specs that `wanted` names.

    Raises AigonError (exit 2) as `choose_feature` does.
    """
    return choose_feature([feature for path in paths if (feature := parse_feature_path(path))], wanted)


def choose_feature(features: Sequence[Feature], wanted: str) -> Feature:
    """Return the feature that `wanted` names: an ID (padded or not), a slug, a title, a name or a path.

    Raises AigonError (exit 2) if it is unknown, with what is near, or if several match.
    """
    found = [feature for feature in features if is_named(feature, wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        where = ", ".join(feature.path for feature in found)
        raise usage(f"'{wanted}' names more than one feature", where=where, hint="Give the path of the spec instead")
    from difflib import get_close_matches

    names = [feature.slug for feature in features]
    near = get_close_matches(_slug(wanted), names, n=1, cutoff=0.85 if is_title(wanted) else 0.6)
    known = ", ".join(f"{f.id} {f.slug}".strip() for f in features[:10]) or "none yet"
    hint = f"Did you mean '{near[0]}'?" if near else f"Known features: {known}. New: aigon feature-create NAME"
    raise usage(f"There is no feature '{wanted}'", where=f"{ROOT}/", hint=hint)


def is_named(feature: Feature, wanted: str) -> bool:
    """Return whether `wanted` names this feature."""
    if wanted.isdecimal() and feature.id:
        return int(feature.id) == int(wanted)
    names = (feature.slug, feature.name, f"{feature.id}-{feature.slug}")
    return wanted.removeprefix("./") == feature.path or wanted.removesuffix(".md") in names or _slug(wanted) in names


def is_title(wanted: str) -> bool:
    """Return whether `wanted` is a title, and no ID, name or path."""
    return len(wanted.split()) > 1


def _slug(wanted: str) -> str:
    with suppress(AigonError):
        return slugify(wanted) if is_title(wanted) else wanted
    return wanted


_SPELLED = str.maketrans(
    {"ß": "ss", "ẞ": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
"""Latin letters that Unicode does not decompose into an ASCII letter and an accent."""


def slugify(title: str) -> str:
    """Return the name that a title gives a feature: `Dark mode!` becomes `dark-mode`, `Größe` becomes `grosse`.

    Raises AigonError (exit 2) if the title has no Latin letter.
    """
    ascii_ = unicodedata.normalize("NFKD", title.lower().translate(_SPELLED)).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", ascii_.lower()).strip("-")[:LONGEST_SLUG].strip("-")
    if not words or words.isdecimal():
        raise usage(
            f"'{title}' has no letter from a to z, which the names of features, files and branches consist of",
            hint="Use a few words with letters, such as: dark mode. Or name it yourself: --slug NAME",
        )
    return words


def next_id(paths: Iterable[str]) -> str:
    """Return the next free ID, at least two digits, as wide as the widest there is."""
    ids = [feature.id for path in paths if (feature := parse_feature_path(path)) and feature.id]
    width = max((len(i) for i in ids), default=2)
    return str(max((int(i) for i in ids), default=0) + 1).zfill(max(2, width))
