"""The worktree of a candidate: where it is, that it is used again, and that it is found again."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.errors import AigonError, Exit
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.worktrees.places import plan_worktree_path
from aigon.worktrees.worktree import build_environment, choose_free_slot
from tests.lab import Lab
from tests.worktrees.worktree_case import CLAUDE, Case, config, other, scrubbed_here

BRANCH = CLAUDE.branch


@pytest.fixture
def case(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A repository without worktrees."""
    scrubbed_here(lab, monkeypatch)
    return Case(lab, lab.root)


def placed(case: Case, **section: object) -> tuple[Path, str]:
    """Where a new worktree would be."""
    with case.main() as main:
        return plan_worktree_path(main.root, main.common_dir, config(**section).worktree, BRANCH)


def another(case: Case, folder: str) -> Case:
    """A second repository of the same name, in another folder."""
    lab = Lab(case.root.parent / folder).init()
    return Case(lab, lab.root)


def test_a_worktree_is_beside_the_main_checkout_and_named_after_its_branch(case: Case) -> None:
    made = case.provide()
    assert made.path == str(case.root.parent / "repo-worktrees" / BRANCH)
    with Checkout.open(Path(made.path)) as checkout:
        assert (checkout.branch, checkout.list_changed()) == (BRANCH, [])
    assert case.lab.git("status", "--porcelain", "--untracked-files=all") == ""
    assert case.said == []
    assert made.ready


def test_the_base_is_where_a_new_branch_begins(case: Case) -> None:
    base = case.lab.git("rev-parse", "HEAD")
    case.lab.commit("later")
    case.provide(base=base)
    assert case.lab.git("rev-parse", BRANCH) == base


def test_a_worktree_is_used_again_as_it_is(case: Case) -> None:
    for number in range(300):
        case.lab.write(f"many/{number}", "x\n")
    case.lab.commit("many")
    made = case.provide()
    root = Path(made.path)
    before = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in root.rglob("*") if file.is_file()}
    (root / "new.txt").write_text("work")
    assert case.provide(made) == made
    assert {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in before} == before
    assert len(before) > 300
    assert (root / "new.txt").read_text() == "work"
    assert case.said == []


def test_one_that_was_made_and_never_written_down_is_found_by_its_branch(case: Case) -> None:
    made = case.provide()
    assert case.provide(replace(made, path="", ready="")) == made
    assert case.said == []


def test_two_candidates_have_a_worktree_each(case: Case) -> None:
    one, two = case.provide(), case.provide(other(CLAUDE, "cx", 2))
    assert Path(one.path).parent == Path(two.path).parent
    assert one.path != two.path


def test_a_configured_folder_is_relative_to_the_main_checkout(case: Case) -> None:
    assert placed(case, root="../elsewhere/trees")[0] == case.root.parent / "elsewhere/trees" / BRANCH
    assert placed(case, root="~/trees")[0] == case.lab.home / "trees" / BRANCH


def test_a_folder_of_worktrees_may_be_a_link_to_another_disk(case: Case) -> None:
    disk = case.root.parent / "disk"
    disk.mkdir()
    (case.root.parent / "repo-worktrees").symlink_to(disk)
    made = case.provide()
    assert made.path == str(disk / BRANCH)
    assert case.provide(made) == made
    assert case.said == []


def test_repositories_of_one_name_do_not_share_a_configured_folder(case: Case) -> None:
    shared = config(root=str(case.root.parent / "trees"))
    second = another(case, "second")
    one, two = case.provide(settings=shared), second.provide(settings=shared)
    assert one.path == str(case.root.parent / "trees" / BRANCH)
    assert Path(two.path).parent.name.startswith("repo-") and Path(two.path).is_relative_to(case.root.parent / "trees")
    assert case.provide(one, shared) == one and second.provide(two, shared) == two
    with Checkout.open(Path(two.path)) as checkout:
        assert checkout.common_dir == second.root / ".git"


def test_a_default_folder_that_is_another_repositorys_is_left_to_it(case: Case) -> None:
    first = case.provide()
    case.root.rename(case.root.with_name("went away"))
    new = Case(Lab(case.root.parent.parent / "third").init(), case.root)
    new.lab.root.rename(case.root)
    made = new.provide()
    folder = Path(made.path).parent.name
    assert folder != "repo-worktrees" and folder.startswith("repo-") and folder.endswith("-worktrees")
    assert (Path(first.path) / "README.md").exists()


