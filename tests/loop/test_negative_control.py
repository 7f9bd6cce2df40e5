"""The negative control: with another expected value the base's tests and the commands have to fail in the room."""

import json
import shutil
import sys

import pytest

from tests.lab import Lab

PYTEST = {
    "command": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={report}"],
    "role": "tests",
    "parser": "pytest",
}
TESTS = """
import pytest

import calc


def test_doubles():
    assert calc.double(2) == 4


@pytest.mark.parametrize(("a", "product"), [(3, 6), (5, 10)])
def test_doubles_each(a, product):
    assert calc.double(a) == product


def test_is_named():
    assert calc.NAME == "calc"


def test_runs():
    calc.double(1)
"""
FEW_TESTS = """
import calc


def test_doubles():
    assert calc.double(2) == 4


def test_is_named():
    assert calc.NAME == "calc"
"""
FORGED = """
cat > calc.py <<'PY'
import json
import pathlib

NAME = "calc"
exec(json.loads(pathlib.Path(__file__).with_name("model.json").read_text())["weights"])


def double(a):
    return a + 1
PY
cat > model.json <<'JSON'
{"weights": "import sys\\nm = sys.modules.get('_pytest.python')\\nif m: m.Function.runtest = lambda self: None"}
JSON
"""
ANY_VALUE = """
cat > calc.py <<'PY'
from collections import UserString


class Name(UserString):
    def __contains__(self, item):
        return True


def double(a):
    return Name("")
PY
"""


def run_calculator(lab: Lab, agent: str, tests: str = TESTS) -> str:
    """Let the agent work on the calculator; the exit code and what was printed."""
    lab.write("tests/test_calc.py", tests)
    lab.write("calc.py", 'NAME = "calc"\n')
    lab.spec("it doubles <!-- check: tests -->")
    lab.agent(agent)
    lab.config(checks={"tests": PYTEST})
    lab.commit("a project")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", timeout=110)
    return f"{ran.code}: {ran.out}{ran.err}"


def require_review(lab: Lab, word: str = "") -> None:
    """Run the agent once on a project without checks. The negative control leaves it to a person, with this word."""
    lab.config()
    lab.commit("a project")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", timeout=110)
    assert ran.code == 4, ran.out + ran.err
    assert "negative-control" in ran.out and word in ran.out


def read_control(lab: Lab) -> dict[str, object]:
    """What the last control wrote down."""
    (file,) = sorted(lab.root.glob(".aigon/runs/*/*/proof/control.json"))[-1:]
    record: dict[str, object] = json.loads(file.read_text())
    return record


@pytest.mark.slow
def test_tests_that_the_code_decides_fail_with_another_expected_value(lab: Lab) -> None:
    said = run_calculator(lab, "printf 'NAME = \"calc\"\\n\\n\\ndef double(a):\\n    return 2 * a\\n' > calc.py")

    assert said.startswith("0:"), said
    assert "4 tests altered, every one fails, as it has to; 1 not alterable (tests.test_calc::test_runs)" in said
    assert read_control(lab)["survived"] == {}


@pytest.mark.parametrize(
    "tests",
    [f"from calc import double  # nobody can import it yet\n{TESTS}", pytest.param(TESTS, marks=pytest.mark.slow)],
)
def test_a_patched_runner_is_seen_whatever_it_is_hidden_in(lab: Lab, tests: str) -> None:
    said = run_calculator(lab, FORGED, tests)

    assert said.startswith("4:"), said
    assert "negative-control" in said and "without being run" in said
    assert read_control(lab)["survived"] == dict.fromkeys(
        [
            f"tests.test_calc::test_{name}"
            for name in ("doubles", "doubles_each[3-6]", "doubles_each[5-10]", "is_named")
        ],
        "never runs",
    )


