"""Rules on what an agent may change."""

import pytest

from aigon.errors import AigonError
from aigon.files.resources import read_profiles
from aigon.profiles.profile import load_protections
from aigon.profiles.protection import Protection, Rule, read_rules
from aigon.text.documents import parse_yaml

SHIPPED = load_protections(read_profiles(), {})


def test_the_shipped_rules_protect_what_decides() -> None:
    protection = Protection(SHIPPED)
    levels = {
        ".aigon/validation.sh": "restore",
        "tests/test_calc.py": "review",
        "src/app/conftest.py": "review",
        "Makefile": "review",
        "web/package.json": "review",
        "src/button.test.tsx": "review",
        "package-lock.json": "note",
    }
    for path, level in levels.items():
        rule = protection.rule(path)
        assert rule is not None and rule.level == level, path
    for free in ("calc/__init__.py", "README.md", "docs/specs/features/03-in-progress/feature-1-a.md"):
        assert protection.rule(free) is None, free


def test_the_spec_allows_a_file_or_a_folder_by_name() -> None:
    protection = Protection(SHIPPED, ("package.json", "tests/old/", "**/*.snap"))
    for path in ("package.json", "tests/old/test_a.py", "tests/x/a.snap"):
        assert protection.rule(path) is None, path
    assert protection.rule("tests/test_a.py") is not None
    assert protection.rule("web/package.json") is not None


def test_a_project_s_own_rule_counts_before_the_shipped_ones() -> None:
    own = Rule(("tests/**",), "restore", source=".aigon/config.json")
    assert Protection((own, *SHIPPED)).rule("tests/test_a.py") is own


def test_a_new_module_named_like_pythons_own_is_taken_away_for_the_deciding_run() -> None:
    protection = Protection(SHIPPED)
    for path in ("json.py", "pytest.py", "src/unittest/__init__.py", "sitecustomize.py"):
        assert protection.relaid(path, new=True) is not None, path
    assert protection.relaid("json.py", new=False) is None
    assert protection.relaid("calc/json.py", new=True) is None
    assert protection.part("random.py") == "config"


def test_files_have_a_part() -> None:
    protection = Protection(SHIPPED)
    parts = {"calc/a.py": "product", "tests/a.py": "tests", "conftest.py": "config", "README.md": "other"}
    assert {path: protection.part(path) for path in parts} == parts


def test_a_malformed_rule_names_file_and_key() -> None:
    with pytest.raises(AigonError) as caught:
        read_rules(parse_yaml(b"- {paths: a, level: revue}", "profiles/x.yaml"))
    assert "profiles/x.yaml" in caught.value.where
    assert "review" in caught.value.hint
