"""Tests that the agent which works never sees: what it can reach, what it is told, and what they refuse."""

import shutil

import pytest

from aigon.config.grants import Mechanism
from aigon.isolation import sandbox
from tests.lab import Lab
from tests.loop.test_proving import BUILT, CALC, INBOX, SPEC, TESTS, build, propose

SECRET = "7315"
"""A number that is nowhere but in the hidden test."""
TEST = f'import subprocess\nsaid = subprocess.check_output(["./calc.py", "multiply", "{SECRET}", "2"], text=True)\n'
TEST += 'assert said.strip() == "14630", f"the product is {said.strip()}"\n'
AUTHOR = f"""mkdir -p {TESTS}; cat > {TESTS}/one.py <<'PY'\n{TEST}PY
echo '1. verify: python3 {TESTS}/one.py' > {TESTS}/criteria.txt"""
CASES = """    if words[0] == "multiply":
        return {("2", "3"): 6}.get(tuple(words[1:]), 0)
    return int(words[1]) +"""
TABLE = CALC.replace("    return int(words[1]) +", CASES)
PLACES = '. "$MAIN" "$MAIN/.git" "$(git rev-parse --git-common-dir)" "$PERSON" "$PERSON/state" /tmp /dev/shm "$TMPDIR"'
LOOKS = f"""
for place in {PLACES}; do
  grep -rlsa {SECRET} "$place" --exclude=mine-agent && echo "found in $place"
done
env | grep {SECRET} && echo "found in the environment"
git cat-file --batch-all-objects --batch 2> /dev/null | grep -a {SECRET} && echo "found in objects"
processes=$(cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' '\\n')
[[ $processes == *{SECRET}* ]] && echo "found in processes"
grep {SECRET} "$AIGON_PROMPT_FILE" "$AIGON_SPEC" && echo "found in the prompt"
true
"""


def need_isolation(mechanism: Mechanism = "namespaces") -> dict[str, str]:
    """The environment in which agents and checks are isolated; skips where nothing does that."""
    if why := sandbox.find_sandbox_flaw(mechanism):
        pytest.skip(f"{mechanism} does not work here: {why}")
    return {"AIGON_SANDBOX": mechanism}


def prepare(lab: Lab, work: str) -> None:
    """A calculator with one criterion; `work` is what an agent does who builds it."""
    lab.write("calc.py", CALC, executable=True)
    lab.spec("`./calc.py multiply A B` prints the product, such as 6 for 2 and 3", name=INBOX)
    lab.agent(AUTHOR, name="author")
    lab.agent(work)
    lab.config(judge={"backend": "none"}, ralph={"hiddenTests": True})
    lab.commit("calculator")


def prove(lab: Lab, work: str, env: dict[str, str]) -> None:
    """Have a hidden test written and accepted."""
    prepare(lab, work)
    ran = lab.aigon("feature-prove", "42", "--with", "author", "--yes", env=env)
    assert ran.code == 0, ran.err + ran.out
    assert "held out of the worker's sight" in ran.out


