"""`aigon report` on real loops: after a run, during one, for a worktree, and where nothing has run."""

import re
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, Lab, finish, until

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
PAGE = ".aigon/reports/feature-42.html"


def ran(lab: Lab) -> Lab:
    """A loop of two iterations that ends as proven; the agent says something that looks like markup."""
    lab.spec(WORKS, "a second thing <!-- verify: test -f second.txt && cat second.txt -->")
    lab.agent(
        """
        echo "<script>alert('done')</script>"
        if [ -f done.txt ]; then echo "second & <last>" > second.txt; else echo 1 > done.txt; fi
        """
    )
    lab.config(proof="in-place")
    lab.commit("spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    return lab


def test_a_page_is_written_where_git_does_not_see_it(lab: Lab) -> None:
    ran(lab)
    before = lab.fingerprint()
    written = lab.aigon("report", "42")
    assert (written.code, written.out.strip()) == (0, str(lab.path(PAGE)))
    assert lab.fingerprint() == before
    page = lab.read(PAGE)
    for words in (
        "Dark mode",
        "2 of 2 passed",
        "feature-42-dark-mode",
        "aigon feature-done 42",
        "second &amp; &lt;last&gt;",
    ):
        assert words in page
    assert "<script" not in page and "&lt;script&gt;alert(&#39;done&#39;)" in page
    assert lab.git("rev-parse", "HEAD")[:8] in page and "## Iteration 2 (" in page


@pytest.mark.slow
def test_the_change_is_counted_from_the_base_without_aigons_own_files(lab: Lab) -> None:
    page = ran(lab).aigon("report", "42", "--format", "md").out
    assert "+2 −0 in 2 files" in page and "`done.txt`" in page and "-log.md" not in page


@pytest.mark.slow
def test_markdown_goes_to_standard_output_or_to_a_file_and_json_says_where(lab: Lab) -> None:
    ran(lab)
    text = lab.aigon("report", "42", "--format", "md").out
    assert text.startswith("## Feature 42: ") and "- [x] it works" in text
    told = lab.aigon("report", "42", "--format", "md", "--output", "pr.md", "--json").json
    assert told["file"] == str(lab.path("pr.md")) and lab.read("pr.md") == text
    assert told["works"][0] | {"commit": ""} == {
        "label": None, "agent": "mine", "branch": "feature-42-dark-mode", "commit": "", "outcome": "met",
        "proven": 2, "total": 2, "iterations": 2,
    }  # fmt: skip
    assert "text" in lab.aigon("report", "42", "--format", "md", "--json").json


@pytest.mark.slow
def test_commits_link_to_the_forge_that_origin_names_and_no_login_with_them(lab: Lab) -> None:
    ran(lab).git("remote", "add", "origin", "https://ada:token@github.com/ada/tea.git")
    lab.aigon("report", "42")
    page = lab.read(PAGE)
    assert f"https://github.com/ada/tea/commit/{lab.git('rev-parse', 'HEAD')}" in page
    assert "token@" not in page and "once the branch is pushed" in page


@pytest.mark.slow
def test_it_can_be_written_while_a_loop_is_running(lab: Lab) -> None:
    lab.spec(WORKS)
    gate = lab.home / "gate"
    lab.agent(f'touch "{gate}.there"; until [ -e "{gate}" ]; do sleep 0.05; done; echo 1 > done.txt')
    lab.config(proof="in-place")
    lab.commit("spec")
    loop = lab.start("feature-implement", "42", "--loop")
    until(Path(f"{gate}.there").exists)
    told = lab.aigon("report", "42", "--json").json
    assert told["works"][0]["outcome"] == "running" and "A loop is working on it" in lab.read(PAGE)
    gate.touch()
    assert finish(loop).code == 0
    assert lab.aigon("report", "42", "--json").json["works"][0]["outcome"] == "met"


def test_without_a_run_it_says_what_to_do(lab: Lab) -> None:
    lab.spec(WORKS)
    refused = lab.aigon("report", "42")
    assert refused.code == 2 and "has not run yet" in refused.err and "feature-implement 42 --loop" in refused.err
    assert not lab.path(".aigon/reports").exists()
    assert lab.aigon("report", "43").code == 2


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_named_and_a_device_is_left_alone(lab: Lab) -> None:
    ran(lab)
    assert lab.aigon("report", "42", "--output", "README.md/x.html").code == 7
    assert lab.aigon("report", "42", "--output", "/dev/null").code == 2 and not Path("/dev/null").is_file()


@pytest.mark.slow
def test_without_a_display_it_says_that_nothing_was_opened(lab: Lab) -> None:
    ran(lab)
    told = lab.aigon("report", "42", "--open")
    assert told.code == 0 and "Not opened: there is no display" in told.err


@pytest.mark.slow
def test_it_is_written_from_a_branch_that_does_not_have_the_spec_in_progress(lab: Lab) -> None:
    ran(lab).git("switch", "-q", "main")
    assert lab.aigon("report", "42").code == 0
    found = re.search(r"<h1>([^<]*)</h1>", lab.read(PAGE))
    assert found and found[1] == "Dark mode"


def test_agents_in_worktrees_are_on_one_page_in_the_main_checkout(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.agent("echo 1 > done.txt", name="right")
    lab.agent("echo $AIGON_ITERATION > wrong.txt", name="wrong")
    lab.config(proof="in-place")
    lab.commit("spec")
    codes = [lab.aigon("feature-implement", "42", "--agent", each, "--worktree").code for each in ("right", "wrong")]
    told = lab.aigon("report", "42", "--json").json
    assert codes == [0, 3] and told["file"] == str(lab.path(PAGE))
    works = {work["label"]: (work["outcome"], work["proven"], work["branch"]) for work in told["works"]}
    assert works == {
        "right": ("met", 1, "feature-42-right-dark-mode"),
        "wrong": ("stopped", 0, "feature-42-wrong-dark-mode"),
    }
    page = lab.read(PAGE)
    assert "1 of 2 agents proved every criterion: right." in page and "aigon feature-done 42 right" in page
    assert "feature-42-wrong-dark-mode-log.md" in page
    there = re.findall(r"worktree (.*)", lab.git("worktree", "list", "--porcelain"))[1]
    assert lab.aigon("report", "42", cwd=Path(there)).out.strip() == str(lab.path(PAGE))


def test_a_feature_that_is_run_again_once_it_is_proven_keeps_its_changes(lab: Lab) -> None:
    assert ran(lab).aigon("feature-implement", "42", "--loop").code == 0
    page = lab.aigon("report", "42", "--format", "md").out
    assert "+2 −0 in 2 files" in page and "of at most 0" not in page, page
