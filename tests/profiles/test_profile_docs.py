"""docs/profiles.md: what it says can be done is done."""

import re
from pathlib import Path

from aigon.checks import parsers
from aigon.checks.project import ProjectOnDisk
from aigon.files.resources import read_profiles
from aigon.profiles.conditions import KINDS
from aigon.profiles.profile import EVERY, load_ecosystems, load_profiles, resolve_profile
from tests.projects import files, program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
ZIG, WEB = (match[1].encode() for match in re.finditer(r"```yaml\n(.*?)```", PAGE, re.DOTALL))


def test_the_ecosystem_of_the_page_is_taken_in_by_every_shipped_profile(tmp_path: Path) -> None:
    files(tmp_path, {"build.zig": "b.addTest(...)"})
    zig = program(tmp_path / "bin/zig")
    known = load_profiles(read_profiles(), {"ecosystems/zig": ZIG})
    assert len(known) >= 6
    for profile in known.values():
        [check] = resolve_profile(profile, ProjectOnDisk(tmp_path, {"PATH": f"{tmp_path}/bin"})).checks
        assert (check.name, check.argv, check.missing) == ("tests", (zig, "build", "test"), "")
    assert len(ZIG.splitlines()) <= 10


def test_the_profile_of_the_page_changes_the_shipped_one(tmp_path: Path) -> None:
    files(tmp_path, {"e2e/a.js": ""})
    web = load_profiles(read_profiles(), {"web": WEB})["web"]
    assert web.timeouts["tests"] == 1800
    found = resolve_profile(web, ProjectOnDisk(tmp_path, {"PATH": ""}))
    assert [(check.name, check.when, check.exclusive) for check in found.checks] == [("tests-e2e", "final", True)]


def test_the_page_names_every_profile_with_its_priority() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", PAGE, re.M))
    assert rows == {name: str(profile.priority) for name, profile in load_profiles(read_profiles(), {}).items()}


def test_the_page_names_every_ecosystem_and_every_kind_of_condition() -> None:
    for name, ecosystem in load_ecosystems(read_profiles(), {}).items():
        assert f"| {ecosystem.title} |" in PAGE, name
    for kind in KINDS:
        assert f"`{kind}`" in PAGE, kind
    assert EVERY == "*"


def test_the_page_on_parsers_names_every_parser() -> None:
    page = (ROOT / "docs" / "parsers.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert rows == set(parsers.list_parsers())
