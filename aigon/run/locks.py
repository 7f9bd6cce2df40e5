"""Who may use a checkout: one aigon at a time, whatever it does there."""

import hashlib
from contextlib import AbstractContextManager
from pathlib import Path

from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.ports.store import lock


def checkout_lock(home: Path, root: Path) -> AbstractContextManager[None]:
    """Hold the lock on the checkout at `root`. Raises AigonError (exit 7), naming the holder, when it is taken."""
    place = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return lock(home / "locks" / f"checkout-{place}.lock", "This checkout")


def alone(checkout: Checkout) -> AbstractContextManager[None]:
    """Be the only aigon in a checkout: a loop there would take another verb's commits and files for its agent's."""
    return checkout_lock(repository_home(checkout.common_dir), checkout.root)
