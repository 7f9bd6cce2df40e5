"""The person's repository, read with their own git."""

import subprocess
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.git.person import LOCAL_VARIABLES, Checkout, forget_inherited_repository
from tests.lab import Lab

pytestmark = pytest.mark.usefixtures("lab_environment")


def refusal(start: Path) -> AigonError:
    """What opening a checkout at `start` is refused with."""
    with pytest.raises(AigonError) as caught, Checkout.open(start):
        pass
    assert caught.value.code == Exit.ENVIRONMENT
    return caught.value


def test_a_checkout_is_found_from_a_folder_inside_it(lab: Lab) -> None:
    lab.write("a/b/c.txt", "")
    with Checkout.open(lab.path("a/b")) as checkout:
        assert checkout.root == lab.root.resolve()
        assert checkout.git_dir == checkout.common_dir == lab.path(".git").resolve()


def test_a_linked_worktree_has_a_git_directory_of_its_own_and_shares_the_rest(lab: Lab) -> None:
    place = lab.home / "place"
    lab.git("worktree", "add", "-q", "-b", "side", str(place))
    with Checkout.open(place) as checkout:
        assert checkout.root == place
        assert checkout.git_dir == lab.path(".git/worktrees/place").resolve()
        assert checkout.common_dir == lab.path(".git").resolve()
        assert checkout.branch == "side"
        assert checkout.checked_out_elsewhere("main") == str(lab.root)
        assert checkout.checked_out_elsewhere("side") is None


def test_outside_of_a_work_tree_there_is_no_checkout(lab: Lab) -> None:
    assert "not a git repository" in refusal(lab.home).what
    assert "not a git repository" in refusal(lab.home / "missing").what
    lab.git("clone", "-q", "--bare", ".", str(lab.home / "bare"))
    assert "bare" in refusal(lab.home / "bare").what


def test_a_repository_that_git_cannot_read_is_refused_with_gits_reason(lab: Lab) -> None:
    lab.path(".git/config").write_text("[broken\n")
    assert "config" in refusal(lab.root).hint


def test_the_hint_for_a_repository_of_another_user_is_gits_command(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    refused = refusal(lab.root)
    assert "another user owns it" in refused.what
    assert refused.hint == f"git config --global --add safe.directory {lab.root}"


def test_the_last_value_of_a_setting_counts_and_names_are_in_lower_case(lab: Lab) -> None:
    lab.git("config", "--add", "Core.autoCRLF", "true")
    lab.git("config", "--add", "core.autocrlf", "input")
    lab.git("config", "filter.Name.clean", "a\nb")
    with lab.path(".git/config").open("a") as config:
        config.write("[core]\n\tsparseCheckout\n\teol =\n")
    with Checkout.open(lab.root) as checkout:
        assert checkout.config["core.autocrlf"] == "input"
        assert (checkout.config["core.sparsecheckout"], checkout.config["core.eol"]) == ("true", "")
        assert checkout.config["filter.name.clean"] == "a\nb"


def test_head_and_branch_say_where_the_person_is(lab: Lab) -> None:
    with Checkout.open(lab.root) as checkout:
        assert checkout.branch == "main"
        assert checkout.head == checkout.commit_of("main") == lab.git("rev-parse", "HEAD")
        lab.git("switch", "-q", "--detach")
        assert checkout.branch is None
        assert checkout.commit_of("nothing") is None


def test_a_repository_without_commits_has_a_branch_and_no_head(tmp_path: Path) -> None:
    new = Lab(tmp_path / "new")
    new.git("init", "-q", "-b", "start")
    with Checkout.open(new.root) as checkout:
        assert (checkout.branch, checkout.head) == ("start", None)


def test_every_kind_of_uncommitted_change_is_seen_under_its_real_name(lab: Lab) -> None:
    for name in ("changed", "gone", "old name", "staged"):
        lab.write(name, f"{name}\n")
    lab.write(".gitignore", "*.log\n")
    lab.commit("more")
    lab.write("changed", "x")
    lab.path("gone").unlink()
    lab.git("mv", "old name", "new name")
    lab.write("staged", "x")
    lab.git("add", "staged")
    lab.write("deep/new\nline", "")
    lab.write("ignored.log", "")
    bytes_name = lab.root / b"latin-\xe9".decode(errors="surrogateescape")
    bytes_name.touch()
    with Checkout.open(lab.root) as checkout:
        assert set(checkout.list_changed()) == {
            "changed",
            "gone",
            "old name",
            "new name",
            "staged",
            "deep/new\nline",
            b"latin-\xe9".decode(errors="surrogateescape"),
        }


def test_looking_for_changes_runs_no_monitor_of_the_persons(lab: Lab) -> None:
    monitor = lab.home / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {lab.home}/ran\n")
    monitor.chmod(0o755)
    lab.git("config", "core.fsmonitor", str(monitor))
    with Checkout.open(lab.root) as checkout:
        assert checkout.list_changed() == []
    assert not (lab.home / "ran").exists()


def test_a_switch_runs_no_hook(lab: Lab) -> None:
    lab.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {lab.home}/ran\n", executable=True)
    with Checkout.open(lab.root) as checkout:
        checkout.switch("new", create=True)
        assert checkout.branch == "new"
        checkout.switch("main")
    assert not (lab.home / "ran").exists()


def test_the_identity_is_gits_own_answer(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Grace <x> Hopper")
    with Checkout.open(lab.root) as checkout:
        identity = checkout.identity()
    assert identity.author == ("Ada", "ada@example.invalid")
    assert identity.committer[1] == "ada@example.invalid"


def test_nobody_is_an_error_with_the_commands_that_help(lab: Lab) -> None:
    lab.git("config", "--unset", "user.email")
    lab.git("config", "user.useConfigOnly", "true")
    with Checkout.open(lab.root) as checkout, pytest.raises(AigonError) as caught:
        checkout.identity()
    assert caught.value.code == Exit.ENVIRONMENT
    assert "git config user.email" in caught.value.hint


@pytest.mark.parametrize(
    ("mark", "name"),
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ],
)
def test_what_is_under_way_has_a_name(lab: Lab, mark: str, name: str) -> None:
    with Checkout.open(lab.root) as checkout:
        assert checkout.under_way() is None
        lab.path(
            ".git",
        ).joinpath(mark).touch()
        assert checkout.under_way() == name


def test_the_variables_that_redirect_git_are_the_ones_git_says(lab: Lab) -> None:
    said = lab.git("rev-parse", "--local-env-vars").split()
    assert set(said) - {"GIT_INTERNAL_SUPER_PREFIX"} <= set(LOCAL_VARIABLES)


def test_inherited_variables_are_forgotten(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    other = lab.home / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True, env=lab.env)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    forget_inherited_repository()
    with Checkout.open(lab.root) as checkout:
        assert checkout.root == lab.root.resolve()
        assert checkout.head == lab.git("rev-parse", "HEAD")


def test_a_question_that_git_answers_with_no_is_none_and_a_command_is_an_error(lab: Lab) -> None:
    with Checkout.open(lab.root) as checkout:
        assert checkout.ask("rev-parse", "--verify", "-q", "nothing") is None
        assert checkout.is_ancestor("HEAD", "HEAD")
        with pytest.raises(AigonError) as caught:
            checkout.git("switch", "nowhere")
    assert caught.value.what == "git switch failed"
    assert "nowhere" in caught.value.hint
