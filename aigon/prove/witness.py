"""The throwaway implementation that turns tests green, and the trees in which it is laid over them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from aigon.files.atomic import write_atomic
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.job.bookkeeping import open_own_git
from aigon.profiles.protection import Protection
from aigon.prove.ground import BASE

FILE = "witness.json"


class WitnessFile(Struct, frozen=True, array_like=True):
    """One file that an implementation changed: its mode and content, and what was there before; None for no file."""

    mode: str
    after: bytes | None
    before: bytes | None = None


class Witness(Struct, frozen=True):
    """The changes of an implementation, by path. `stamp` names the tests it was made for; `cost` is in US dollars."""

    files: Mapping[str, WitnessFile]
    stamp: str
    cost: float | None

    def lay_over(self, git: TrustedGit, tree: str, path: str = "", data: bytes = b"") -> str:
        """Return the name of the tree with this implementation, in which the file `path` holds `data`."""
        contents = {name: file.after for name, file in self.files.items()} | ({path: data} if path else {})
        entries = {
            name: None if content is None else (self.files[name].mode, objects.write_blob(git, content))
            for name, content in contents.items()
        }
        return objects.write_tree_with(git, tree, entries)

    def without_tests(self, protection: Protection) -> "Witness":
        """Return the same without what a proof lays the base's version over: tests, and what configures them."""
        product = {
            path: file for path, file in self.files.items() if not protection.relaid(path, new=file.before is None)
        }
        return replace(self, files=product)

    def list_texts(self) -> dict[str, tuple[str, str]]:
        """Return its files as text, as they were and as it left them."""
        return {
            path: ((file.before or b"").decode("utf-8", "replace"), file.after.decode("utf-8", "replace"))
            for path, file in self.files.items()
            if file.after is not None
        }


def read_witness(built: Checkout, without: Sequence[str], stamp: str, cost: float | None) -> Witness:
    """Return what was built in a copy of the project, but for the folders in `without`."""
    git = open_own_git(built)
    before, after = (objects.list_entries(git, str(built.commit_of(name))) for name in (BASE, "HEAD"))
    paths = [
        path
        for path in {**before, **after}
        if before.get(path) != after.get(path) and not path.startswith(tuple(f"{folder}/" for folder in without))
    ]
    files = {path: [entry if entry and entry.is_file else None for entry in (before.get(path), after.get(path))]
             for path in paths}  # fmt: skip
    blobs = objects.read_blobs(git, [entry.sha for both in files.values() for entry in both if entry])
    return Witness(
        {
            path: WitnessFile(new.mode if new else "", blobs[new.sha] if new else None, blobs[old.sha] if old else None)
            for path, (old, new) in files.items()
        },
        stamp,
        cost,
    )


def save_witness(place: Path, witness: Witness) -> None:
    """Keep it for a resume, in aigon's records."""
    write_atomic(place / FILE, dump_with_sum(to_builtins(witness)))


def load_witness(place: Path) -> Witness | None:
    """Return the one that an earlier call made; None if there is none. Raises AigonError (exit 7) if it is damaged."""
    try:
        return convert(load_with_sum((place / FILE).read_bytes()), Witness)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise damage_error("The record of a throwaway implementation", str(place / FILE)) from None
