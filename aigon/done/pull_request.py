"""A pull request in place of a merge: the only time that aigon pushes, and only because a person asked."""

import json

from aigon.done.merge import Landing, no_verify
from aigon.done.message import title_of
from aigon.done.place import move
from aigon.errors import AigonError, usage
from aigon.git import forge
from aigon.git.person import Checkout
from aigon.text.quoting import fold

TITLE = 120
"""Characters of a title that forges show whole."""


def open_request(landing: Landing, old: str, *, verify: bool) -> str:
    """Push the branch and open a pull request for it; the address. One that is open already is only pushed to.

    Raises AigonError (exit 7) with git's or gh's own words; before anything is pushed the branch is as it was.
    """
    main, branch = landing.main, landing.chosen.branch
    forge.require_gh()
    remote = _remote(main, landing.target)
    listed = forge.run_gh(main.root, "pr", "list", "--head", branch, "--state", "open", "--json", "url")
    body = body_of(landing)
    _pushed(landing, old, remote, verify)
    if there := _address(listed):
        return there
    title = fold(f"feat(feature-{landing.chosen.name}): {title_of(landing)}", TITLE)
    said = forge.run_gh(
        main.root,
        *("pr", "create", "--head", branch, "--base", landing.target, "--title", title, "--body-file", "-"),
        stdin=body,
    )
    return said.splitlines()[-1] if said else ""


def _address(listed: str) -> str:
    try:
        found = json.loads(listed or "[]")
        return str(found[0]["url"]) if found else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _pushed(landing: Landing, old: str, remote: str, verify: bool) -> None:
    """The branch with its spec in the last stage, here and on the remote; neither where that fails."""
    branch = landing.chosen.branch
    move(landing.main, branch, landing.tip, old)
    try:
        landing.main.git_with_hooks(
            "push", "-q", *no_verify(verify), remote, f"refs/heads/{branch}:refs/heads/{branch}"
        )
    except AigonError:
        move(landing.main, branch, old, landing.tip)
        raise


def _remote(main: Checkout, target: str) -> str:
    """Where the target lives. Raises AigonError (exit 2) where nothing says so."""
    remotes = main.git("remote").splitlines()
    named = main.config.get(f"branch.{target.lower()}.remote", "origin")
    if named in remotes:
        return named
    if len(remotes) == 1:
        return remotes[0]
    raise usage("It is not known where to push to", where="--pr", hint=f"git branch -u REMOTE/{target} {target}")


def body_of(landing: Landing) -> str:
    """What a reader of the pull request sees: the report; where no run made one, what the commit is."""
    from aigon.views.report.gather import markdown

    try:
        return markdown(landing.main, landing.chosen.name)
    except AigonError as error:
        return f"There is no report on this feature: {fold(error.what)}.\n"