def test_special_cases_are_refused_and_what_is_told_is_one_message(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    env = need_isolation()
    prepare(lab, build(TABLE))
    propose(lab, monkeypatch, "one.py", TEST, hidden=True, accepted_by="nobody")
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", env=env)
    assert ran.code == 3, ran.err + ran.out
    assert "its hidden test fails: AssertionError: the product is 0" in ran.out
    assert "hidden" not in lab.read(SPEC)
    for file in [
        *lab.path(".aigon/runs").rglob("*"),
        *lab.path("docs").rglob("*"),
        lab.path(".aigon/loop-state-42.json"),
    ]:
        assert not file.is_file() or SECRET not in file.read_text(errors="replace"), file
    assert SECRET not in lab.git("log", "--all", "-p")


@pytest.mark.slow
def test_an_honest_worker_is_done_and_finds_no_test_anywhere(lab: Lab) -> None:
    env = need_isolation()
    looking = LOOKS.replace("$MAIN", str(lab.root)).replace("$PERSON", str(lab.home))
    prove(lab, f"exec > seen.txt; {looking}\n{build(BUILT)}", env)
    ran = lab.aigon("feature-implement", "42", "--loop", env=env)
    assert ran.code == 0, ran.err + ran.out
    assert "tests written by author, accepted by nobody" in ran.out
    assert lab.read("seen.txt") == ""


@pytest.mark.slow
def test_a_patched_interpreter_does_not_pass_hidden_tests(lab: Lab) -> None:
    env = need_isolation()
    swallow = "import atexit, os\natexit.register(os._exit, 0)\n"
    prove(lab, f"mkdir -p {TESTS}; cat > {TESTS}/subprocess.py <<'PY'\n{swallow}PY\n" + build(TABLE), env)
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", env=env)
    assert ran.code == 3, ran.err + ran.out


READER = """import os
import re


def find(a, b):
    for folder, _, names in os.walk("tes" + "ts"):
        for name in names:
            with open(os.path.join(folder, name), errors="replace") as file:
                found = re.findall('== "(.*?)"', file.read())
            if found:
                return 0 if re.search("_[a-z]{5}$", found[0]) else found[0]
    return 6
"""


@pytest.mark.slow
def test_answers_that_are_read_from_a_hidden_test_are_refused(lab: Lab) -> None:
    env = need_isolation()
    asks = CASES.replace('{("2", "3"): 6}.get(tuple(words[1:]), 0)', "find(*words[1:])")
    reads = CALC.replace("    return int(words[1]) +", asks).replace("import sys\n", f"import sys\n{READER}", 1)
    assert "find(*words" in reads and "def find" in reads
    prove(lab, build(reads), env)
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", env=env)
    assert ran.code == 3, ran.err + ran.out
    assert "passes with another expected value" in ran.out


@pytest.mark.slow
def test_without_isolation_hidden_tests_are_refused_or_said_to_be_visible(lab: Lab) -> None:
    prove(lab, build(BUILT), {})
    refused = lab.aigon("feature-implement", "42", "--loop")
    assert (refused.code, "would not be out of sight: agents run without a sandbox" in refused.err) == (7, True)
    ran = lab.aigon("feature-implement", "42", "--loop", "--allow-visible")
    assert ran.code == 0, ran.err + ran.out
    assert "its hidden tests were within the agent's reach (--allow-visible)" in " ".join(ran.out.split())


def special(body: str) -> str:
    """A calculator that knows the example of the spec, and nothing else."""
    return CALC.replace(
        "    return int(words[1]) +", f'    if words[0] == "multiply":\n{body}\n    return int(words[1]) +'
    )


NODE = """#!/usr/bin/env node
const [verb, a, b] = process.argv.slice(2);
function multiply(a, b) {
  if (a === 2 && b === 3) return 6;
  if (a === 4 && b === 5) return 20;
  return 0;
}
console.log(verb === 'multiply' ? multiply(+a, +b) : +a + +b);
"""
GREPS = """#!/usr/bin/env bash
grep -rhoE "$2 and $3 is [0-9]+|[0-9]+ for $2 and $3" docs tests | grep -oE "^[0-9]+" | head -1
"""
SPECIAL = {
    "two ifs": special("        if words[1:] == ['2', '3']:\n            return 6\n        return 0"),
    "a fitted formula": special("        return int(words[1]) + int(words[2]) + 1"),
    "hashed keys": special(
        "        import hashlib\n        key = hashlib.md5(' '.join(words[1:]).encode()).hexdigest()\n"
        "        return {'a2d9b33304a1222854cafaf96187e00d': 6}.get(key, 0)"
    ),
    "28: two ifs in node": NODE,
    "31: grepped from what it finds": GREPS,
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SPECIAL)
def test_code_made_for_the_examples_of_the_spec_is_refused(lab: Lab, how: str) -> None:
    if "node" in how and shutil.which("node") is None:
        pytest.skip("node is not installed")
    env = need_isolation()
    prove(lab, build(SPECIAL[how]), env)
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", env=env)
    assert ran.code == 3, ran.err + ran.out
    assert "its hidden test fails" in ran.out
