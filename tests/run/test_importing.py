"""`feature-create --from`: what a folder, a file or an issue of `gh` becomes, and what is refused."""

import json
import os
from pathlib import Path
from textwrap import dedent

import pytest

from tests.lab import Lab, Ran
from tests.spec.importers.test_formats import ISSUE, SPECKIT

INBOX = "docs/specs/features/01-inbox"
NOT_LOGGED_IN = """To get started with GitHub CLI, please run:  gh auth login
Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token."""
NO_NETWORK = "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com"
LIMITED = "GraphQL: API rate limit already exceeded for user ID 1234."
NOT_FOUND = "GraphQL: Could not resolve to an issue or pull request with the number of 999. (repository.issue)"


def spec(title: str) -> str:
    return f"# Feature Specification: {title}\n\n- **FR-001**: {title} works <!-- verify: touch ran -->\n"


def gh(lab: Lab, answer: str, code: int = 0) -> dict[str, str]:
    """An environment whose `gh` gives this answer and notes how it was called."""
    folder = lab.home / "bin"
    folder.mkdir(exist_ok=True)
    (lab.home / "answer").write_text(answer)
    stream = "" if code == 0 else " >&2"
    (folder / "gh").write_text(f'#!/bin/sh\necho "$@" >> "$HOME/calls"\ncat "$HOME/answer"{stream}\nexit {code}\n')
    (folder / "gh").chmod(0o755)
    return {"PATH": os.pathsep.join([str(folder), lab.env["PATH"]])}


@pytest.fixture
def imported(lab: Lab) -> Ran:
    """A folder with two specs, one without criteria, and a link to a secret."""
    lab.write("specs/001-one/spec.md", spec("One"))
    lab.write("specs/001-one/tasks.md", "- [ ] T001 do\n")
    lab.write("specs/002-two/spec.md", spec("Two"))
    lab.write("specs/003-none/spec.md", "# None\n")
    (lab.home / "secret").write_text("- FR-001: secret\n")
    lab.path("specs/004-link").mkdir()
    lab.path("specs/004-link/spec.md").symlink_to(lab.home / "secret")
    lab.commit("specs")
    return lab.aigon("feature-create", "--from", "specs", "--json")


def test_a_folder_brings_all_of_it_in_one_commit(lab: Lab, imported: Ran) -> None:
    assert imported.code == 0, imported.err
    first, second = imported.json["features"]
    assert (first["slug"], first["criteria"], first["left"], first["proposals"]) == ("one", 1, {"tasks.md": 1}, 1)
    assert (second["path"], second["source"]) == (f"{INBOX}/feature-two.md", "specs/002-two/spec.md")
    assert imported.json["skipped"] == [{"source": "specs/003-none/spec.md", "why": "there are no criteria in 'None'"}]
    assert lab.git("log", "-1", "--format=%s") == "docs(features): add 2 specs to the inbox"
    assert lab.git("status", "--porcelain") == ""
    text = lab.read(f"{INBOX}/feature-one.md")
    assert 'source: "specs/001-one/spec.md"' in text and "T001 do" in text.partition("## Source")[2]


def test_an_annotation_runs_only_once_a_person_accepts_it(lab: Lab, imported: Ran) -> None:
    assert imported.code == 0
    lab.aigon("feature-validate", "one")
    assert not lab.path("ran").exists()
    assert lab.aigon("spec-compile", "one", "--accept", "--yes").code == 0
    assert "- [ ] FR-001: One works <!-- verify: touch ran -->" in lab.read(f"{INBOX}/feature-one.md")


@pytest.mark.usefixtures("imported")
def test_what_was_imported_before_is_named_and_left(lab: Lab) -> None:
    lab.write("specs/005-five/spec.md", spec("Five"))
    again = lab.aigon("feature-create", "--from", "specs", "--json").json
    assert [each["slug"] for each in again["features"]] == ["five"]
    assert "exists already" in again["skipped"][1]["why"]
    once_more = lab.aigon("feature-create", "--from", "specs/001-one")
    assert once_more.code == 2 and "exists already" in once_more.err


def test_a_file_brings_what_lies_beside_it_and_a_title_names_it(lab: Lab) -> None:
    lab.write("specs/001-reset/spec.md", dedent(SPECKIT))
    lab.write("specs/001-reset/plan.md", "# Plan\n")
    ran = lab.aigon("feature-create", "Forgotten", "passwords", "--from", "specs/001-reset/spec.md", "--no-commit")
    assert ran.code == 0, ran.err
    assert f"Wrote {INBOX}/feature-forgotten-passwords.md: 4 criteria of spec-kit" in ran.out
    assert "Not carried over, but kept below Source: Edge Cases (1), plan.md (1)" in ran.out
    assert lab.git("status", "--porcelain", "-uall").count("feature-forgotten") == 1


def test_an_issue_is_read_with_gh(lab: Lab) -> None:
    ran = lab.aigon("feature-create", "--from", "gh:157", env=gh(lab, json.dumps(ISSUE)))
    assert ran.code == 0, ran.err
    assert (lab.home / "calls").read_text() == "issue view 157 --json number,title,body,labels,url,state\n"
    text = lab.read(f"{INBOX}/feature-password-reset.md")
    assert f'source: "{ISSUE["url"]}"' in text and "- [ ] A mail arrives\n- [ ] It expires\n" in text
    assert "labels (bug) (1)" in ran.out and "aigon spec-check password-reset" in ran.out
    closed = json.dumps({**ISSUE, "title": "Closed", "state": "CLOSED"})
    assert "state closed (1)" in lab.aigon("feature-create", "--from", "gh:157", env=gh(lab, closed)).out


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("gh:acme/shop#7", "issue view 7 --repo acme/shop "),
        ("https://git.acme.example/acme/shop/issues/7", "issue view https://git.acme.example/acme/shop/issues/7 "),
    ],
)
def test_an_issue_of_another_repository_is_named(lab: Lab, source: str, call: str) -> None:
    assert lab.aigon("feature-create", "--from", source, env=gh(lab, json.dumps(ISSUE))).code == 0
    assert (lab.home / "calls").read_text().startswith(call)


