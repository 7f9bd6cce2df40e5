"""The set of changes that ships: what its labels say is true of the code that it holds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.resources import find_resource
from aigon.judge.accuracy import Calls, sum_calls
from aigon.model.changes import FileDiff
from aigon.model.requests import JudgeAnswer
from aigon.model.turns import Usage
from aigon.run.judge_eval import LabelledCase, diff_case, load_case, load_cases, open_bench
from tests.judge.labelled_facts import PYTHON, TRUE_OF_JAVASCRIPT, TRUE_OF_PYTHON

SET = find_resource("templates", "judging")


def laid(name: str, folder: Path) -> Path:
    """The files of a case as they are after its change."""
    for side in ("before", "after"):
        if (SET / name / side).is_dir():
            shutil.copytree(SET / name / side, folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize("name", TRUE_OF_PYTHON)
def test_a_label_of_the_set_is_what_its_python_does(name: str, tmp_path: Path) -> None:
    facts, labelled = TRUE_OF_PYTHON[name], load_case(SET / name)
    code = "\n".join([PYTHON, f"facts = {facts!r}", "print(json.dumps({n: tried(fact) for n, fact in facts.items()}))"])
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=laid(name, tmp_path), capture_output=True, text=True, check=True
    )
    found = {int(number): "met" if yes else "unmet" for number, yes in json.loads(done.stdout).items()}
    assert found == dict(labelled.truth)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize("name", TRUE_OF_JAVASCRIPT)
def test_a_label_of_the_set_is_what_its_javascript_does(name: str, tmp_path: Path) -> None:
    folder = laid(name, tmp_path)
    (folder / "package.json").write_text('{"type": "module"}')
    for number, fact in TRUE_OF_JAVASCRIPT[name].items():
        module, _, rest = fact.partition("; ")
        (folder / f"{number}.js").write_text(f"{module};\nlet yes;\n{rest};\nexport const met = Boolean(yes);\n")
    loading = "const f = {}; for (const n of %s) f[n] = (await import(`./${n}.js`)).met; console.log(JSON.stringify(f))"
    numbers = list(TRUE_OF_JAVASCRIPT[name])
    (folder / "all.js").write_text(loading % numbers)
    done = subprocess.run(["node", "all.js"], cwd=folder, capture_output=True, text=True, check=True)
    found = {int(number): "met" if yes else "unmet" for number, yes in json.loads(done.stdout).items()}
    assert found == dict(load_case(SET / name).truth)


def test_a_label_of_the_set_is_what_its_shell_script_does(tmp_path: Path) -> None:
    folder = laid("backups", tmp_path)
    (folder / "out").mkdir()
    for day in range(10):
        file = folder / "out" / f"backup-2001-01-{day + 10}.tar.gz"
        file.write_text("old")
        os.utime(file, (day, day))
    subprocess.run(["bash", "backup.sh", "before", "out"], cwd=tmp_path, check=False, capture_output=True)
    (folder / "before").mkdir()
    subprocess.run(["bash", "backup.sh", "before", "out"], cwd=tmp_path, check=True, capture_output=True)
    assert len(list((folder / "out").iterdir())) == 6, "seven are asked for"
    assert load_case(SET / "backups").truth[2] == "unmet"


def test_the_set_holds_every_kind_of_near_miss_and_changes_that_are_whole() -> None:
    found = load_cases(SET)
    labels = [label for one in found for label in one.truth.values()]
    assert len(found) >= 14 and len(labels) >= 40
    assert labels.count("unmet") >= 15 and labels.count("met") >= 15
    assert sum(set(one.truth.values()) == {"met"} for one in found) >= 2
    texts = [criterion.text for one in found for criterion in one.spec.criteria]
    assert len(texts) == len(set(texts)), "a criterion that stands twice cannot be told apart"
    with open_bench() as place:
        changes = {one.name: diff_case(place, one) for one in found}
    assert all(changes.values())
    assert not [d.path for diffs in changes.values() for d in diffs if "case.yaml" in d.path or "spec.md" in d.path]


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        target = folder / name.replace("__", "/").replace("_dot_", ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


SPEC = "# F\n\n## Acceptance Criteria\n\n- [ ] it counts\n- [ ] it runs <!-- verify: true -->\n- [ ] it is quick\n"
YAML = "about: x\ntruth: {1: met, 3: unmet}\n"


def read(folder: Path) -> tuple[LabelledCase, tuple[FileDiff, ...]]:
    labelled = load_case(folder)
    with open_bench() as place:
        return labelled, diff_case(place, labelled)


def test_a_change_may_be_files_or_a_diff_and_files_may_go(tmp_path: Path) -> None:
    files = {
        "case_dot_yaml": YAML,
        "spec_dot_md": SPEC,
        "before__a_dot_txt": "one\ntwo\n",
        "before__old_dot_txt": "x\n",
    }
    one = write(tmp_path / "one", **files, after__a_dot_txt="one\n2\n")
    (one / "case.yaml").write_text(YAML + "delete: [old.txt]\nchecks:\n  - {title: Tests, output: 3 passed}\n")
    labelled, diffs = read(one)
    assert dict(labelled.truth) == {1: "met", 3: "unmet"}
    assert [(d.path, d.status) for d in diffs] == [("a.txt", "M"), ("old.txt", "D")]
    assert [(o.finding.check, o.finding.status, o.output) for o in labelled.observed] == [("tests", "pass", "3 passed")]
    two = write(tmp_path / "two", **files)
    (two / "change.diff").write_text("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    assert read(two)[1] == diffs[:1]


def test_what_a_person_ignores_elsewhere_is_part_of_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "ignore").write_text("*.txt\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = write(tmp_path / "one", case_dot_yaml=YAML, spec_dot_md=SPEC, after__a_dot_txt="one\n")
    assert [d.path for d in read(folder)[1]] == ["a.txt"]


@pytest.mark.parametrize(
    ("yaml", "what"),
    [
        ("about: x\ntruth: {1: met}\n", "does not fit the criteria of spec.md that a judge decides: 3"),
        ("about: x\ntruth: {1: met, 2: met, 3: met}\n", "does not fit the criteria of spec.md that a judge decides: 2"),
        ("about: x\ntruth: {1: met, 3: perhaps}\n", "truth.3 cannot be 'perhaps'"),
        ("truth: {1: met, 3: met}\n", "needs the key 'about'"),
        (YAML + "verdicts: []\n", "Unknown key 'verdicts'"),
        (YAML + "delete: [../x]\n", "must be a path inside the project"),
        ("about: [", "Not valid YAML"),
    ],
)
def test_a_case_that_is_not_right_is_refused_by_name(yaml: str, what: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "one", case_dot_yaml=yaml, spec_dot_md=SPEC, after__a_dot_txt="one\n")
    with pytest.raises(AigonError) as caught:
        load_case(folder)
    assert caught.value.code is Exit.USAGE and what in caught.value.what
    assert str(folder) in caught.value.where


def test_a_change_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    files = {"case_dot_yaml": YAML, "spec_dot_md": SPEC, "before__a_dot_txt": "one\n"}
    same = write(tmp_path / "same", **files, after__a_dot_txt="one\n")
    none = write(tmp_path / "none", **files)
    odd = write(tmp_path / "odd", **files)
    (odd / "change.diff").write_text("--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n")
    gone = write(tmp_path / "gone", **files | {"case_dot_yaml": YAML + "delete: [b.txt]\n"})
    said = {same: "changes nothing", none: "has no change", odd: "does not apply", gone: "b.txt cannot be deleted"}
    for folder, what in said.items():
        with pytest.raises(AigonError) as caught:
            read(folder)
        assert caught.value.code is Exit.USAGE and what in caught.value.what
    with pytest.raises(AigonError, match="no labelled changes"):
        load_cases(tmp_path / "empty")
    assert [one.name for one in load_cases(same)] == ["same"]


def test_a_sum_of_costs_is_as_certain_as_its_least_certain_part() -> None:
    said = JudgeAnswer("{}", cost=0.25, cost_status="reported", usage=Usage(10, 2, 3))
    guessed = JudgeAnswer("{}", cost=0.5, cost_status="estimated")
    silent = JudgeAnswer(failure="late")
    assert sum_calls([]) == Calls()
    assert sum_calls([said, said]) == Calls(2, (), Usage(20, 4, 6), 0.5, "reported", 0)
    assert sum_calls([said, guessed]).cost_status == "estimated"
    assert sum_calls([said, silent]) == Calls(2, ("late",), Usage(10, 2, 3), 0.25, "unknown", 1)
    assert sum_calls([silent]).cost is None
