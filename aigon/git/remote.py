"""A remote, spoken to from a git directory of aigon's own: no hook or setting that an agent planted runs.

What a person configured for their remote (credentials, proxies, ssh) is read before any agent works.
"""

import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from aigon.errors import AigonError, Exit, environment, usage
from aigon.git.commits import write_commit
from aigon.git.listings import parse_config
from aigon.git.person import LOCAL_VARIABLES, Checkout, take_last_lines
from aigon.git.trusted import TrustedGit, format_config
from aigon.process.start import capture_output
from aigon.text.patterns import compile_re

_SETTINGS = ("credential.", "http.", "https.", "ssh.", "url.", "protocol.", "core.sshcommand", "core.gitproxy")
_URL = compile_re(r"remote\.(.+)\.url", re.S)
_TAKEN = ("stale info", "fetch first", "non-fast-forward", "already exists", "cannot lock ref", "incorrect old value")
"""What git says of a ref that was moved meanwhile."""
_CLOSED = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_WORK_TREE", "GIT_INDEX_FILE")
NOTHING = ""
"""In place of a commit: the ref does not exist, or is to be deleted."""
RefChange = tuple[str, str]
"""What a ref was, and what it is to be."""
Trouble = Literal["moved", "refused", "no atomic", "away", "damaged"]
FETCHES, PAUSE = 3, 1.0
"""Fetches from a remote that answers, and seconds between them, until it counts as damaged."""


class PushError(AigonError):
    """A push that changed nothing, as far as is known.

    moved: a ref was not what it was thought to be. refused: by a hook, or for lack of permission. away: no answer; the
    push may have succeeded all the same. damaged: it answers, and cannot give what its refs name.
    """

    def __init__(self, trouble: Trouble, url: str, said: str) -> None:
        what = {
            "moved": "The remote has moved on: another clone pushed there",
            "refused": "The remote refused the push",
            "no atomic": "The remote cannot push several refs as one (--atomic)",
            "away": "The remote cannot be reached",
            "damaged": "The remote does not give what its refs name",
        }[trouble]
        super().__init__(what, where=url, hint=take_last_lines(said), code=Exit.ENVIRONMENT)
        self.trouble = trouble


def _choose_remote(checkout: Checkout, names: Collection[str]) -> str:
    """Return `origin`, or the only remote. Raises AigonError (exit 2) if neither exists."""
    if "origin" in names:
        return "origin"
    if len(names) == 1:
        return next(iter(names))
    what = f"None of {len(names)} remotes is called origin" if names else "This repository has no remote"
    raise usage(
        what,
        where=str(checkout.root),
        hint="git remote add origin URL (of a bare repository that all machines can reach)",
    )


