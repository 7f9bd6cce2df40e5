"""aigon's own git: the person's rules, nobody's programs."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.git.person import Checkout
from aigon.git.trusted import FIXED, IMPORTED, TrustedGit, refuse_unsupported
from tests.lab import Lab

CONFIGURED = False

pytestmark = pytest.mark.usefixtures("lab_environment")


@contextmanager
def trusted(lab: Lab, objects: Path | None = None) -> Iterator[TrustedGit]:
    """aigon's own git for the laboratory's repository."""
    with Checkout.open(lab.root) as checkout:
        yield TrustedGit(checkout, lab.home / "own", objects)


def refusal(lab: Lab) -> str:
    """What the repository is refused with; empty when it is not."""
    with Checkout.open(lab.root) as checkout:
        try:
            refuse_unsupported(checkout)
        except AigonError as error:
            assert error.code == Exit.ENVIRONMENT
            return f"{error.what} {error.hint}"
    return ""


def staged(git: TrustedGit) -> list[str]:
    """The names of what a snapshot would hold."""
    git.run("add", "-A")
    return git.run("ls-files", "-z").decode(errors="surrogateescape").rstrip("\0").split("\0")


def test_what_changes_a_snapshot_is_imported_and_what_runs_a_program_is_not(lab: Lab) -> None:
    lab.git("config", "core.autocrlf", "input")
    lab.git("config", "core.fsmonitor", "/evil")
    lab.git("config", "core.hooksPath", "/evil")
    lab.git("config", "filter.evil.clean", "/evil")
    lab.git("config", "diff.external", "/evil")
    lab.git("config", "core.sshCommand", "/evil")
    with trusted(lab) as git:
        entries = git.run("config", "--list", "-z").decode().split("\0")
    known = {name: value for name, _, value in (entry.partition("\n") for entry in entries if entry)}
    assert known["core.autocrlf"] == "input"
    assert not [name for name, value in known.items() if "/evil" in value]
    extra = {"core.repositoryformatversion", "extensions.preciousobjects", "core.attributesfile"}
    assert set(known) <= {*IMPORTED, *FIXED, *extra}


def test_no_imported_setting_names_a_program() -> None:
    assert not {name for name in IMPORTED if name.endswith(("command", "pager", "editor", "path", "program", "clean"))}


def test_the_environment_of_the_person_does_not_reach_it(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_NOTES_REF", "GIT_ALTERNATE_OBJECT_DIRECTORIES"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    with trusted(lab) as git:
        mine = {name for name in git.env if name.startswith("GIT_")}
        assert git.env["GIT_AUTHOR_NAME"] == "Grace"
    assert not mine & {"GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_NOTES_REF", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
    assert git.env["GIT_CONFIG_GLOBAL"] == "/dev/null"


def test_every_place_of_ignore_rules_counts(lab: Lab) -> None:
    (lab.home / ".config/git").mkdir(parents=True)
    (lab.home / ".config/git/ignore").write_text("*.swp\n")
    lab.path(".git/info/exclude").write_text("*.tmp\n")
    lab.write(".gitignore", "*.log\n")
    for name in ("a.swp", "a.tmp", "a.log", ".aigon/loop-state-1.json", ".aigon/runs/x", "keep"):
        lab.write(name, "")
    with trusted(lab) as git:
        assert staged(git) == [".gitignore", "README.md", "keep"]


def test_an_ignore_file_by_configuration_replaces_gits_default_place(lab: Lab) -> None:
    (lab.home / ".config/git").mkdir(parents=True)
    (lab.home / ".config/git/ignore").write_text("*.swp\n")
    (lab.home / "mine").write_text("*.bak\n")
    lab.git("config", "core.excludesFile", "~/mine")
    lab.write("a.swp", "")
    lab.write("a.bak", "")
    with trusted(lab) as git:
        assert staged(git) == ["README.md", "a.swp"]


def test_rules_that_come_later_do_not_count(lab: Lab) -> None:
    with trusted(lab) as git:
        lab.path(".git/info/exclude").write_text("*\n")
        (lab.home / ".config/git").mkdir(parents=True)
        (lab.home / ".config/git/ignore").write_text("*\n")
        (lab.home / ".config/git/attributes").write_text("* -text\n")
        lab.git("config", "core.autocrlf", "true")
        lab.write("new.txt", "x\r\n")
        assert staged(git) == ["README.md", "new.txt"]
        assert git.run("cat-file", "blob", ":new.txt") == b"x\r\n"


def test_it_holds_no_refs_and_a_gc_in_it_destroys_nothing(lab: Lab) -> None:
    lab.write("big.txt", "x\n" * 1000)
    commit = lab.commit("big")
    with trusted(lab) as git:
        assert git.run("for-each-ref") == b""
        subprocess.run(
            ["git", "gc", "-q", "--prune=now"], cwd=lab.root, env=git.env, capture_output=True, check=False, timeout=60
        )
        assert git.attempt("prune", "--expire=now")[0] != 0
    assert lab.git("cat-file", "-t", commit) == "commit"
    lab.sound()


def test_objects_can_go_elsewhere_and_the_repository_is_only_read(lab: Lab, tmp_path: Path) -> None:
    before = sorted(path for path in lab.path(".git").rglob("*"))
    lab.write("new.txt", "new\n")
    with trusted(lab, tmp_path / "objects") as git:
        git.run("read-tree", "HEAD" if git.attempt("rev-parse", "HEAD")[0] == 0 else lab.git("rev-parse", "HEAD"))
        assert staged(git) == ["README.md", "new.txt"]
        git.run("write-tree")
    assert sorted(path for path in lab.path(".git").rglob("*")) == before
    assert list((tmp_path / "objects").rglob("??/*"))


def test_a_ref_moves_without_a_hook_and_only_from_the_old_value(lab: Lab) -> None:
    first = lab.git("rev-parse", "HEAD")
    second = lab.commit("second")
    lab.write(".git/hooks/reference-transaction", f"#!/bin/sh\ntouch {lab.home}/ran\nexit 1\n", executable=True)
    with trusted(lab) as git:
        assert git.refs("update-ref", "refs/heads/x", first, "")[0] == 0
        code, said = git.refs("update-ref", "refs/heads/x", first, second)
        assert code != 0 and "refs/heads/x" in said
        assert git.refs("update-ref", "refs/heads/x", second, first) == (0, "")
    assert not (lab.home / "ran").exists()
    assert lab.git("rev-parse", "x") == second


def test_what_git_says_is_in_the_error(lab: Lab) -> None:
    with trusted(lab) as git, pytest.raises(AigonError) as caught:
        git.run("cat-file", "-p", "nothing")
    assert caught.value.what == "git cat-file failed"
    assert "nothing" in caught.value.hint


def test_a_path_is_a_path_and_never_a_pattern(lab: Lab) -> None:
    for name in ("*", ":(top)x", "other"):
        lab.write(name, "")
    with trusted(lab) as git:
        git.run("add", "--", "*")
        assert git.run("ls-files") == b"*\n"


@pytest.mark.parametrize(
    ("attributes", "where"),
    [
        ("*.txt filter=crypt", ".gitattributes"),
        ("*.txt text filter=crypt -diff", "deep/down/.gitattributes"),
        ("[attr]secret filter=crypt\n*.txt secret", ".gitattributes"),
        ("*.txt filter=crypt", ".git/info/attributes"),
    ],
)
def test_a_filter_in_force_is_refused_wherever_it_is_named(lab: Lab, attributes: str, where: str) -> None:
    lab.git("config", "filter.crypt.smudge", "cat")
    assert refusal(lab) == ""
    lab.write(where, attributes + "\n")
    lab.commit("attributes")
    assert "'crypt'" in refusal(lab)


def test_a_filter_in_the_persons_global_attributes_is_refused(lab: Lab) -> None:
    (lab.home / ".gitconfig").write_text('[core]\n\tattributesFile = ~/attributes\n[filter "crypt"]\n\tclean = cat\n')
    (lab.home / "attributes").write_text("*.txt filter=crypt\n")
    assert "'crypt'" in refusal(lab)


@pytest.mark.parametrize("attribute", ["-filter", "!filter", "filter", "filter=other"])
def test_an_attribute_that_runs_nothing_is_no_reason_to_refuse(lab: Lab, attribute: str) -> None:
    lab.git("config", "filter.crypt.clean", "cat")
    lab.write(".gitattributes", f"*.txt {attribute}\n")
    lab.commit("attributes")
    assert refusal(lab) == ""


@pytest.mark.parametrize(("value", "refused"), [("true", True), ("TRUE", True), ("1", True), ("no", False)])
def test_a_promisor_remote_is_refused_however_true_is_written(lab: Lab, value: str, refused: bool) -> None:
    lab.git("config", "remote.up.stream.promisor", value)
    assert ("partial clone" in refusal(lab)) is refused


def test_a_reftable_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")  # git 2.39 does not know reftables, so only the setting is there
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "extensions.refStorage")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "reftable")
    assert "reftable" in refusal(lab)


def test_a_program_named_git_in_the_work_tree_is_not_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with trusted(lab) as git:
        lab.write("git", f"#!/bin/sh\ntouch {lab.home}/ran\n", executable=True)
        monkeypatch.setenv("PATH", f"{lab.root}{os.pathsep}{lab.env['PATH']}")
        assert "README.md" in staged(git)
    assert not (lab.home / "ran").exists()
