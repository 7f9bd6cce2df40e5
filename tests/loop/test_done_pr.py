"""`feature-done --pr`: a pull request in place of a merge, by the person's own `gh`, and the only push there is."""

import json
import os
import shutil

import pytest

from tests.lab import BRANCH, DONE_WHEN, Lab, reuse
from tests.loop.test_done import DONE

GH = """#!/bin/sh
echo "$@" >> "$HOME/gh-calls"
case "$1 $2" in
"pr list") cat "$HOME/open" 2>/dev/null || echo "[]" ;;
"pr create") cat > "$HOME/body"; echo https://forge.invalid/pull/7 ;;
esac
"""


def make_proven(lab: Lab) -> None:
    """A feature that is proven, a remote, and nobody's `gh`."""
    lab.config(proof="in-place")
    lab.spec(f"it <works> <!-- verify: {DONE_WHEN} -->")
    lab.commit("spec")
    lab.git("init", "-q", "--bare", str(lab.home / "remote.git"))
    lab.git("remote", "add", "forge", str(lab.home / "remote.git"))
    lab.agent("touch done.txt")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err


@pytest.fixture
def proven() -> Lab:
    """A feature that is proven, a remote, and nobody's `gh`."""
    return reuse(make_proven)


def gh(lab: Lab, text: str) -> dict[str, str]:
    """An environment whose `gh` is this script."""
    folder = lab.home / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "gh").write_text(text)
    (folder / "gh").chmod(0o755)
    return {"PATH": os.pathsep.join([str(folder), lab.env["PATH"]])}


def pushed(lab: Lab) -> str:
    """The branches of the remote."""
    return lab.git("ls-remote", "--heads", "forge")


def test_a_merge_pushes_nothing(proven: Lab) -> None:
    assert proven.aigon("feature-done", "42").code == 0
    assert pushed(proven) == ""


@pytest.mark.slow
def test_a_pull_request_is_opened_with_what_is_proven(proven: Lab) -> None:
    main = proven.git("rev-parse", "main")
    ran = proven.aigon("feature-done", "42", "--pr", "--json", env=gh(proven, GH))
    assert ran.code == 0, ran.err
    assert ran.json["pull_request"] == "https://forge.invalid/pull/7"
    calls = (proven.home / "gh-calls").read_text()
    assert f"pr create --head {BRANCH} --base main --title feat(feature-42): Dark mode --body-file -" in calls
    assert f"{ran.json['commit']}\trefs/heads/{BRANCH}" == pushed(proven)
    assert proven.git("rev-parse", "main") == main
    assert proven.git("cat-file", "-t", f"{BRANCH}:{DONE}") == "blob"
    assert "works" in (proven.home / "body").read_text()
    assert proven.git("branch", "--show-current") == BRANCH
    proven.sound()


@pytest.mark.slow
def test_asked_again_it_pushes_to_the_open_request_and_may_still_merge_here(proven: Lab) -> None:
    env = gh(proven, GH)
    assert proven.aigon("feature-done", "42", "--pr", env=env).code == 0
    (proven.home / "open").write_text(json.dumps([{"url": "https://forge.invalid/pull/7"}]))
    again = proven.aigon("feature-done", "42", "--pr", env=env)
    assert again.code == 0 and "pull/7" in again.out, again.err
    assert (proven.home / "gh-calls").read_text().count("pr create") == 1
    merged = proven.aigon("feature-done", "42")
    assert merged.code == 0, merged.err
    proven.sound()


@pytest.mark.slow
def test_where_gh_is_not_installed_that_is_said_before_anything_is_pushed(proven: Lab) -> None:
    before = proven.fingerprint()
    tools = proven.home / "tools"
    tools.mkdir()
    for program in ("git", "sh"):
        (tools / program).symlink_to(str(shutil.which(program)))
    ran = proven.aigon("feature-done", "42", "--pr", env={"PATH": str(tools)})
    assert ran.code == 7 and "cli.github.com" in ran.err, ran.err
    assert proven.fingerprint() == before and pushed(proven) == ""


def test_the_words_of_a_gh_that_nobody_is_logged_in_to_are_passed_on(proven: Lab) -> None:
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", "--pr", env=gh(proven, "#!/bin/sh\necho try gh auth login >&2; exit 4\n"))
    assert ran.code == 7 and "try gh auth login" in ran.err, ran.err
    assert proven.fingerprint() == before and pushed(proven) == ""


def test_a_push_that_is_refused_leaves_the_branch_as_it_was(proven: Lab) -> None:
    hook = proven.home / "remote.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho closed on Fridays; exit 1\n")
    hook.chmod(0o755)
    before = proven.fingerprint()
    ran = proven.aigon("feature-done", "42", "--pr", env=gh(proven, GH))
    assert ran.code == 7 and "closed on Fridays" in ran.err
    assert proven.fingerprint() == before


def test_a_pull_request_is_not_squashed_here(proven: Lab) -> None:
    assert proven.aigon("feature-done", "42", "--pr", "--squash", env=gh(proven, GH)).code == 2