@pytest.mark.parametrize("with_worktree", [True, False])
def test_a_folder_without_a_mark_is_used_where_the_worktrees_in_it_are_ours(case: Case, with_worktree: bool) -> None:
    root = case.root.parent / "repo-worktrees"
    if with_worktree:
        case.lab.git("worktree", "add", "-q", "-b", "mine", str(root / "mine"))
    else:
        root.mkdir()
        (root / "notes.txt").write_text("a person's")
    assert (placed(case)[0].parent == root) is with_worktree


def test_where_the_parent_cannot_be_written_it_is_the_data_folder_and_that_is_said(case: Case) -> None:
    (case.root.parent / "file").write_text("not a folder")
    settings = config(root="../file/trees")
    made = case.provide(settings=settings)
    data = case.lab.home / ".local/share/aigon/worktrees"
    assert Path(made.path).is_relative_to(data)
    assert Path(made.path).parent.parent == data
    assert case.said == [f"{case.root.parent / 'file'} cannot be written: worktrees are in {Path(made.path).parent}"]
    assert case.provide(made, settings) == made
    assert len(case.said) == 1


def test_a_folder_that_may_not_be_written_is_known_before_anything_is_made(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != case.root.parent)
    found, remark = placed(case)
    assert found.is_relative_to(case.lab.home) and str(case.root.parent) in remark


def test_inside_of_the_repository_a_folder_has_to_be_ignored(case: Case) -> None:
    refused = case.refused(settings=config(root=".trees"), code=Exit.USAGE)
    assert ".trees" in refused.where and ".gitignore" in refused.hint
    assert not case.lab.path(".trees").exists()
    case.lab.write(".gitignore", "/.trees/\n")
    case.lab.commit("ignore")
    made = case.provide(settings=config(root=".trees"))
    assert made.path == str(case.root / ".trees" / BRANCH)
    assert case.lab.git("status", "--porcelain") == ""


@pytest.mark.parametrize("along", [True, False])
def test_a_moved_repository_finds_its_worktrees(case: Case, along: bool) -> None:
    made = case.provide()
    (Path(made.path) / "new.txt").write_text("work")
    new = case.root.parent / "elsewhere"
    new.mkdir()
    if along:
        Path(made.path).parent.rename(new / "repo-worktrees")
    moved = case.moved_to(new / "repo")
    again = moved.provide(made)
    assert Path(again.path) == ((new / "repo-worktrees" / BRANCH) if along else Path(made.path))
    assert (Path(again.path) / "new.txt").read_text() == "work"
    with Checkout.open(Path(again.path)) as checkout:
        assert checkout.common_dir == new / "repo/.git"
        assert checkout.list_changed() == ["new.txt"]
    assert again.ready == made.ready
    assert len(moved.said) == along


def test_a_worktree_that_git_moved_is_where_git_says(case: Case) -> None:
    made = case.provide()
    case.lab.git("worktree", "move", made.path, str(case.root.parent / "away"))
    assert case.provide(made).path == str(case.root.parent / "away")
    assert "was moved" in case.said[0]


def test_a_worktree_that_somebody_deleted_is_made_anew_on_its_branch(case: Case) -> None:
    case.lab.write(".gitignore", ".env.test\n")
    case.lab.commit("ignore")
    case.lab.write(".env.test", "A=1\n")
    settings = config(copy=[".env.test"])
    made = case.provide(settings=settings)
    root = Path(made.path)
    (root / "new.txt").write_text("committed")
    with Checkout.open(root) as checkout:
        checkout.git("add", "-A")
        checkout.git("commit", "-q", "-m", "work")
    shutil.rmtree(root)
    assert case.provide(made, settings) == made
    assert case.said[-1].endswith("it is created again from its branch")
    assert (root / "new.txt").read_text() == "committed"
    assert (root / ".env.test").read_text() == "A=1\n"


def test_a_worktree_without_its_git_file_is_not_taken_for_the_repository(case: Case) -> None:
    case.lab.write(".gitignore", "/.trees/\n")
    case.lab.commit("ignore")
    settings = config(root=".trees")
    made = case.provide(settings=settings)
    (Path(made.path) / ".git").unlink()
    assert case.provide(made, settings) == made
    with Checkout.open(Path(made.path)) as checkout:
        assert checkout.root == Path(made.path)
    (Path(made.path) / ".git").unlink()
    shutil.rmtree(case.root / ".git/worktrees")
    refused = case.refused(made, settings)
    assert refused.where == made.path
    assert Path(made.path, "README.md").exists()


def test_a_worktree_that_stands_on_another_branch_is_put_on_its_own(case: Case) -> None:
    made = case.provide()
    with Checkout.open(Path(made.path)) as checkout:
        checkout.switch("other", create=True)
        case.provide(made)
        assert checkout.branch == BRANCH


