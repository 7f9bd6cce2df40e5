"""Parked work: commits under `refs/aigon/parked/`, kept until a person removes them."""

from aigon.errors import usage
from aigon.git.person import Checkout

PREFIX = "refs/aigon/parked/"


def listed(checkout: Checkout) -> list[dict[str, str]]:
    """Ref, commit, time and subject of everything parked, oldest first."""
    fields = "%(refname)%00%(objectname)%00%(creatordate:iso-strict)%00%(subject)"
    out = checkout.git("for-each-ref", "--sort=creatordate", f"--format={fields}", PREFIX)
    rows = (line.split("\0") for line in out.splitlines() if line)
    return [{"ref": ref, "commit": commit, "when": when, "subject": subject} for ref, commit, when, subject in rows]


def restore(checkout: Checkout, wanted: str) -> str:
    """A branch at a parked commit; nothing that is checked out changes. Raises AigonError (exit 2) when unknown."""
    ref = wanted if wanted.startswith(PREFIX) else PREFIX + wanted
    commit = checkout.commit_of(ref) if wanted else None
    if commit is None:
        raise usage(f"Nothing is parked as '{wanted}'", where=PREFIX, hint="aigon parked lists what there is")
    name = "parked-" + ref.removeprefix(PREFIX).replace("/", "-")
    if checkout.commit_of(f"refs/heads/{name}") is None:
        checkout.git("branch", name, commit)
    return name
