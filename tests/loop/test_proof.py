"""The proof: everything once more on a clean export, with the base's tests, before a run may end as proven."""

import json
import os
import shutil

import pytest

from aigon.isolation import sandbox
from tests.lab import BRANCH, DONE_WHEN, Lab

LOOP = ("feature-implement", "42", "--loop")
RESUME = ("feature-implement", "42", "--resume")
CHECK = {"tests": {"command": ["sh", "tests/run.sh"], "role": "tests"}}


def checked(lab: Lab, script: str, agent: str, *criteria: str, **config: object) -> None:
    """A project whose one check is `tests/run.sh`, which an agent may be tempted to change."""
    lab.write("tests/run.sh", script)
    lab.spec(*(criteria or ("it works <!-- check: tests -->",)))
    lab.agent(agent)
    lab.config(checks=CHECK, **config)
    lab.commit("a project")


def proof(lab: Lab) -> dict[str, str]:
    """The proof of the last look, as the state has it."""
    found: list[dict[str, str]] = [check for check in lab.state()["checks"] if check["role"] == "proof"]
    assert found, lab.state()["checks"]
    return found[0]


def test_what_is_green_in_the_workspace_and_not_in_the_commit_is_not_proven(lab: Lab) -> None:
    checked(lab, "test -f made/done.txt\n", "mkdir -p made; touch made/done.txt; echo made/ >> .gitignore")
    ran = lab.aigon(*LOOP, "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert "fails on a clean export" in ran.out and lab.boxes() == " "
    assert proof(lab)["status"] == "fail"
    assert "fails on a clean export" in lab.state()["iterations"][-1]["feedback"]
    lab.sound()


def test_a_proven_run_says_how_it_was_proven_and_leaves_no_room_behind(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN} && mkdir -p out/deep && chmod 500 out\n", "touch done.txt; echo out/ >> .gitignore")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert proof(lab)["status"] == "pass" and "1 check passed on a clean export" in proof(lab)["summary"]
    assert "Clean-room dry run" in ran.out
    rooms = list((lab.home / "state").glob("repos/*/rooms/*"))
    assert [room for room in rooms if room.exists()] == []
    lab.sound()


def test_a_project_that_a_clean_room_cannot_prove_is_told_before_the_first_turn(lab: Lab) -> None:
    lab.write(".gitignore", "local.cfg\n")
    lab.write("local.cfg", "x")
    checked(lab, "test -f local.cfg\n", f"touch {lab.home}/paid", "later <!-- verify: test -f later -->")
    ran = lab.aigon(*LOOP)
    assert ran.code == 7, ran.out + ran.err
    assert "clean export" in ran.err and '"proof"' in ran.err and "Tests" in ran.err
    assert not (lab.home / "paid").exists()
    lab.config(proof={"setup": "echo y > local.cfg"})
    lab.agent("touch later")
    again = lab.aigon(*LOOP)
    assert again.code == 0, again.out + again.err


def test_without_a_clean_room_the_outcome_says_so(lab: Lab) -> None:
    lab.write(".gitignore", "made/\n")
    checked(lab, "test -d made\n", "mkdir -p made", proof="in-place")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert "proved in place, not in a clean room" in ran.out
    assert "proved in place" in lab.state()["stop_reason"]


def test_a_criterion_with_the_command_of_a_check_is_run_nowhere_beside_it(lab: Lab) -> None:
    """In the workspace, in the dry run, and in the proof; logs are of what ran."""
    own = "it is there <!-- verify: test -f done.txt -->"
    checked(lab, f"{DONE_WHEN}\n", "touch done.txt", "it works <!-- verify: sh tests/run.sh -->", own)
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    logs = {(path.parent.name, path.stem) for path in lab.path(".aigon/runs").glob("*/00?/**/*.log")}
    assert {("clean", "tests"), ("clean", "criterion-2")} <= logs
    assert not [log for log in logs if log[1] == "criterion-1"], logs


def test_where_nothing_isolates_the_outcome_says_so(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "touch done.txt", proof={"isolation": "none"})
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert "not isolated" in ran.out and "not isolated" in lab.state()["stop_reason"]


def test_the_home_of_a_person_is_not_there_unless_the_project_asks_for_it(lab: Lab) -> None:
    (lab.home / "mark").touch()
    checked(lab, f'{DONE_WHEN} && echo "$HOME" >> "{lab.home}/homes"\n', "touch done.txt")
    assert lab.aigon(*LOOP).code == 0
    homes = (lab.home / "homes").read_text().splitlines()
    assert homes[0] == str(lab.home) and homes[-1] != str(lab.home)


def test_a_changed_test_has_to_be_green_as_it_was_too_and_the_agent_is_told_once(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "true > tests/run.sh")
    ran = lab.aigon(*LOOP)
    assert ran.code == 4, ran.out + ran.err
    state = lab.state()
    assert [each["rule"] for each in state["integrity"]] == ["base-tests"]
    assert f"Next: git diff {lab.git('rev-parse', '--short=12', 'main')} -- tests/run.sh, then aigon approve" in ran.out
    assert "aigon approve 42 base-tests" in ran.out and "is to change what they ask for" in str(state["integrity"])
    assert len(state["iterations"]) == 3, "the look at the base, the change, and one turn to undo it"
    assert "base-tests" in state["iterations"][1]["feedback"]
    assert lab.boxes() == " "


def test_an_approved_change_is_proven_and_the_next_change_is_open_again(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "true > tests/run.sh")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 4
    refused = lab.aigon("approve", "42", "special-cases", "--yes")
    assert refused.code == 2 and "base-tests" in refused.err
    assert lab.aigon("approve", "42", "base-tests", "--yes").code == 0
    ran = lab.aigon(*RESUME)
    assert ran.code == 0, ran.out + ran.err
    assert lab.boxes() == "x" and "approved by Ada" in lab.read(f"docs/specs/features/logs/{BRANCH}-log.md")


def test_a_rejected_change_goes_back_to_the_agent_with_the_reason(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "true > tests/run.sh")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 4
    assert lab.aigon("reject", "42", "base-tests", "--why", "test the file", "--yes").code == 0
    (lab.home / "mine-agent").write_text(
        "#!/bin/sh\ncp $AIGON_PROMPT_FILE $HOME/told\ntouch done.txt\ngit checkout main -- tests\n"
    )
    ran = lab.aigon(*RESUME)
    assert ran.code == 0, ran.out + ran.err
    assert "test the file" in (lab.home / "told").read_text()


def test_a_changed_test_that_is_green_both_ways_needs_nobody(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "touch done.txt more.txt; echo 'test -f more.txt' >> tests/run.sh")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err


def test_a_note_names_changed_tests_inside_a_file_of_the_product(lab: Lab) -> None:
    example = '"""Sums.\n\n>>> add(2, 3)\n5\n"""\n\n\ndef add(a, b):\n    return a + b\n'
    lab.write("calc.py", example)
    checked(lab, f"python3 -m doctest calc.py && {DONE_WHEN}\n", "sed -i 's/Sums/Two sums/' calc.py; touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert "changed-tests: tests in calc.py: changed" in ran.out and "changed-config" not in ran.out


def test_what_the_spec_allows_needs_nobody(lab: Lab) -> None:
    checked(lab, "test -f old.txt\n", "echo 'test -f new.txt' > tests/run.sh; touch new.txt")
    lab.spec("it works <!-- check: tests -->", frontmatter="---\nallow: [tests/]\n---\n")
    lab.commit("allow it")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err


def test_a_test_that_is_green_now_and_red_then_is_flaky_and_no_proof(lab: Lab) -> None:
    flips = f'{DONE_WHEN} || exit 1\nn=$(cat "{lab.home}/n" 2>/dev/null || echo 0); echo $((n+1)) > "{lab.home}/n"\n'
    checked(lab, f"{flips}test $((n % 2)) -eq 0\n", "touch done.txt")
    ran = lab.aigon(*LOOP, "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert "flaky: passed in 1 of 3 runs" in ran.out


def test_a_criterion_that_the_base_meets_already_is_said_to_show_nothing(lab: Lab) -> None:
    lab.spec(
        "there <!-- verify: test -f README.md -->", f"new <!-- verify: {DONE_WHEN} -->", "own <!-- verify: ./x.sh -->"
    )
    lab.agent("touch done.txt; printf '#!/bin/sh\\n' > x.sh; chmod +x x.sh")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert "Criterion 1 only runs `test -f README.md`, which already passes." in ran.out
    assert "criterion 3 is decided by" in ran.out and "the agent would write its own proof" in ran.out


PROTECTED = "test -f done.txt"


def test_what_decides_is_put_back_parked_and_told(lab: Lab) -> None:
    lab.spec("it works <!-- check: script -->")
    lab.write(".aigon/validation.sh", f"{PROTECTED}\n", executable=True)
    lab.agent("""
        echo true > .aigon/validation.sh; chmod -x .aigon/validation.sh
        mkdir -p .aigon/profiles; echo 'description: x' > .aigon/profiles/mine.yaml
        git add -A; git commit -qm mine
        """)
    lab.commit("a project")
    ran = lab.aigon(*LOOP, "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert ".aigon/validation.sh, .aigon/profiles/mine.yaml were put back" in ran.out
    assert lab.read(".aigon/validation.sh") == f"{PROTECTED}\n"
    assert os.access(lab.path(".aigon/validation.sh"), os.X_OK)
    assert not lab.path(".aigon/profiles/mine.yaml").exists()
    assert lab.git("diff", "main", "HEAD", "--name-only", "--", ".aigon") == ""
    parked = lab.aigon("parked", "--json").json["parked"]
    assert "true\n" in lab.git("show", f"{parked[0]['ref']}:.aigon/validation.sh") + "\n"
    lab.sound()


def test_a_project_s_own_rules_are_kept(lab: Lab) -> None:
    lab.write("api/schema.json", '{"v": 1}')
    lab.write("LIST", "a\n")
    lab.spec(f"it works <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt; echo '{}' > api/schema.json; echo b > LIST")
    lab.config(protect=[{"paths": "api/**", "level": "restore"}, {"paths": ["LIST"]}])
    lab.commit("a project")
    ran = lab.aigon(*LOOP)
    assert ran.code == 4, ran.out + ran.err
    assert lab.read("api/schema.json") == '{"v": 1}'
    assert [each["what"] for each in lab.state()["integrity"]] == ["LIST was changed (protect in .aigon/config.json)"]


def test_a_check_that_an_agent_made_vanish_is_asked_for_in_the_next_run_too(lab: Lab) -> None:
    if not shutil.which("ruff", path=lab.env["PATH"]):
        pytest.skip("ruff is not installed")
    lab.write("pyproject.toml", "[tool.ruff]\nline-length = 100\n")
    lab.write("a.py", "import os\n")
    lab.spec(f"it works <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt; rm pyproject.toml")
    lab.commit("a project")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    for again in (RESUME, LOOP):
        ran = lab.aigon(*again, "--max-iterations", "1")
        assert ran.code == 3, ran.out + ran.err
        assert "lint" in [check["name"] for check in lab.state()["checks"]]


def test_what_people_change_between_runs_counts_as_the_base_s(lab: Lab) -> None:
    checked(lab, "test -f never.txt\n", "true")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    lab.write("tests/run.sh", f"{DONE_WHEN}\n")
    lab.commit("a person mends the test")
    (lab.home / "mine-agent").write_text("#!/bin/sh\ntouch done.txt\n")
    ran = lab.aigon(*RESUME)
    assert ran.code == 0, ran.out + ran.err


@pytest.mark.slow
def test_a_dependency_folder_is_lent_as_it_was_and_made_anew_when_it_changed(lab: Lab) -> None:
    lab.write(".gitignore", "node_modules/\n")
    lab.write("package.json", '{"private": true}\n')
    lab.write("node_modules/dep/index.js", "1")
    checked(lab, f"test -f node_modules/dep/index.js && {DONE_WHEN}\n", "touch done.txt")
    assert lab.aigon(*LOOP).code == 0
    other = Lab(lab.home / "other").init()
    other.write(".gitignore", "node_modules/\n")
    other.write("node_modules/dep/index.js", "1")
    checked(other, "test -f node_modules/dep/new.js\n", "touch node_modules/dep/new.js")
    ran = other.aigon(*LOOP, "--max-iterations", "2")
    assert ran.code == 4, ran.out + ran.err
    assert "node_modules has changed since the first turn" in ran.out
    other.config(proof={"setup": "mkdir -p node_modules/dep; touch node_modules/dep/new.js"})
    assert other.aigon(*RESUME).code == 0


def test_the_dry_run_shows_what_is_protected(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "true")
    lab.spec("it works <!-- check: tests -->", frontmatter="---\nallow: [docs/]\n---\n")
    lab.commit("allow")
    text = lab.aigon(*LOOP, "--dry-run").out
    assert "put back when changed: .aigon/config.json" in text
    assert "has to pass with the base's version, too: tests/run.sh" in text
    assert "allowed by the spec: docs/" in text and "in a clean room" in text
    document = lab.aigon(*LOOP, "--dry-run", "--json").json
    assert document["protection"]["files"]["base-tests"] == ["tests/run.sh"]
    assert document["proof"]["mode"] == "clean-room"


def test_feature_validate_proves_too_and_changes_nothing(lab: Lab) -> None:
    lab.write(".gitignore", "local.txt\n")
    checked(lab, "test -f local.txt\n", "true")
    lab.write("local.txt", "")
    before = lab.fingerprint()
    ran = lab.aigon("feature-validate", "42", "--json")
    assert ran.code == 3, ran.out + ran.err
    proofs = [check for check in json.loads(ran.out)["checks"] if check["role"] == "proof"]
    assert proofs[0]["status"] == "fail"
    assert lab.fingerprint() == before


def test_a_record_of_the_base_that_is_damaged_is_refused_and_repaired_from_its_copy(lab: Lab) -> None:
    checked(lab, f"{DONE_WHEN}\n", "true")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    (record,) = (lab.home / "state").glob("repos/*/features/42/frozen.json")
    record.write_text("{")
    (lab.home / "mine-agent").write_text("#!/bin/sh\ntouch done.txt\n")
    refused = lab.aigon(*RESUME)
    assert (refused.code, "aigon doctor --repair" in refused.err) == (7, True)
    repaired = lab.aigon("doctor", "--repair", "42")
    assert repaired.code == 0, repaired.out + repaired.err
    assert lab.aigon(*RESUME).code == 0


@pytest.mark.slow
def test_a_criterion_about_tests_added_to_a_file_of_the_base_needs_nobody(lab: Lab) -> None:
    lab.write("tests/test_it.py", "def test_one():\n    assert True\n")
    lab.write("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    lab.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    lab.spec(
        "two tests <!-- metric: grep -c 'def test_' tests/test_it.py >= 2 -->",
        "the new one <!-- verify: python3 -m pytest -q tests/test_it.py::test_two -->",
        "all tests pass",
    )
    lab.agent("printf 'def test_two():\\n    assert 1 + 1 == 2\\n' >> tests/test_it.py")
    lab.commit("a project")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err


COMPILES = """
if [ -n "$PYTHONPYCACHEPREFIX" ]; then
    ls "$PYTHONPYCACHEPREFIX" | grep -c usr >> "{seen}"
    mkdir -p "$PYTHONPYCACHEPREFIX/usr"; touch "$PYTHONPYCACHEPREFIX/usr/compiled"
fi
test -f done.txt
"""


def test_bytecode_of_the_base_serves_the_proof_and_an_agents_does_not(lab: Lab) -> None:
    if sandbox.choose_mechanism("auto", "open") not in ("bwrap", "namespaces"):
        pytest.skip("no overlay works here")
    seen = lab.home / "seen"
    checked(lab, COMPILES.format(seen=seen), "touch half.txt")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    assert seen.read_text().split() == ["0"]
    (lab.home / "mine-agent").write_text("#!/bin/sh\ntouch done.txt\n")
    assert lab.aigon(*LOOP).code == 0
    assert seen.read_text().split() == ["0"] * 3, "the second rehearsal is of a tree with an agent's commit"
    other = Lab(lab.home / "other").init()
    checked(other, COMPILES.format(seen=seen), "touch done.txt")
    assert other.aigon(*LOOP).code == 0
    assert seen.read_text().split() == ["0"] * 4 + ["1"]
    assert not list((lab.home / "state").glob("repos/*/bytecode/*"))
