"""What `pip install` brings: every package has its reason on docs/install.md, and a version in constraints.txt."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as normalise

ROOT = Path(__file__).parents[1]
MOST_PACKAGES = 40


def read_project() -> dict[str, list[Requirement]]:
    """The requirements of every extra, and under "" those of everybody."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in lists.items()}


def resolve(wanted: Iterable[Requirement]) -> set[str]:
    """The names of all that is installed for these, as metadata of this environment has it."""
    waiting = [(normalise(each.name), extra) for each in wanted for extra in ("", *each.extras)]
    found = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        new = {
            (normalise(each.name), inner)
            for each in _list_requirements(name)
            if each.marker is None or each.marker.evaluate({"extra": extra})
            for inner in ("", *each.extras)
        }
        waiting += new - found
        found |= new
    return {name for name, _ in found}


def _list_requirements(name: str) -> Iterator[Requirement]:
    try:
        yield from map(Requirement, requires(name) or ())
    except PackageNotFoundError:
        raise AssertionError(f"{name} is not installed: pip install -e '.[dev]'") from None


def test_what_pip_installs_is_listed_with_its_reason() -> None:
    installed = {"aigon", *resolve(read_project()[""])}
    section = (ROOT / "docs/install.md").read_text(encoding="utf-8").partition("## What is installed")[2]
    rows = re.findall(r"(?m)^\| ([\w-]+(?:, [\w-]+)*) \| ", section.partition("\n## ")[0])
    listed = [normalise(name) for row in rows if row != "package" for name in row.split(", ")]
    assert sorted(listed) == sorted(installed)
    assert len(installed) <= MOST_PACKAGES


def test_every_extra_is_described_and_all_joins_those_for_users() -> None:
    project = read_project()
    (joined,) = project.pop("all")
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    described = set(re.findall(r"(?m)^\| `(\w+)` \|", page.partition("## Extras")[2].partition("\n## ")[0]))
    assert described == joined.extras | {"all"}
    assert project.keys() - joined.extras == {"", "dev", "browser", "docs"}


def test_the_constraints_hold_a_version_that_fits_every_requirement() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {normalise(name): version for name, version in (line.split("==") for line in lines)}
    wanted = [each for requirements in read_project().values() for each in requirements if each.name != "aigon"]
    missing = [str(each) for each in wanted if not each.specifier.contains(pinned.get(normalise(each.name), "0.0"))]
    assert missing == [], "nox -s constraints"
