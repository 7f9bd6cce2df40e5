"""Features written through the library: each change is a commit, and a refused one changes nothing."""

import pytest

from aigon.api import AigonError, open_project
from tests.lab import Lab

BODY = "## Acceptance Criteria\n\n- [ ] a <!-- verify: x -->"


def test_a_feature_is_created_edited_put_aside_and_taken_up(home: Lab) -> None:
    project = open_project(home.root)
    home.write("mine.txt", "not committed")
    made = project.create_feature("Dark mode", BODY, {"max_iterations": 4})
    assert (made.feature.slug, made.feature.stage, len(made.criteria)) == ("dark-mode", "inbox", 1)
    assert [each.annotation for each in made.proposals] == ["verify: x"]
    edited = project.update_feature("dark-mode", title="Darker", settings={"max_iterations": 5})
    assert (edited.title, edited.settings.max_iterations, edited.description) == ("Darker", 5, made.description)
    assert project.pause("dark-mode").stage == "paused" and project.reopen("dark-mode").stage == "inbox"
    assert home.subjects()[-4:] == [
        "docs(feature-dark-mode): add the spec to the inbox",
        "docs(feature-dark-mode): edit the spec",
        "docs(feature-dark-mode): pause dark-mode",
        "docs(feature-dark-mode): reopen dark-mode",
    ]
    assert home.git("status", "--porcelain") == "?? mine.txt"
    assert len({project.id, open_project(home.root / ".aigon").id}) == 1


def test_what_was_begun_or_has_uncommitted_changes_is_not_edited(home: Lab) -> None:
    project = open_project(home.root)
    path = project.create_feature("Dark mode", BODY).feature.spec
    home.write(path, home.read(path) + "- [ ] mine\n")
    before = home.fingerprint()
    with pytest.raises(AigonError, match="changes that are not committed"):
        project.update_feature("dark-mode", title="Other")
    assert home.fingerprint() == before
    home.git("checkout", "-q", "--", path)
    home.spec("done")
    home.commit("spec")
    with pytest.raises(AigonError, match="Work on feature 42 has begun"):
        project.update_feature("42", title="Other")


def test_a_hook_that_refuses_leaves_the_spec_as_it_was(home: Lab) -> None:
    project = open_project(home.root)
    project.create_feature("Dark mode", BODY)
    home.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n", executable=True)
    before = home.fingerprint()
    with pytest.raises(AigonError):
        project.update_feature("dark-mode", title="Other")
    with pytest.raises(AigonError):
        project.pause("dark-mode")
    assert home.fingerprint() == before
