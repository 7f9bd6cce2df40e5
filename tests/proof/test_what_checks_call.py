"""What a check starts in turn is not the agent's to bend: recipes, package scripts and the files that they name."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from aigon.config.loading import parse_configuration
from aigon.model.checks import Check
from aigon.profiles.protection import Protection, Rule
from aigon.proof.protection import protection_of
from aigon.spec.document import parse_spec
from tests.lab import Lab
from tests.projects import files

MAKE = Check("tests", "tests", ("make", "test"))
NPM = Check("tests", "tests", ("npm", "run", "test"))
SPEC = parse_spec(b"# X\n\n## Acceptance Criteria\n\n- [ ] x\n")


def found(root: Path, check: Check) -> tuple[Rule, ...]:
    return protection_of(root, parse_configuration([("c", b"{}")]), SPEC, [check]).list_script_rules()


@pytest.mark.parametrize(
    ("contents", "check", "path"),
    [
        ({"Makefile": "test:\n\tsh run.sh\n", "run.sh": ""}, MAKE, "run.sh"),
        ({"Makefile": "test:\n\t@./tool run-all.py\n\tpython3 run-all.py\n", "run-all.py": ""}, MAKE, "run-all.py"),
        ({"Makefile": "include config/rules\n", "config/rules": "test:\n\tfalse\n"}, MAKE, "config/rules"),
        ({"package.json": json.dumps({"scripts": {"test": "node run-all.js"}}), "run-all.js": ""}, NPM, "run-all.js"),
        (
            {"package.json": json.dumps({"scripts": {"test": "npm run all", "all": "sh ./x.sh"}}), "x.sh": ""},
            NPM,
            "x.sh",
        ),
        (
            {"web/package.json": json.dumps({"scripts": {"test": "sh x.sh"}}), "web/x.sh": ""},
            Check("tests-web", "tests", ("npm", "run", "test"), cwd="web"),
            "web/x.sh",
        ),
        (
            {"Taskfile.dist.yml": "tasks: {test: bash deep/x}", "deep/x": ""},
            Check("t", "tests", ("task", "test")),
            "deep/x",
        ),
    ],
)
def test_a_file_that_a_check_leads_to_is_laid_over(
    tmp_path: Path, contents: Mapping[str, str], check: Check, path: str
) -> None:
    files(tmp_path, contents)
    rules = [rule for rule in found(tmp_path, check) if rule.source == "called by a check"]
    assert [(path in rule.paths, rule.level, rule.part) for rule in rules] == [(True, "review", "config")]


def test_what_only_tests_call_is_the_product_unless_it_asserts(tmp_path: Path) -> None:
    files(
        tmp_path,
        {
            "Makefile": "test:\n\tsh tests/accept.sh\n",
            "tests/accept.sh": ". ./sums.sh\n. ./expecting.sh\n",
            "sums.sh": "add() { echo $(($1 + $2)); }\n",
            "expecting.sh": 'assert_is() { [ "$1" = "$2" ] || exit 1; }\n',
        },
    )
    called = {path for rule in found(tmp_path, MAKE) if rule.source == "called by a check" for path in rule.paths}
    assert called == {"tests/accept.sh", "expecting.sh"}


def test_a_file_with_the_name_of_a_target_is_not_kept(tmp_path: Path) -> None:
    files(
        tmp_path, {"Makefile": ".PHONY: clean\nCC = cc\ntest lint: unit smoke\n\ttrue\nunit:\n\tfalse\n", "unit.c": ""}
    )
    [rule] = [rule for rule in found(tmp_path, MAKE) if rule.source == "a target of the Makefile"]
    assert {"test", "lint", "unit"} <= set(rule.paths)
    assert not {"CC", ".PHONY", "unit.c"} & set(rule.paths)


def test_what_was_found_at_first_stays_protected_before_what_ships() -> None:
    shipped, own = Rule(("**/*",), "note"), Rule(("a",), "restore", source="protect in .aigon/config.json")
    earlier = Rule(("b.sh",), "review", "config", source="called by a check")
    both = Protection((own, shipped)).add_found([earlier])
    assert both.rules == (own, earlier, shipped)
    assert both.add_found([earlier]) == both


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_a_script_behind_a_makefile_that_the_agent_empties_proves_nothing(lab: Lab) -> None:
    files(lab.root, {"Makefile": ".PHONY: test\ntest:\n\tsh run.sh\n", "run.sh": "test -f done.txt\n"})
    lab.spec("All tests pass")
    lab.commit("make")
    lab.agent("echo exit 0 > run.sh")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2", "--json")
    assert ran.code == 4, ran.out[-2000:]
    assert "run.sh" in ran.out
