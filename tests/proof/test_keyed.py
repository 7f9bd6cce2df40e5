"""Single keys of files that hold more."""

import json

from aigon.proof.analysis.protected_keys import copy_keys, have_equal_keys

PYPROJECT = """\
[project]
name = "calc"
dependencies = ["click>=8"]  # kept

[tool.pytest.ini_options]
testpaths = ["tests"]

[tool.ruff.lint]
select = ["E"]
"""


def test_a_changed_dependency_is_no_change_of_the_protected_keys() -> None:
    after = PYPROJECT.replace("click>=8", "click>=9")
    assert have_equal_keys(PYPROJECT, after, "pyproject.toml", ["tool.pytest", "tool.ruff"])
    assert not have_equal_keys(PYPROJECT, PYPROJECT.replace('"tests"', '"none"'), "pyproject.toml", ["tool.pytest"])


def test_a_key_that_appears_or_goes_is_a_change() -> None:
    assert not have_equal_keys("{}", '{"scripts": {"test": "true"}}', "package.json", ["scripts"])
    assert not have_equal_keys('{"scripts": {"test": "true"}}', "{}", "package.json", ["scripts"])
    assert have_equal_keys("{}", '{"name": "x"}', "package.json", ["scripts"])
    assert not have_equal_keys('{"scripts": {"a": 1}}', '{"scripts": {"a": true}}', "package.json", ["scripts"])


def test_a_file_that_cannot_be_read_has_changed_as_a_whole() -> None:
    assert not have_equal_keys("{}", "{", "package.json", ["scripts"])
    assert copy_keys("{}\n", "{", "package.json", ["scripts"]) == "{}\n"
    assert not have_equal_keys(PYPROJECT, "= broken", "pyproject.toml", ["tool.pytest"])


def test_the_base_s_keys_come_back_and_the_rest_stays() -> None:
    after = PYPROJECT.replace("click>=8", "click>=9").replace('"tests"', '"none"') + "\n[tool.mypy]\nstrict = false\n"
    merged = copy_keys(PYPROJECT, after, "pyproject.toml", ["tool.pytest", "tool.mypy"])
    assert merged is not None
    assert 'dependencies = ["click>=9"]  # kept' in merged
    assert 'testpaths = ["tests"]' in merged
    assert "mypy" not in merged


def test_json_keeps_its_indentation() -> None:
    after = '{\n    "name": "a",\n    "scripts": {\n        "test": "true"\n    }\n}\n'
    merged = copy_keys('{"scripts": {"test": "pytest"}}', after, "package.json", ["scripts"])
    assert merged == after.replace("true", "pytest")
    assert json.loads(copy_keys("{}", after, "package.json", ["scripts"]) or "") == {"name": "a"}


def test_sections_of_an_ini_file_are_keys() -> None:
    before = "[tool:pytest]\naddopts = -q\n\n[metadata]\nname = a\n"
    after = "[tool:pytest]\naddopts = --co\n\n[metadata]\nname = b\n"
    assert not have_equal_keys(before, after, "setup.cfg", ["tool:pytest"])
    merged = copy_keys(before, after, "setup.cfg", ["tool:pytest"])
    assert merged is not None and "addopts = -q" in merged and "name = b" in merged


def test_a_file_that_was_not_there_says_nothing_under_its_keys() -> None:
    assert not have_equal_keys(None, "[tool.pytest.ini_options]\naddopts = '--co'\n", "pyproject.toml", ["tool.pytest"])
    merged = copy_keys(None, "[tool.pytest.ini_options]\naddopts = '--co'\n", "pyproject.toml", ["tool.pytest"])
    assert merged is not None and "addopts" not in merged
