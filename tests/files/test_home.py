"""aigon's own folder for a repository: found again after a move, not shared with a copy."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.home import ensure_home, find_home, find_other_homes, own_git_directory, state_home

ROOT = Path(__file__).parents[2]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of this test's own, by the variable that people use."""
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def repository(folder: Path) -> Path:
    """The git directory of a new repository."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder / ".git"


def test_the_state_folder_is_the_one_of_the_environment_or_the_persons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("AIGON_STATE_HOME", "~/mine")
    assert state_home() == tmp_path / "mine"
    monkeypatch.delenv("AIGON_STATE_HOME")
    assert state_home().is_relative_to(tmp_path)
    assert state_home().name == "aigon"


def test_a_repository_keeps_its_folder(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "shop")
    home = ensure_home(git)
    assert home.parent == state / "repos"
    assert home.name.startswith("shop-")
    assert ensure_home(git) == find_home(git) == home


def test_asking_for_a_known_folder_makes_nothing(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "shop")
    assert find_home(git) is None
    assert not state.exists() and not (git / "aigon").exists()


def test_a_moved_repository_finds_its_folder_again(state: Path, tmp_path: Path) -> None:
    home = ensure_home(repository(tmp_path / "old"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert state.exists()
    assert ensure_home(tmp_path / "new" / ".git") == home
    assert ensure_home(tmp_path / "new" / ".git") == home


def test_a_copy_gets_a_folder_of_its_own_and_the_original_keeps_its(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "one")
    home = ensure_home(git)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    other = ensure_home(tmp_path / "two" / ".git")
    assert other != home and other.parent == home.parent == state / "repos"
    assert ensure_home(git) == home
    assert ensure_home(tmp_path / "two" / ".git") == other


def test_a_repository_whose_folder_was_removed_gets_an_empty_one(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "one")
    home = ensure_home(git)
    shutil.rmtree(home)
    assert find_home(git) is None
    assert ensure_home(git) == home and home.is_relative_to(state)


def test_a_second_state_home_gets_an_entry_and_the_id_stays(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = repository(tmp_path / "one")
    home = ensure_home(git)
    (home / "features" / "7-cc").mkdir(parents=True)
    id_ = (git / "aigon" / "id").read_text()
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "other"))
    assert ensure_home(git) == tmp_path / "other" / "repos" / id_.strip()
    assert find_other_homes(git, "7") == (state,) and find_other_homes(git, "8") == ()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "third"))
    copy = ensure_home(tmp_path / "two" / ".git")
    assert copy.name != id_.strip(), "a copy is known as one in a state home that knows neither"
    assert find_other_homes(tmp_path / "two" / ".git", "7") == ()
    assert ensure_home(git).name == id_.strip() == (git / "aigon" / "id").read_text().strip()
    monkeypatch.setenv("AIGON_STATE_HOME", str(state))
    assert ensure_home(git) == home


def test_one_repository_at_two_paths_is_no_copy(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "one")
    (tmp_path / "mounted").symlink_to(tmp_path / "one")
    home = ensure_home(git)
    assert ensure_home(tmp_path / "mounted" / ".git") == home == ensure_home(git)
    assert home.is_relative_to(state)


def test_two_repositories_of_one_name_do_not_share(state: Path, tmp_path: Path) -> None:
    homes = {ensure_home(repository(tmp_path / where / "same")) for where in ("a", "b")}
    assert len(homes) == 2
    assert all(home.is_relative_to(state) for home in homes)


def test_a_state_folder_that_cannot_be_made_is_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "file" / "state"))
    git = repository(tmp_path / "one")
    with pytest.raises(AigonError) as caught:
        ensure_home(git)
    assert caught.value.code == Exit.ENVIRONMENT
    assert caught.value.where.startswith(str(tmp_path / "file"))
    assert "AIGON_STATE_HOME" in caught.value.hint
    assert not (git / "aigon").exists()


def test_a_linked_worktree_has_a_git_directory_of_its_own(tmp_path: Path) -> None:
    common = tmp_path / "repo" / ".git"
    main = own_git_directory(tmp_path, common, common)
    linked = own_git_directory(tmp_path, common / "worktrees" / "side", common)
    assert (main.name, linked.name) == ("git", "git-side")


def test_many_that_ask_at_once_get_one_folder(state: Path, tmp_path: Path) -> None:
    git = repository(tmp_path / "shop")
    program = "import sys; from pathlib import Path; from aigon.files.home import ensure_home as home; "
    program += "sys.stdin.read(); print(home(Path(sys.argv[1])))"
    line = [sys.executable, "-c", program, str(git)]
    asking = [subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) for _ in range(6)]
    time.sleep(1)
    for process in asking:
        assert process.stdin is not None
        process.stdin.close()
    homes = {process.stdout.read() for process in asking if process.stdout}
    assert [process.wait(20) for process in asking] == [0] * 6
    assert len(homes) == 1
    assert [folder.name for folder in (state / "repos").iterdir()] == [ensure_home(git).name]


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"git_dir": 1}'])
def test_a_damaged_description_is_written_anew(state: Path, tmp_path: Path, damage: str) -> None:
    git = repository(tmp_path / "shop")
    home = ensure_home(git)
    assert home.is_relative_to(state)
    whole = (home / "repository.json").read_text()
    (home / "repository.json").write_text(damage)
    assert find_home(git) == home
    assert (home / "repository.json").read_text() == whole
