"""A spec whose words ask to change what decides is offered the line that allows it, and no other spec is."""

from pathlib import Path

import pytest

from aigon.profiles.protection import Protection, Rule
from aigon.proof.proposed_allow import describe_proposals, propose_allow
from aigon.spec.document import parse_spec

FILES = {
    "tests/test_add.py": "import calc\n\n\ndef test_adds():\n    assert calc.add(1, 2) == 3\n",
    "tests/test_read.py": 'with raises(ValueError, match="no number"):\n    calc.read("x")\n',
    "tests/golden/usage.txt": "usage: calc LEFT RIGHT\n",
    "calc/__init__.py": "def add(a, b): raise ValueError('no number')\n",
    "package.json": "{}",
    "pyproject.toml": "[tool.mypy]\n",
    "README.md": "no number\n",
    "golden/help.json": '"no number"\n',
    "data/units.json": '"no number"\n',
    "tests/test_help.py": 'read("golden/help.json")\n',
}
RULES = Protection(
    (
        Rule(("tests/**",), "review", "tests"),
        Rule(("package.json",), "restore", keys=("scripts.test",)),
        Rule(("pyproject.toml",), "review", "config", keys=("tool.mypy",)),
    )
)


def proposed(root: Path, *sentences: str, rules: Protection = RULES) -> list[str]:
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    items = "".join(f"- [ ] {sentence}\n" for sentence in sentences)
    spec = parse_spec(f"# Feature: X\n\n## Acceptance Criteria\n\n{items}".encode())
    return [each.path for each in propose_allow(spec, rules, root, lambda: list(FILES))]


@pytest.mark.parametrize(
    ("sentence", "paths"),
    [
        ("`calc.add` is replaced by `calc.plus`", ["tests/test_add.py"]),
        ("AC-3: Remove the function `calc.add`.", ["tests/test_add.py"]),
        ("The word `no number` is renamed to `not_a_number`", ["golden/help.json", "tests/test_read.py"]),
        ("`calc.add()` and its tests are removed", ["tests/test_add.py"]),
        ("The message changes from “no number” to “not a number”", ["golden/help.json", "tests/test_read.py"]),
        ('It says "not a number" where it said "no number"', ["golden/help.json", "tests/test_read.py"]),
        ('"no number" -> "not a number"', ["golden/help.json", "tests/test_read.py"]),
        ("`golden/help.json` changes with it", ["golden/help.json"]),
        ("What `tests/golden/` holds is adapted to it", ["tests/golden"]),
        (
            "It prints `usage: calc A B` instead of `usage: calc LEFT RIGHT`",
            ["tests/golden/usage.txt"],
        ),
        ("The message says more; update tests/test_read.py with it", ["tests/test_read.py"]),
        ("The tests in `tests/golden/usage.txt` are adapted", ["tests/golden/usage.txt"]),
        ("`npm test` runs the linter, too", ["package.json"]),
        ("An override in `pyproject.toml` tells mypy", ["pyproject.toml"]),
        ("`mypy` is configured to be strict in pyproject.toml", ["pyproject.toml"]),
        ("`pyproject.toml` registers the new plugin `calc/testing.py`", ["calc/testing.py", "pyproject.toml"]),
    ],
)
def test_what_goes_by_the_words_of_the_spec_is_proposed(tmp_path: Path, sentence: str, paths: list[str]) -> None:
    assert proposed(tmp_path, sentence) == paths


@pytest.mark.parametrize(
    "sentence",
    [
        "`calc.add` is renamed to `calc.plus`",
        "`calc.add` takes any number of numbers, and `calc.plus` is new",
        "`calc.add(1, 2)` now gives `3`",
        "All tests in `tests/test_add.py` pass",
        "`tests/test_add.py` must not be changed",
        "`calc.add` keeps its name instead of `calc.plus`, without changing `tests/test_add.py`",
        "Add a test of zero to `tests/test_add.py`",
        "`npm test` passes",
        "There is a new module `calc/testing.py`",
        "`data/units.json` changes, and so does README.md",
        "mypy passes as configured in `pyproject.toml`",
        "`use: calc LEFT` becomes `use: calc`, `no` becomes `y`",
        "It is done <!-- verify: sed s/a/b/ tests/test_add.py; rename `calc.add` -->",
        "`.aigon/config.json` is removed",
    ],
)
def test_what_stays_or_is_only_named_is_not(tmp_path: Path, sentence: str) -> None:
    assert proposed(tmp_path, sentence) == []


def test_what_the_spec_allows_already_is_not_proposed_again(tmp_path: Path) -> None:
    sentence = "`calc.add` is removed"
    assert proposed(tmp_path, sentence, rules=Protection(RULES.rules, allow=("tests",))) == []


def test_the_line_to_add_and_each_reason_are_said(tmp_path: Path) -> None:
    proposed(tmp_path)
    spec = parse_spec(b"# Feature: X\n\n`calc.add` is removed. `npm test` now lints.\n")
    text = describe_proposals(propose_allow(spec, RULES, tmp_path, lambda: list(FILES)), "docs/x.md")
    assert text[1] == "  allow: [package.json, tests/test_add.py]"
    assert "docs/x.md" in text[0]
    assert text[2:] == [
        "  (package.json: line 3 of the spec names `npm test`, which it defines)",
        "  (tests/test_add.py: line 3 of the spec replaces `calc.add`, which it holds)",
    ]
    assert describe_proposals((), "docs/x.md") == []
