"""Odd places, odd names and odd surroundings: supported, or refused by name before any write."""

import os
import shutil
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, Lab
from tests.loop.processes import LOOP, RESUME

pytestmark = pytest.mark.slow


def feature(lab: Lab, agent: str = "touch done.txt") -> Lab:
    """A feature that one turn completes."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(agent)
    lab.commit("ready")
    return lab


@pytest.mark.parametrize("name", ["with a space", "with\na line", "ünï–¢", 'with "quotes" & $HOME'])
def test_a_repository_may_have_any_name(tmp_path: Path, name: str) -> None:
    lab = feature(Lab(tmp_path / name).init())
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.err
    lab.sound()


def test_a_repository_in_a_linked_folder_is_the_same_one_by_both_names(lab: Lab, tmp_path: Path) -> None:
    feature(lab, '[ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    assert lab.aigon("feature-implement", "42", cwd=tmp_path / "link").code == 3
    ran = lab.aigon(*RESUME)
    assert ran.code == 0, ran.err
    lab.sound()


def test_names_that_differ_only_in_case_stay_apart(lab: Lab) -> None:
    feature(lab, "echo a > Name; echo b > name; touch done.txt")
    assert lab.aigon(*LOOP).code == 0
    assert (lab.git("show", "HEAD:Name"), lab.git("show", "HEAD:name")) == ("a", "b")
    lab.sound()


def test_a_hundred_thousand_files_are_committed_and_resumed(lab: Lab) -> None:
    for folder in range(100):
        place = lab.path(f"many/{folder}")
        place.mkdir(parents=True)
        for file in range(1000):
            (place / f"{file}.txt").touch()
    feature(lab, '[ "$AIGON_ITERATION" = 1 ] && rm -r many/7 || touch done.txt')
    assert lab.aigon("feature-implement", "42", timeout=500).code == 3
    ran = lab.aigon(*RESUME, timeout=500)
    assert ran.code == 0, ran.err
    assert len(lab.git("ls-files", "many").splitlines()) == 99_000


def test_without_a_home_it_works_or_says_what_is_missing(lab: Lab) -> None:
    feature(lab)
    env = {name: value for name, value in lab.env.items() if name != "HOME"}
    lab.env = {**env, "HOME": "/nonexistent"}
    ran = lab.aigon(*LOOP)
    assert ran.code == 0 and "Traceback" not in ran.err, ran.err
    lab.sound()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_home_that_is_read_only_with_the_records_in_it_is_refused_by_name(lab: Lab) -> None:
    feature(lab)
    lab.home.chmod(0o500)
    try:
        ran = lab.aigon(*LOOP)
    finally:
        lab.home.chmod(0o700)
    assert ran.code == 7 and str(lab.home) in ran.err and "Traceback" not in ran.err, ran.err
    shutil.rmtree(lab.home / "state", ignore_errors=True)