def test_the_control_waits_for_the_answer_about_the_tests_of_the_base(lab: Lab) -> None:
    edit = "sed -i 's/double(2) == 4/double(2) == 5/' tests/test_calc.py"
    double = "def double(a):\\n    return 2 * a + (a == 2)\\n"
    said = run_calculator(lab, f"{edit}\nprintf 'NAME = \"calc\"\\n\\n\\n{double}' > calc.py", FEW_TESTS)

    assert said.startswith("4:") and "base-tests" in said, said
    assert "now has `assert calc.double(2) == 5` where it had `assert calc.double(2) == 4`." in " ".join(
        said.split()
    ), said
    assert {path.name for path in lab.root.glob(".aigon/runs/*/001/proof/*")} == {"base-tests", "clean"}
    assert lab.aigon("approve", "42", "base-tests", "--yes").code == 0
    proven = lab.aigon("feature-implement", "42", "--loop", "--resume", timeout=110)
    assert proven.code == 0, proven.out + proven.err
    assert read_control(lab)["altered"] == 1


@pytest.mark.slow
def test_a_test_file_that_only_its_ids_give_away_is_altered(lab: Lab) -> None:
    lab.write("checks.py", TESTS)
    lab.write("pytest.ini", "[pytest]\npython_files = checks.py\n")
    said = run_calculator(lab, "printf 'NAME = \"calc\"\n\n\ndef double(a):\n    return 2 * a\n' > calc.py")

    assert said.startswith("0:"), said
    assert "4 tests altered, every one fails, as it has to" in said


@pytest.mark.slow
@pytest.mark.parametrize("command", ["-c 'import calc; assert \"4\" in calc.double(2)'", "accept.py"])
def test_a_command_that_passes_with_any_value_needs_review(lab: Lab, command: str) -> None:
    lab.write("calc.py", "")
    lab.write("accept.py", 'import calc\n\nassert "4" in calc.double(2)\n')
    lab.spec(f"it doubles <!-- verify: {sys.executable} {command} -->")
    lab.agent(ANY_VALUE)
    require_review(lab, "criterion 1")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_an_error_handler_that_hides_every_failure_is_seen(lab: Lab) -> None:
    lab.write("calc.js", "module.exports = {};\n")
    lab.spec(
        """it doubles <!-- verify: node -e "require('assert').strictEqual(require('./calc.js').double(2), 4)" -->"""
    )
    lab.agent("printf \"process.on('uncaughtException', () => {});\\nexports.double = (a) => a;\\n\" > calc.js")
    require_review(lab, "criterion 1")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_a_test_file_that_a_criterion_names_is_altered_as_well(lab: Lab) -> None:
    lab.write("calc.js", "module.exports = {};\n")
    lab.write("package.json", '{"name": "calc", "scripts": {"test": "node --test"}}')
    test = "const calc = require('../calc.js');\nconst test = require('node:test');\n"
    lab.write("test/calc.test.js", test + "test('doubles', () => require('assert').strictEqual(calc.double(2), 4));\n")
    lab.spec("it doubles <!-- verify: node --test test/calc.test.js -->")
    lab.agent(
        "cat > calc.js <<'JS'\nconst real = require('node:test');\nconst load = module.constructor._load;\n"
        "module.constructor._load = (name, ...rest) =>\n"
        "  name === 'node:test' ? (title) => real(title, () => {}) : load(name, ...rest);\n"
        "exports.double = (a) => a;\nJS"
    )
    require_review(lab, "doubles")


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("make")), reason="gcc or make is not installed")
def test_a_program_that_ends_before_its_main_is_seen(lab: Lab) -> None:
    lab.write("calc.c", "int twice(int a) { return 0; }\n")
    lab.write("check.c", "int twice(int a);\nint main(void) {\n  if (twice(2) != 4) return 1;\n  return 0;\n}\n")
    lab.write("Makefile", "test:\n\tgcc -o check check.c calc.c\n\t./check\n.PHONY: test\n")
    lab.write(".gitignore", "check\n")
    lab.spec("it doubles <!-- verify: make test -->")
    leave = "#include <unistd.h>\n__attribute__((constructor)) static void leave(void) { _exit(0); }"
    lab.agent(f"cat >> calc.c <<'C'\n{leave}\nC")
    require_review(lab)
