"""`aigon worktrees` and `aigon cleanup`: nothing is lost by removing a worktree, and it can be made again."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.config.models import Config
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.job.job import checkout_lock
from aigon.journal import records
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.worktrees import ignored
from aigon.worktrees.cleanup import remove_safely
from tests.lab import BRANCH, Lab, Ran, finish, until
from tests.worktrees.worktree_case import CLAUDE, Case, config, other, scrubbed_here

CODEX = other(CLAUDE, "cx", 2)


class Cleaning(Case):
    """Candidates that are written down as a run does it."""

    def made(self, candidate: Candidate = CLAUDE, settings: Config | None = None) -> Candidate:
        """A candidate with its worktree, in the record."""
        ready = self.provide(candidate, settings)
        records.candidate_records(self.home, ready).set_candidate(ready)
        return ready

    @property
    def home(self) -> Path:
        """aigon's folder for the repository."""
        return ensure_home(self.root / ".git")

    def removed(self, candidate: Candidate, *, park: bool = False) -> str:
        """What `remove_safely` says."""
        with self.main() as main:
            return remove_safely(main, candidate, park=park)

    def parked(self) -> list[str]:
        """What is parked, less the common beginning."""
        out = self.lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked/")
        return [ref.removeprefix("refs/aigon/parked/") for ref in out.splitlines()]

    def kept_file(self, ref: str, path: str) -> str:
        """A file of something parked."""
        return self.lab.git("show", f"refs/aigon/parked/{ref}:{path}")