def test_a_worktree_with_a_detached_head_is_refused(case: Case) -> None:
    made = case.provide()
    with Checkout.open(Path(made.path)) as checkout:
        checkout.git("switch", "-q", "--detach")
    refused = case.refused(made)
    assert refused.where == made.path and "detached" in refused.what


def test_a_branch_that_is_checked_out_in_the_main_checkout_is_refused(case: Case) -> None:
    case.lab.git("switch", "-q", "-c", BRANCH)
    assert case.refused().where == str(case.root)


def test_a_persons_folder_is_not_taken_for_a_worktree(case: Case) -> None:
    folder = case.root.parent / "repo-worktrees" / BRANCH
    case.provide(other(CLAUDE, "cx", 2))
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    assert case.refused().where == str(folder)
    assert (folder / "mine.txt").read_text() == "mine"


def test_what_a_killed_git_had_begun_is_finished(case: Case) -> None:
    folder = case.root.parent / "repo-worktrees" / BRANCH
    case.lab.git("worktree", "add", "-q", "--no-checkout", "-b", BRANCH, str(folder))
    made = case.provide()
    assert made.path == str(folder)
    assert (folder / "README.md").exists()


def test_a_folder_whose_making_was_broken_off_is_still_the_repositorys(case: Case) -> None:
    folder = case.root.parent / "repo-worktrees"
    folder.mkdir()
    (folder / ".aigon-worktrees.4711.tmp").write_text("")
    assert case.provide().path == str(folder / BRANCH)


def test_a_sparse_worktree_has_the_spec_and_aigons_own_files_too(case: Case) -> None:
    for name in ("a/x", "b/y", ".aigon/config.json", "docs/specs/features/03-in-progress/feature-42-dark-mode.md"):
        case.lab.write(name, f"{name}\n")
    case.lab.commit("files")
    root = Path(case.provide(settings=config(sparse=["a"])).path)
    there = {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file() and file.name != ".git"}
    assert there == {
        "README.md",
        "a/x",
        ".aigon/config.json",
        "docs/specs/features/03-in-progress/feature-42-dark-mode.md",
    }


def test_nothing_is_touched_in_a_worktree_in_which_a_loop_works(case: Case) -> None:
    made = case.provide()
    with hold_lock(loop_lock(ensure_home(case.root / ".git"), made.feature, made.label), "It"):
        assert case.provide(made, config(setup="touch touched.txt")) == made
    assert not (Path(made.path) / "touched.txt").exists()


def test_a_slot_is_the_lowest_number_that_nobody_has() -> None:
    def of(*slots: int) -> tuple[Candidate, ...]:
        return tuple(replace(CLAUDE, slot=slot) for slot in slots)

    assert [choose_free_slot(of(*slots)) for slots in ((), (1,), (2, 3), (1, 3), (3, 1, 2))] == [1, 2, 1, 2, 4]


def test_every_candidate_has_ports_and_a_project_name_of_its_own(case: Case) -> None:
    one, two = case.provide(), case.provide(other(CLAUDE, "cx", 2))
    second = another(case, "second").provide()
    settings = config(portBase=30000, ports=10)
    said = [build_environment(each, settings) for each in (one, two, second)]
    assert [(each["AIGON_SLOT"], each["AIGON_PORT_BASE"]) for each in said[:2]] == [("1", "30010"), ("2", "30020")]
    assert said[0]["COMPOSE_PROJECT_NAME"].startswith("repo-42-cc-")
    assert len({each["COMPOSE_PROJECT_NAME"] for each in said}) == 3
    assert build_environment(one, settings) == said[0]


def test_a_project_name_is_one_that_compose_takes(case: Case) -> None:
    new = case.moved_to(case.root.parent / ("__Ünser Shop " + "x" * 80))
    label = "c" * 40
    name = build_environment(new.provide(other(CLAUDE, label, 1)), config())["COMPOSE_PROJECT_NAME"]
    assert len(name) <= 63 and f"-42-{label}-" in name
    assert name[0].isalnum() and name == name.lower() and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


def test_where_no_ports_are_left_that_is_an_error(case: Case) -> None:
    with pytest.raises(AigonError) as caught:
        build_environment(replace(CLAUDE, slot=40, path=str(case.root)), config(portBase=60000, ports=1000))
    assert caught.value.code == Exit.USAGE


def test_a_worktree_of_a_person_elsewhere_is_still_theirs(case: Case) -> None:
    case.lab.git("worktree", "add", "-q", "-b", "mine", str(case.root.parent / "mine"))
    case.provide()
    with case.main() as main:
        assert len(worktrees.list_worktrees(main)) == 3
