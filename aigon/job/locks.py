"""Who may use a checkout: one aigon at a time, whatever it does there."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from aigon.files.home import repository_home
from aigon.files.store import lock
from aigon.git.person import Checkout


def checkout_lock(home: Path, root: Path) -> AbstractContextManager[None]:
    """Hold the lock on the checkout at `root`. Raises AigonError (exit 7), naming the holder, when it is taken."""
    place = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return lock(home / "locks" / f"checkout-{place}.lock", "This checkout")


@contextmanager
def one_set_up(home: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock on making worktrees in a repository; another aigon that makes some is waited for, which is said."""
    from filelock import FileLock, Timeout

    (home / "locks").mkdir(parents=True, exist_ok=True)
    held = FileLock(home / "locks" / "set-up.lock", timeout=0)
    try:
        held.acquire()
    except Timeout:
        say("another aigon is making worktrees here: waiting for it")
        held.acquire(timeout=-1)
    try:
        yield
    finally:
        held.release()


def alone(checkout: Checkout) -> AbstractContextManager[None]:
    """Be the only aigon in a checkout: a loop there would take another verb's commits and files for its agent's."""
    return checkout_lock(repository_home(checkout.common_dir), checkout.root)
