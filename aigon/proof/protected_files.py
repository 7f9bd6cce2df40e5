"""Which files of a project the protection rules are about, for `--dry-run`."""

from collections.abc import Iterable, Sequence

from aigon.profiles.protection import Protection, Rule, describe_rules

SHOWN = 6
"""Files named per line; the rest is counted."""


def document(protection: Protection, tracked: Iterable[str]) -> dict[str, object]:
    """The rules, what the spec allows, and the files that are there by what follows a change of them."""
    return {
        "rules": describe_rules(protection.rules),
        "allow": list(protection.allow),
        "files": {title: files for title, files in _by_effect(protection, tracked).items() if files},
    }


def lines(protection: Protection, tracked: Iterable[str]) -> list[str]:
    """The same on a few lines."""
    found = _by_effect(protection, tracked)
    rows = [f"  {_TITLES[effect]}: {_listed(files)}" for effect, files in found.items() if files]
    allowed = [f"  allowed by the spec: {', '.join(protection.allow)}"] if protection.allow else []
    return [*rows, *allowed] or ["  none"]


_TITLES = {
    "restore": "put back when changed",
    "base-tests": "has to be green with the base's version, too",
    "review": "a person has to approve a change",
    "note": "a change is noted",
}


def _by_effect(protection: Protection, tracked: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {effect: [] for effect in _TITLES}
    for path in tracked:
        for rule in protection.rules_of(path):
            found["base-tests" if rule.relaid else rule.level].append(path + _keys(rule))
    return found


def _keys(rule: Rule) -> str:
    return f" ({', '.join(rule.keys[:3])}{', ...' if len(rule.keys) > 3 else ''})" if rule.keys else ""


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(files[:SHOWN]) + more
