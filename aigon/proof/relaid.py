"""The tree as it would be with the base's tests and checker configuration: what an agent did to them cannot help it."""

from collections.abc import Mapping
from dataclasses import dataclass

from aigon.git import objects
from aigon.git.trusted import TrustedGit
from aigon.profiles.protection import Protection, Rule
from aigon.proof import keyed
from aigon.proof.edits import Changed

New = tuple[str, str] | None
"""Mode and object's name that a path gets; None: it goes."""


@dataclass(frozen=True, slots=True)
class Relaid:
    """`paths` are the tests and checker configuration that the agent touched, `configuration` those that are no tests.

    `name` names the very change.

    `tree` has the base's versions only: new tests and new configuration are gone; what the checks have to be green
    on, too. In `with_new_tests` the agent's new tests stay: what commands of criteria may be about.
    """

    paths: tuple[str, ...]
    configuration: tuple[str, ...]
    name: tuple[str, ...]
    tree: str
    with_new_tests: str


def relaid(git: TrustedGit, tree: str, rows: tuple[Changed, ...], protection: Protection) -> Relaid | None:
    """The trees to look at as well; None where the agent touched neither tests nor what configures the checks."""
    ruled = [(row, rule) for row in rows if (rule := protection.relaid(row.path, new=row.base is None))]
    texts = objects.read_blobs(
        git, [e.sha for row, _ in ruled for e in (row.base, row.tree) if e and e.mode != "160000"]
    )
    touched = [(row, rule) for row, rule in ruled if not _same(row, rule, texts)]
    if not touched:
        return None
    back = {row.path: _version(git, row, rule, texts) for row, rule in touched}
    kept = {path: new for path, new in back.items() if new is not None or not _new_test(path, touched, texts)}
    without = objects.write_tree_with(git, tree, back)
    return Relaid(
        tuple(back),
        tuple(row.path for row, rule in touched if rule.part != "tests"),
        tuple(f"{row.path} {row.tree.sha if row.tree else 'gone'}" for row, _ in touched),
        without,
        objects.write_tree_with(git, tree, kept) if kept != back else without,
    )


def _texts(row: Changed, texts: Mapping[str, bytes]) -> tuple[str | None, str | None]:
    before, after = (
        texts[entry.sha].decode("utf-8", "replace") if entry and entry.sha in texts else None
        for entry in (row.base, row.tree)
    )
    return before, after


def _same(row: Changed, rule: Rule, texts: Mapping[str, bytes]) -> bool:
    """Whether nothing that the rule protects has changed: a file may hold more."""
    return bool(rule.keys) and keyed.same(*_texts(row, texts), row.path, rule.keys)


def _version(git: TrustedGit, row: Changed, rule: Rule, texts: Mapping[str, bytes]) -> New:
    """The base's version, or the tree's with the base's keys."""
    if not rule.keys or row.tree is None:
        return (row.base.mode, row.base.sha) if row.base else None
    text = keyed.with_keys_of(*_texts(row, texts), row.path, rule.keys)
    return None if text is None else (row.tree.mode, objects.write_blob(git, text.encode("utf-8", "replace")))


def _new_test(path: str, touched: list[tuple[Changed, Rule]], texts: Mapping[str, bytes]) -> bool:
    """A test of the agent's own, or fixtures for such tests, which change nothing about how others are run."""
    row, rule = next((row, rule) for row, rule in touched if row.path == path)
    if row.base is not None:
        return False
    from aigon.proof.fixtures_only import fixtures_only

    _, after = _texts(row, texts)
    name = path.rpartition("/")[2]
    return rule.part == "tests" if name != "conftest.py" else fixtures_only(after or "")