@pytest.fixture
def case(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Cleaning:
    """A repository that ignores a few things, and whose main checkout people stand in."""
    scrubbed_here(lab, monkeypatch)
    lab.write(".gitignore", "*.local\n.env*\nnode_modules/\n/data/\n__pycache__/\n")
    lab.commit("ignore")
    monkeypatch.chdir(lab.root)
    return Cleaning(lab, lab.root)


def states(ran: Ran) -> dict[str, tuple[str, bool]]:
    """The states of all worktrees, by label."""
    return {row["label"]: (row["state"], row["running"]) for row in ran.json["worktrees"]}


def reason(ran: Ran) -> str:
    """Why the one worktree was kept."""
    assert ran.code == 7, ran
    (kept,) = ran.json["kept"]
    return str(kept["reason"])


@pytest.mark.slow
def test_the_list_says_how_every_worktree_is(case: Cleaning) -> None:
    assert case.lab.aigon("worktrees").out == "There are no worktrees of aigon here.\n"
    third, fourth = other(CLAUDE, "gm", 3), other(CLAUDE, "pi", 4)
    made = {each.label: Path(case.made(each).path) for each in (CLAUDE, CODEX, third, fourth)}
    (made["cx"] / "new.txt").write_text("work")
    shutil.rmtree(made["gm"])
    (made["pi"] / ".git").unlink()
    with hold_lock(loop_lock(case.home, CLAUDE.feature, CLAUDE.label), "It"):
        found = states(case.lab.aigon("worktrees", "--json"))
    expected = {"cc": ("there", True), "cx": ("uncommitted", False), "gm": ("gone", False), "pi": ("broken", False)}
    assert found == expected
    from_inside = case.lab.aigon("worktrees", cwd=made["cc"])
    assert from_inside.code == 0 and str(made["cx"]) in from_inside.out and "holds uncommitted work" in from_inside.out


@pytest.mark.slow
def test_one_that_is_gone_with_its_branch_is_not_listed(case: Cleaning) -> None:
    made = case.made()
    assert case.removed(made) == ""
    assert states(case.lab.aigon("worktrees", "--json")) == {"cc": ("gone", False)}
    case.lab.git("branch", "-D", made.branch)
    assert states(case.lab.aigon("worktrees", "--json")) == {}
    assert case.lab.aigon("cleanup", "42").code == 0


@pytest.mark.slow
def test_worktrees_that_hold_nothing_are_removed_and_everything_else_stays(case: Cleaning) -> None:
    one, two = case.made(), case.made(CODEX)
    ran = case.lab.aigon("cleanup", "42", "--json")
    assert ran.code == 0, ran
    assert [each["label"] for each in ran.json["removed"]] == ["cc", "cx"]
    assert not Path(one.path).exists() and not Path(two.path).exists()
    assert set(case.lab.git("branch", "--format=%(refname:short)").split()) == {"main", one.branch, two.branch}
    assert records.list_candidates(case.home) == (one, two)
    assert case.lab.aigon("cleanup", "042").code == 0
    assert case.provide(one).path == one.path
    case.lab.sound()


@pytest.mark.slow
def test_the_folder_of_the_worktrees_goes_with_the_last_of_them(case: Cleaning) -> None:
    one, two = case.made(), case.made(CODEX)
    folder = Path(one.path).parent
    assert case.removed(one) == "" and folder.is_dir()
    assert case.removed(two) == "" and not folder.exists()
    (Path(case.made().path).parent / "mine.txt").write_text("mine")
    assert case.removed(one) == "" and (folder / "mine.txt").exists()


def test_one_agents_worktree_is_removed_by_label_or_name(case: Cleaning) -> None:
    one, two = case.made(), case.made(replace(CODEX, agent="codex"))
    assert case.lab.aigon("cleanup", "42", "codex").code == 0
    assert Path(one.path).exists() and not Path(two.path).exists()
    unknown = case.lab.aigon("cleanup", "42", "gemini")
    assert unknown.code == 2 and "cc, cx" in unknown.err


def test_nothing_to_clean_without_worktrees_and_an_unknown_feature_is_an_error(case: Cleaning) -> None:
    case.lab.spec("done")
    assert case.lab.aigon("cleanup", "42", "--json").json["removed"] == []
    assert case.lab.aigon("cleanup", "43").code == 2


@pytest.mark.parametrize("what", ["tracked", "untracked", "staged"])
def test_a_worktree_that_holds_uncommitted_work_is_kept(case: Cleaning, what: str) -> None:
    root = Path(case.made().path)
    file = root / ("README.md" if what == "tracked" else "new.txt")
    file.write_text("work\n")
    if what == "staged":
        with Checkout.open(root) as checkout:
            checkout.git("add", "new.txt")
    said = reason(case.lab.aigon("cleanup", "42", "--json"))
    assert file.name in said and "aigon cleanup 42 cc --park" in said
    assert file.read_text() == "work\n"
    assert case.parked() == []


def test_uncommitted_work_is_parked_where_that_is_wished(case: Cleaning) -> None:
    root = Path(case.made().path)
    (root / "new.txt").write_text("work\n")
    (root / "README.md").unlink()
    ran = case.lab.aigon("cleanup", "42", "--park", "--json")
    assert ran.code == 0, ran
    assert ran.json["parked"] == ["refs/aigon/parked/feature-42/cc-uncommitted"]
    assert not root.exists()
    ref = ran.json["parked"][0]
    assert case.lab.git("show", "--format=%P", "--name-status", ref).split() == [
        *(case.lab.git("rev-parse", CLAUDE.branch), "D", "README.md", "A", "new.txt")
    ]
    case.lab.sound()


@pytest.mark.slow
def test_a_second_time_does_not_take_the_first_ones_place(case: Cleaning) -> None:
    made = case.made()
    for text in ("one\n", "two\n"):
        case.provide(made)
        (Path(made.path) / "new.txt").write_text(text)
        assert case.removed(made, park=True) == ""
    assert case.parked() == ["feature-42/cc-uncommitted", "feature-42/cc-uncommitted-2"]
    assert case.kept_file("feature-42/cc-uncommitted-2", "new.txt") == "two"


def test_a_secret_is_not_parked_and_keeps_its_worktree(case: Cleaning) -> None:
    case.lab.write(".gitignore", "*.local\n")
    case.lab.commit("less")
    root = Path(case.made().path)
    (root / ".env").write_text("A=1\n")
    (root / "new.txt").write_text("work\n")
    assert ".env" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))
    assert (root / ".env").exists() and (root / "new.txt").exists()
    assert case.parked() == []


def test_a_worktree_is_kept_while_a_loop_runs_there(case: Cleaning) -> None:
    made = case.made()
    for held in (
        hold_lock(loop_lock(case.home, made.feature, made.label), "It"),
        checkout_lock(case.home, Path(made.path)),
    ):
        with held:
            said = reason(case.lab.aigon("cleanup", "42", "--json"))
            assert "in use by another aigon" in said and str(os.getpid()) in said
    assert case.lab.aigon("cleanup", "42").code == 0


