"""What git was told to overlook by bits in the index: assume-unchanged, skip-worktree."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aigon.errors import environment
from aigon.git.person import Checkout
from aigon.git.trusted import is_on


@dataclass(frozen=True, slots=True)
class Hidden:
    """Paths with such bits, by bit."""

    assumed: tuple[bytes, ...]
    skipped: tuple[bytes, ...]


def hidden(listing: bytes, *, sparse: bool) -> Hidden:
    """By the output of `ls-files -v -z`. In a sparse checkout skip-worktree is git's own: a file outside the cone."""
    entries = [(entry[:1], entry[2:]) for entry in listing.split(b"\0") if entry]
    skipped = () if sparse else tuple(path for tag, path in entries if tag in b"Ss")
    return Hidden(tuple(path for tag, path in entries if tag.islower()), skipped)


def is_sparse(checkout: Checkout) -> bool:
    """Whether the checkout leaves files out on purpose."""
    return is_on(checkout.config.get("core.sparsecheckout", "false"))


def refuse_hidden_changes(checkout: Checkout) -> None:
    """Raise AigonError (exit 7) where such a file differs: a checkpoint, the whole work tree, would publish it."""
    found = hidden(checkout.git("ls-files", "-v", "-z").encode(errors="surrogateescape"), sparse=is_sparse(checkout))
    paths = sorted({os.fsdecode(path) for path in (*found.assumed, *found.skipped)})
    if changed := _changed(checkout, paths):
        raise environment(
            "There are changes that git was told to overlook (assume-unchanged or skip-worktree)",
            where=", ".join(changed[:5]),
            hint="git update-index --no-assume-unchanged FILE; git update-index --no-skip-worktree FILE; "
            "then commit the change or put it back",
        )


def _changed(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    """Those whose content is not the staged one. Links are not followed, and taken for unchanged."""
    if not paths:
        return []
    staged = {path: info.split(" ") for info, _, path in _staged(checkout)}
    files = [path for path in paths if staged[path][0].startswith("100")]
    there = [path for path in files if (checkout.root / path).is_file() and not (checkout.root / path).is_symlink()]
    found = {path: name for i in range(0, len(there), 200) for path, name in _hashed(checkout, there[i : i + 200])}
    return [path for path in files if found.get(path) != staged[path][1]]


def _staged(checkout: Checkout) -> Iterator[tuple[str, str, str]]:
    return (entry.partition("\t") for entry in checkout.git("ls-files", "--stage", "-z").split("\0") if entry)


def _hashed(checkout: Checkout, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(paths, checkout.git("hash-object", "--", *paths).split(), strict=True)