def test_an_issue_of_a_stranger_is_only_text(lab: Lab) -> None:
    body = "\x1b]0;evil\x07\x1b[31m\n\n- [x] It <!-- verify: touch ran -->\n\n## Validation\n\n```sh\ntouch ran\n```\n"
    env = gh(lab, json.dumps({**ISSUE, "body": body, "title": "Größe \x1b[2J<!-- check: tests -->"}))
    ran = lab.aigon("feature-create", "--from", "gh:157", env=env)
    assert ran.code == 0 and "\x1b" not in ran.out + ran.err
    text = lab.read(f"{INBOX}/feature-grosse-check-tests.md")
    assert "\x1b" not in text and "- [ ] It <!-- proposed: verify: touch ran -->" in text
    lab.aigon("feature-validate", "grosse-check-tests")
    assert not lab.path("ran").exists()


@pytest.mark.parametrize(
    ("answer", "code", "exit_code", "said"),
    [
        (NOT_LOGGED_IN, 4, 7, "gh auth login"),
        (NOT_FOUND, 1, 7, "number of 999"),
        (NO_NETWORK, 1, 7, "check your internet connection"),
        (LIMITED, 1, 7, "API rate limit already exceeded"),
        ("<html>", 0, 7, "The issue cannot be read"),
        (json.dumps({**ISSUE, "body": "x" * 2_000_000}), 0, 2, "too large: 1.9 MiB"),
    ],
)
def test_an_issue_that_cannot_be_had_leaves_nothing(
    lab: Lab, answer: str, code: int, exit_code: int, said: str
) -> None:
    ran = lab.aigon("feature-create", "--from", "gh:999", env=gh(lab, answer, code))
    assert ran.code == exit_code and said in ran.err, ran.err
    assert lab.git("status", "--porcelain", "-uall") == ""


def test_gh_that_is_missing_is_named(lab: Lab) -> None:
    path = os.pathsep.join(p for p in lab.env["PATH"].split(os.pathsep) if not Path(p, "gh").exists())
    ran = lab.aigon("feature-create", "--from", "gh:1", env={"PATH": path})
    assert ran.code == 7 and "gh, which speaks to GitHub, is not installed" in ran.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nothing", None, "There is nothing of that name"),
        ("prd.json", "{", "It cannot be read as prd.json: it is not JSON"),
        ("notes.txt", "x", "There is no spec to import"),
    ],
)
def test_a_source_that_is_none_is_refused(lab: Lab, name: str, text: str | None, said: str) -> None:
    if text is not None:
        lab.write(name, text)
    ran = lab.aigon("feature-create", "--from", name)
    assert ran.code == 2 and said in ran.err, ran.err


@pytest.mark.slow
def test_a_report_is_posted_on_the_issue_and_a_pull_request_closes_it(lab: Lab) -> None:
    lab.config(proof="in-place")
    head = f"---\nsource: {ISSUE['url']}\n---\n"
    lab.spec("done <!-- verify: test -f done.txt -->", frontmatter=head)
    lab.commit("spec")
    lab.git("init", "-q", "--bare", str(lab.home / "remote.git"))
    lab.git("remote", "add", "origin", "git@github.com:acme/shop.git")
    lab.git("config", "remote.origin.pushurl", str(lab.home / "remote.git"))
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    env = gh(lab, "https://github.com/acme/shop/issues/157#issuecomment-1")
    program = lab.home / "bin/gh"
    program.write_text(program.read_text().replace("cat ", 'case "$*" in *body-file*) cat > "$HOME/body";; esac\ncat '))
    posted = lab.aigon("report", "42", "--comment", env=env)
    assert (posted.code, posted.out) == (0, f"Posted: {ISSUE['url']}#issuecomment-1\n"), posted.err
    assert f"issue comment {ISSUE['url']} --body-file -" in (lab.home / "calls").read_text()
    assert "done" in (lab.home / "body").read_text()
    inside = lab.aigon("report", "42", "--comment", env={**env, "AIGON_RUN": "x"})
    assert inside.code == 4
    whole = program.read_text()
    for said, code in ((NOT_LOGGED_IN, 4), (NO_NETWORK, 1), (LIMITED, 1)):
        refusing = gh(lab, said, code)
        for verb in (("report", "42", "--comment"), ("feature-done", "42", "--pr")):
            ran = lab.aigon(*verb, env=refusing)
            assert ran.code == 7 and said.splitlines()[-1] in ran.err, ran.err
    program.write_text(whole)
    (lab.home / "answer").write_text(f"{ISSUE['url']}#issuecomment-1")
    assert lab.aigon("feature-done", "42", "--pr", env=env).code == 0
    assert (lab.home / "body").read_text().endswith("\n\nCloses #157\n")


def test_a_feature_without_an_issue_has_nowhere_to_post(lab: Lab) -> None:
    lab.spec("done")
    ran = lab.aigon("report", "42", "--comment")
    assert ran.code == 2 and "comes from no issue" in ran.err