class Remote:
    """The remote of a checkout. `directory` is a private git directory; objects are those of the checkout.

    One that does not answer for `patience` seconds counts as away.
    """

    def __init__(self, checkout: Checkout, directory: Path) -> None:
        """Read what the person configured. Raises AigonError: exit 2 without a remote, 7 for the repository."""
        known = parse_config(checkout.git("config", "--local", "--list", "-z"))
        name = _choose_remote(checkout, {match[1] for key, _ in known if (match := _URL.fullmatch(key))})
        self.url, self.root = checkout.git("remote", "get-url", name), checkout.root
        self.patience: float | None = None
        self.git = TrustedGit(checkout, directory)
        wanted = {key: value for key, value in known if key.lower().startswith(_SETTINGS)}
        theirs = f"remote.{name}."
        wanted |= {f"remote.origin.{key.removeprefix(theirs)}": value for key, value in known if key in (
            f"{theirs}url", f"{theirs}pushurl", f"{theirs}proxy")}  # fmt: skip
        with (directory / "config").open("a") as file:
            file.write(format_config({**wanted, "gc.auto": "0", "maintenance.auto": "false"}))
        own = {key: value for key, value in self.git.env.items() if key not in _CLOSED}
        given = {
            key: value for key, value in os.environ.items() if key.startswith("GIT_") and key not in LOCAL_VARIABLES
        }
        self._env = {**given, **own, "GIT_TERMINAL_PROMPT": "0"}
        if head := checkout.head:  # what is here need not be fetched again
            (directory / "refs" / "here").write_text(f"{head}\n")

    def _ask(self, *arguments: str) -> tuple[int, str, str]:
        argv = (self.git.program, *arguments)
        code, out, err = capture_output(argv, cwd=self.root, env=self._env, seconds=self.patience)
        return code, out.decode(errors="replace"), err.decode(errors="replace").strip()

    @cached_property
    def _empty_tree(self) -> str:
        return self.git.run("mktree", stdin=b"").decode().strip()

    def commit_words(self, message: str, parent: str = "") -> str:
        """Write a commit that says something and holds no file, and return it. Raises AigonError (exit 7)."""
        return write_commit(self.git, self._empty_tree, parent, message)

    def list_refs(self, *patterns: str) -> dict[str, str]:
        """Return the refs that match, and what each is. Raises PushError (exit 7) if the remote does not answer."""
        code, out, err = self._ask("ls-remote", "-q", "origin", *patterns)
        if code:
            raise PushError("away", self.url, err)
        return {ref: sha for sha, _, ref in (line.partition("\t") for line in out.splitlines())}

    def fetch(self, refs: Sequence[str]) -> None:
        """Bring the objects that these refs name. Raises PushError (exit 7) if the remote is away or damaged."""
        specs = [f"+{ref}:refs/there/{ref.removeprefix('refs/')}" for ref in refs]
        options = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "-q")
        for _ in range(FETCHES if specs else 0):
            code, _, err = self._ask("fetch", *options, "origin", *specs)
            if not code:
                return
            self.list_refs(*refs)  # one that is away is waited for; one that answers this has lost something
            time.sleep(PAUSE)
        if specs:
            raise PushError("damaged", self.url, err)

    def push(self, changes: Mapping[str, RefChange]) -> None:
        """Change all of these refs or none, each only if it is what it was. Raises PushError (exit 7)."""
        leases = [f"--force-with-lease={ref}:{old}" for ref, (old, _) in changes.items()]
        specs = [f"{new}:{ref}" for ref, (_, new) in changes.items()]
        options = ("--atomic", "--porcelain", "--no-verify", "--no-signed", *leases)
        code, out, err = self._ask("push", *options, "origin", *specs)
        if code:
            raise PushError(_classify(out, err), self.url, "\n".join(filter(None, (_list_refusals(out), err))))


def _classify(out: str, err: str) -> Trouble:
    if "does not support --atomic" in err:
        return "no atomic"
    if not (said := _list_refusals(out)):
        return "away"
    return "moved" if any(words in said for words in _TAKEN) else "refused"


def _list_refusals(out: str) -> str:
    """Return the reasons in the output of `git push --porcelain`, without those of refs that only went along."""
    lines = [line.partition("\t")[2] for line in out.splitlines() if line.startswith("!")]
    own = [line for line in lines if "atomic" not in line]
    return "\n".join(own or lines)


def probe_remote(remote: Remote, prefix: str, nonce: str, commits: tuple[str, str, str]) -> None:
    """Try on the remote what leases rest on: create, swap, refuse a stale swap, two refs as one, delete.

    Raises AigonError (exit 7) that names what is missing.
    """
    one, two = (f"{prefix}probe/{nonce}{end}" for end in ("", "-b"))
    first, second, third = commits
    steps: list[tuple[str, dict[str, RefChange], bool]] = [
        ("create a ref", {one: (NOTHING, first)}, True),
        ("swap a ref", {one: (first, second)}, True),
        ("refuse a stale swap", {one: (first, third)}, False),
        ("refuse two refs of which one is stale", {one: (second, third), two: (first, second)}, False),
        ("change two refs as one", {one: (second, first), two: (NOTHING, second)}, True),
        ("delete refs", {one: (first, NOTHING), two: (second, NOTHING)}, True),
    ]
    for what, changes, is_possible in steps:
        try:
            remote.push(changes)
            works = True
        except PushError as error:
            if error.trouble in ("away", "no atomic") or is_possible:
                raise _explain_probe(error, what, prefix) from None
            works = False
        if works != is_possible:
            raise environment(f"The remote does not {what}", where=remote.url, hint="Use a remote on a git server")


def _explain_probe(error: PushError, what: str, prefix: str) -> AigonError:
    if error.trouble == "away":
        return error
    if error.trouble == "no atomic":
        hint = (
            "Azure DevOps and CodeCommit are such remotes: use another, such as a bare repository on a machine with ssh"
        )
        return environment(error.what, where=error.where, hint=hint)
    hint = f'{error.hint}\nName another place: "fleet": {{"refPrefix": "refs/heads/aigon/"}} in .aigon/config.json'
    return environment(f"The remote does not {what} under {prefix}", where=error.where, hint=hint)