@pytest.mark.slow
def test_a_loop_that_works_there_is_not_disturbed(case: Cleaning) -> None:
    began, go = case.lab.home / "began", case.lab.home / "go"
    case.lab.spec("done <!-- verify: test -f done.txt -->")
    case.lab.agent(f"touch {began}; until test -f {go}; do sleep 0.02; done; touch done.txt")
    case.lab.config(proof="in-place")
    case.lab.commit("spec")
    loop = case.lab.start("feature-implement", "42", "--loop", "--worktree", "--agent", "mine")
    try:
        until(began.exists)
        assert states(case.lab.aigon("worktrees", "--json"))["mine"][1]
        assert str(loop.pid) in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))
    finally:
        go.touch()
        ended = finish(loop)
    assert ended.code == 0, ended
    ran = case.lab.aigon("cleanup", "42", "--json")
    assert (ran.code, ran.json["parked"]) == (0, []), ran
    assert case.lab.git("show", "feature-42-mine-dark-mode:done.txt") == ""


def test_whoever_holds_the_locks_may_remove_the_worktree_itself(case: Cleaning) -> None:
    made = case.made()
    with hold_lock(loop_lock(case.home, made.feature, made.label), "It"), checkout_lock(case.home, Path(made.path)):
        assert case.removed(made) == ""
    assert not Path(made.path).exists()


def test_a_worktree_with_a_merge_under_way_is_kept(case: Cleaning) -> None:
    root = Path(case.made().path)
    (root / "README.md").write_text("theirs\n")
    with Checkout.open(root) as checkout:
        checkout.git("commit", "-q", "-am", "theirs")
        case.lab.write("README.md", "ours\n")
        case.lab.commit("ours")
        assert checkout.ask("merge", "main") is None
    assert "a merge is under way" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))


def test_a_commit_on_no_branch_keeps_the_worktree_or_is_parked(case: Cleaning) -> None:
    root = Path(case.made().path)
    with Checkout.open(root) as checkout:
        checkout.git("switch", "-q", "--detach")
        checkout.git("commit", "-q", "--allow-empty", "-m", "lost")
        lost = str(checkout.head)
    assert lost[:12] in reason(case.lab.aigon("cleanup", "42", "--json"))
    assert case.lab.aigon("cleanup", "42", "--park").code == 0
    assert case.lab.git("rev-parse", "refs/aigon/parked/feature-42/cc-head") == lost
    assert not root.exists()


def test_a_worktree_in_which_one_stands_is_kept(case: Cleaning) -> None:
    root = Path(case.made().path)
    ran = case.lab.aigon("cleanup", "42", "--json", cwd=root)
    assert "you are in it" in reason(ran)


def test_a_worktree_that_a_person_locked_is_kept(case: Cleaning) -> None:
    made = case.made()
    case.lab.git("worktree", "lock", made.path)
    assert "git worktree unlock" in reason(case.lab.aigon("cleanup", "42", "--json"))


def test_copies_links_and_what_tools_make_go_with_the_worktree(case: Cleaning) -> None:
    case.lab.write(".env.test", "A=1\n")
    case.lab.write("data/a.bin", "a\n")
    case.lab.write("node_modules/x", "x\n")
    made = case.made(settings=config(copy=[".env.test", "data"], link=["node_modules"]))
    case.lab.write("data/a.bin", "people's, later\n")
    root = Path(made.path)
    for name in ("__pycache__/a.pyc", "src/node_modules/a.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("made\n")
    ran = case.lab.aigon("cleanup", "42", "--json")
    assert (ran.code, ran.json["parked"]) == (0, []), ran
    assert case.lab.read("node_modules/x") == "x\n"


def test_other_ignored_files_are_parked(case: Cleaning) -> None:
    case.lab.write("data/a.bin", "a\n")
    made = case.made(settings=config(copy=["data"]))
    root = Path(made.path)
    (root / "data/a.bin").write_text("changed\n")
    (root / "data/new").mkdir()
    (root / "data/new/b.bin").write_text("new\n")
    (root / "notes.local").write_text("notes\n")
    ran = case.lab.aigon("cleanup", "42", "--json")
    assert ran.code == 0, ran
    assert case.parked() == ["feature-42/cc-ignored"]
    named = case.lab.git("show", "--format=", "--name-only", ran.json["parked"][0]).split()
    assert named == ["data/a.bin", "data/new/b.bin", "notes.local"]
    assert case.kept_file("feature-42/cc-ignored", "data/a.bin") == "changed"
    case.lab.sound()


def test_what_the_set_up_made_is_nobodys_work_until_somebody_changes_it(case: Cleaning) -> None:
    settings = config(setup="echo made | tee one.local > two.local")
    made = case.made(settings=settings)
    (Path(made.path) / "two.local").write_text("changed\n")
    assert case.removed(made) == ""
    named = case.lab.git("show", "--format=", "--name-only", "refs/aigon/parked/feature-42/cc-ignored")
    assert named == "two.local"


def test_an_ignored_secret_goes_only_where_the_main_checkout_has_the_same(case: Cleaning) -> None:
    case.lab.write(".env", "A=1\n")
    made = case.made(settings=config(copy=[".env"]))
    case.lab.write(".env", "A=2\n")
    assert ".env" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))
    assert (Path(made.path) / ".env").read_text() == "A=1\n"
    case.lab.write(".env", "A=1\n")
    assert case.lab.aigon("cleanup", "42").code == 0
    assert case.parked() == []


