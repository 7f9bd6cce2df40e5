"""The place where a run works, a checkout or an agent's worktree, and the locks that keep other aigons out of it."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from math import inf
from pathlib import Path
from typing import Literal

from msgspec import Struct

from aigon.files.home import ensure_home, find_home
from aigon.files.locks import hold_lock, lock_file
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.journal import records
from aigon.model.agents import Candidate
from aigon.spec.features import Feature, is_named, parse_feature_path


class Seat(Struct, frozen=True):
    """`checkout` is the work tree that the agent edits; `main` is where state files and run folders are.

    `candidate` says whose worktree it is; in solo mode it is None, and both places are the same. `linked` are folders
    elsewhere that links in the checkout lead to.
    """

    checkout: Checkout
    main: Path
    candidate: Candidate | None = None
    linked: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of this run among those of the feature; "" in solo mode."""
        return self.candidate.label if self.candidate else ""

    @property
    def mode(self) -> Literal["solo", "worktree", "arena"]:
        return self.candidate.mode if self.candidate else "solo"


@contextmanager
def open_main_checkout(checkout: Checkout) -> Iterator[tuple[Checkout, Candidate | None]]:
    """Yield the main checkout, and the candidate if `checkout` is the worktree of one."""
    here = records.find_candidate_at(find_home(checkout.common_dir), checkout.root)
    if here is None:
        yield checkout, None
        return
    with Checkout.open(find_repository(checkout.root).root) as main:
        yield main, here


def list_known_candidates(main: Checkout, wanted: str) -> tuple[Candidate, ...]:
    """Return the candidates of the feature that a person calls `wanted`: its ID, slug, title, path or branch."""
    given = parse_feature_path(wanted if "/" in wanted else f"/{wanted.removesuffix('.md')}.md")
    names = {wanted, given.name_for_people, given.slug} if given else {wanted}
    return tuple(
        each
        for each in records.list_candidates(find_home(main.common_dir))
        if each.branch == wanted or any(is_named(Feature(each.feature, each.slug, "", ""), name) for name in names)
    )


def find_checkout_lock(home: Path, root: Path) -> Path:
    """Return the lock on the checkout at `root`."""
    place = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return home / "locks" / f"checkout-{place}.lock"


def checkout_lock(home: Path, root: Path) -> AbstractContextManager[None]:
    """Hold the lock on the checkout at `root`. Raises AigonError (exit 7), naming the holder, if it is taken."""
    return hold_lock(find_checkout_lock(home, root), "This checkout")


def hold_checkout(checkout: Checkout) -> AbstractContextManager[None]:
    """Be the only aigon in a checkout: a loop there would take another verb's commits and files for its agent's."""
    return checkout_lock(ensure_home(checkout.common_dir), checkout.root)


@contextmanager
def hold_set_up_lock(home: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on making worktrees in a repository. If another aigon holds it, say so and wait."""
    (home / "locks").mkdir(parents=True, exist_ok=True)
    lock = home / "locks" / "set-up.lock"
    with ExitStack() as held:
        try:
            held.enter_context(lock_file(lock))
        except TimeoutError:
            say("another aigon is making worktrees here: waiting for it")
            held.enter_context(lock_file(lock, inf))
        yield
