"""Objects that are deleted are put back from their second names, and what a person's git packs is let go."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.git.held_objects import HeldObjects
from aigon.git.person import LOCAL_VARIABLES, Checkout
from aigon.git.trusted import TrustedGit
from tests.lab import Lab


@pytest.fixture
def held(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldObjects]:
    """The objects of a repository with loose and packed ones."""
    for name in LOCAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    lab.git("gc", "-q")
    lab.write("new.txt", "new")
    lab.commit("loose")
    with Checkout.open(lab.root) as checkout:
        made = HeldObjects(TrustedGit(checkout, lab.home / "own"), lab.home / "held")
        assert made.hold(()) == ()
        yield made


@pytest.mark.parametrize("harm", ["objects/??", "objects/pack/*", "objects"])
def test_what_is_deleted_is_put_back_and_said(lab: Lab, held: HeldObjects, harm: str) -> None:
    for path in lab.path(".git").glob(harm):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (said,) = held.hold(())
    assert said.endswith("were deleted; they were put back")
    lab.git("fsck", "--full", "--strict")
    assert held.hold(()) == ()


def test_commits_that_no_ref_names_any_more_are_put_back_too(lab: Lab, held: HeldObjects) -> None:
    tip = lab.git("rev-parse", "HEAD")
    lab.git("update-ref", "refs/heads/main", "HEAD~1")
    lab.path(f".git/objects/{tip[:2]}/{tip[2:]}").unlink()
    assert len(held.hold((tip,))) == 1
    assert lab.git("cat-file", "-t", tip) == "commit"


def test_what_a_person_packs_is_let_go_and_new_commits_are_held(lab: Lab, held: HeldObjects) -> None:
    lab.git("gc", "-q", "--prune=now")
    assert held.hold(()) == ()
    assert not [path for path in held.folder.rglob("*") if path.is_file() and path.parent.name != "pack"]
    lab.commit("later")
    assert held.hold(()) == ()
    tip = lab.git("rev-parse", "HEAD")
    assert (held.folder / tip[:2] / tip[2:]).is_file()


def test_on_another_file_system_small_files_are_copied(
    lab: Lab, held: HeldObjects, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", fail)
    other = HeldObjects(held.git, tmp_path / "other")
    other.hold(())
    shutil.rmtree(lab.path(".git/objects"))
    assert len(other.hold(())) == 1
    lab.git("fsck", "--full", "--strict")
