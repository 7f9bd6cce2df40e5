"""Files of one candidate taken into the work of another: a commit of its own, which counts once all of it is proven."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aigon.done.choice import Chosen, named_by
from aigon.done.merge import Landing, Prove
from aigon.done.place import detached, park, standing_on
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import is_runtime
from aigon.git.path_commits import clear_index
from aigon.git.person import Checkout
from aigon.git.secret_files import find_leaks, make_content_check, make_tracked_check
from aigon.git.trusted import TrustedGit
from aigon.job import bookkeeping
from aigon.job.options import Options
from aigon.loop.commit_message import render_adoption_message as adopted_message
from aigon.model.candidates import Candidate
from aigon.run.prepare import prepare
from aigon.secrets.leaks import HOW_TO_ALLOW
from aigon.spec.features import ROOT
from aigon.text.quoting import fold


@dataclass(frozen=True, slots=True)
class Wish:
    """A path, and the candidate whose version of it is wanted; `tip` is the last commit of that one."""

    whose: Candidate
    tip: str
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree, by git's mode and object name."""

    mode: str
    sha: str
    path: str


def wishes(main: Checkout, chosen: Chosen, others: Sequence[Candidate], texts: Sequence[str]) -> tuple[Wish, ...]:
    """What `AGENT:PATH` mean. Raises AigonError (exit 2) for nobody, for nothing, and for aigon's own files."""
    if texts and not others:
        raise usage(f"There is nobody to adopt from: {chosen.branch} is the only work on this feature", where="--adopt")
    return tuple(_wish(main, others, text) for text in texts)


def _wish(main: Checkout, others: Sequence[Candidate], text: str) -> Wish:
    whose, path = _split(main, others, text)
    tip = main.commit_of(f"refs/heads/{whose.branch}")
    if tip is None:
        raise usage(f"The branch {whose.branch} is gone", where=f"--adopt {fold(text)}")
    clean = posixpath.normpath(path) if path else ""
    if not path or clean.startswith(("../", "/")) or clean in (".", ".."):
        raise usage(
            f"'{fold(text)}' names no file of the repository", where="--adopt", hint="--adopt cx:tests/test_x.py"
        )
    return Wish(whose, tip, clean)


def _split(main: Checkout, others: Sequence[Candidate], text: str) -> tuple[Candidate, str]:
    """An agent's name may have a colon of its own: `claude:opus:src/x.py`."""
    for each in others:
        for name in (each.label, each.agent):
            if text.startswith(f"{name}:"):
                return each, text[len(name) + 1 :]
    who, colon, path = text.partition(":")
    if not colon:
        raise usage(f"'{fold(text)}' does not say whose file it is", where="--adopt", hint="--adopt AGENT:PATH")
    return named_by(main, others, who), path


def adopt(landing: Landing, asked: Sequence[Wish], prove: Prove) -> Landing:
    """The same with these files in a commit upon its tip, all of it proven; the branch does not move yet.

    Raises AigonError: 2 for what is not there or may not be taken, 3 where it is not proven: it is parked then.
    """
    entries = [(wish, _entries(landing.main, wish)) for wish in asked]
    commit = _commit(landing, entries)
    if commit == landing.tip:
        return landing
    grown = replace(landing, tip=commit)
    paths = [entry.path for _, some in entries for entry in some]
    with standing_on(landing.main, landing.chosen.branch) as place, detached(place, landing.chosen.branch, commit):
        _refuse_secrets(place, grown, paths)
        try:
            prove(place, grown)
        except AigonError as error:
            if error.code == Exit.STOPPED:
                raise _dropped(landing, asked, commit, error) from None
            raise
    return grown


def _entries(main: Checkout, wish: Wish) -> tuple[Entry, ...]:
    """The files at a path. Raises AigonError (exit 2) where there are none, or aigon's own are among them."""
    out = main.git("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", wish.tip, "--", wish.path)
    rows = (row.partition("\t") for row in out.split("\0") if row)
    split = ((head.split(), path) for head, _, path in rows)
    found = tuple(Entry(head[0], head[2], path) for head, path in split)
    where = f"--adopt {wish.whose.label}:{fold(wish.path)}"
    if not found:
        hint = f"git ls-tree -r --name-only {wish.whose.branch} lists what there is"
        raise usage(f"{wish.whose.label} has no {fold(wish.path)}", where=where, hint=hint)
    if own := [entry.path for entry in found if _is_own(entry.path)]:
        raise usage(f"{fold(own[0])} is aigon's own, and is not adopted", where=where, hint="Name other files")
    return found


def _is_own(path: str) -> bool:
    return path.startswith((f"{ROOT}/", ".aigon/")) or is_runtime(path)


def _commit(landing: Landing, entries: Sequence[tuple[Wish, tuple[Entry, ...]]]) -> str:
    """A commit of the tip's files with these in place; the tip itself where nothing differs."""
    git = bookkeeping.open_own_git(landing.main)
    index = clear_index(git.directory / "index.adopting")
    git.run("read-tree", landing.tip, index=index)
    lines = "".join(f"{e.mode} {e.sha}\t{e.path}\0" for _, some in entries for e in some)
    git.run(
        "update-index", "--replace", "-z", "--index-info", stdin=lines.encode("utf-8", "surrogateescape"), index=index
    )
    tree = git.run("write-tree", index=index).decode().strip()
    return landing.tip if tree == landing.tree(landing.tip) else _written(git, landing, tree, [w for w, _ in entries])


def _written(git: TrustedGit, landing: Landing, tree: str, asked: Sequence[Wish]) -> str:
    said = adopted_message(landing.chosen.name, [(wish.whose.label, wish.tip, wish.path) for wish in asked])
    return git.run("commit-tree", tree, "-p", landing.tip, "-F", "-", stdin=said.encode()).decode().strip()


def _refuse_secrets(place: Checkout, landing: Landing, paths: Sequence[str]) -> None:
    """Raise AigonError (exit 2) for what no checkpoint would hold."""
    options = Options(landing.chosen.name)
    prepared = prepare(place, options, with_agent=False, feature=landing.feature, main=landing.main.root)
    git, base = bookkeeping.open_own_git(place), landing.onto
    found = find_leaks(
        place.root,
        paths,
        make_tracked_check(git, base),
        make_content_check(git, base),
        prepared.protection.may_hold_secrets,
    )
    if found:
        hint = f"Take it out on that branch; where it is none, {HOW_TO_ALLOW}"
        raise usage(found[0].sentence, where=f"--adopt {fold(found[0].path)}", hint=hint)


def _dropped(landing: Landing, asked: Sequence[Wish], commit: str, error: AigonError) -> AigonError:
    """Nothing of it stays but what is parked."""
    ref = park(landing.main, landing.chosen.branch, commit)
    names = ", ".join(f"{wish.whose.label}:{fold(wish.path, 80)}" for wish in asked)
    what = f"With {names} adopted, {landing.chosen.branch} is not proven, so it was dropped and nothing was merged"
    hint = f"It is kept as {ref}. Without it: {landing.chosen.again}"
    return AigonError(what, where=error.where, hint=hint, code=Exit.STOPPED)