def test_a_token_in_an_ignored_file_is_not_parked(case: Cleaning) -> None:
    made = case.made()
    (Path(made.path) / "x.local").write_text("ghp_" + "a1B2c3D4e5" * 4 + "\n")
    assert "x.local" in reason(case.lab.aigon("cleanup", "42", "--json"))


def test_a_repository_with_commits_among_made_files_keeps_the_worktree(case: Cleaning) -> None:
    inner = Path(case.made().path) / "build" / "inner"
    with case.lab.path(".git/info/exclude").open("a") as exclude:
        exclude.write("build/\n")
    case.lab.git("init", "-q", str(inner))
    (inner / "work.py").write_text("work\n")
    case.lab.git("-C", str(inner), "add", "work.py")
    case.lab.git("-C", str(inner), "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "commit", "-qm", "x")
    assert "build/inner is a repository of its own" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))
    assert (inner / "work.py").exists()


def test_a_repository_that_git_ignores_keeps_the_worktree(case: Cleaning) -> None:
    root = Path(case.made().path)
    with Checkout.open(root) as checkout:
        checkout.git("init", "-q", "data/inner")
    assert "data/inner is a repository of its own" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))


def test_too_much_to_be_parked_keeps_the_worktree(case: Cleaning, monkeypatch: pytest.MonkeyPatch) -> None:
    made = case.made()
    (Path(made.path) / "big.local").write_text("x" * 1000)
    monkeypatch.setattr(ignored, "MAX_SAVED_BYTES", 999)
    assert "big.local" in case.removed(made)
    assert (Path(made.path) / "big.local").exists()


def test_a_folder_that_is_gone_leaves_no_record_in_git(case: Cleaning) -> None:
    made = case.made()
    shutil.rmtree(made.path)
    assert case.lab.aigon("cleanup", "42").code == 0
    assert case.lab.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_folder_that_is_no_worktree_any_more_is_left_to_a_person(case: Cleaning) -> None:
    made = case.made()
    shutil.rmtree(case.root / ".git/worktrees")
    assert "no longer a worktree of this repository" in reason(case.lab.aigon("cleanup", "42", "--json"))
    assert Path(made.path, "README.md").exists()


def test_a_persons_own_worktree_of_the_branch_is_left_alone(case: Cleaning) -> None:
    made = case.made()
    assert case.removed(made) == ""
    case.lab.git("worktree", "add", "-q", str(case.root.parent / "review"), made.branch)
    assert "aigon did not make" in case.removed(made)
    case.lab.git("worktree", "remove", str(case.root.parent / "review"))
    case.lab.git("switch", "-q", made.branch)
    assert case.removed(made) == ""
    assert case.lab.path("README.md").exists()


@pytest.mark.slow
def test_submodules_that_are_checked_out_keep_the_worktree(case: Cleaning) -> None:
    inner = Lab(case.root.parent / "inner").init()
    case.lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    case.lab.commit("submodule")
    root = Path(case.made().path)
    with Checkout.open(root) as checkout:
        checkout.git("-c", "protocol.file.allow=always", "submodule", "update", "--init", "-q")
    assert "submodules" in reason(case.lab.aigon("cleanup", "42", "--park", "--json"))


def test_a_moved_repository_can_be_cleaned_up(case: Cleaning) -> None:
    made = case.made()
    away = case.root.parent / "away"
    away.mkdir()
    Path(made.path).parent.rename(away / "repo-worktrees")
    case.root.rename(away / "repo")
    ran = case.lab.aigon("cleanup", "42", "--json", cwd=away / "repo")
    assert ran.code == 0, ran
    assert not (away / "repo-worktrees" / made.branch).exists()


def test_solo_branches_are_not_cleaned_up(case: Cleaning) -> None:
    case.lab.git("worktree", "add", "-q", "-b", BRANCH, str(case.root.parent / "solo"))
    case.made()
    assert case.lab.aigon("cleanup", "42").code == 0
    assert (case.root.parent / "solo").exists()
