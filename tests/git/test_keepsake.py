"""What only people and aigon write is put back byte for byte, and costs nothing while nobody touches it."""

import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.git import file_protection, file_state
from aigon.git.file_protection import FileEdit, FileProtection, ProtectedPaths
from aigon.git.person import Checkout
from aigon.git.protected_paths import list_global_config, make_opinion, watch_git_paths
from aigon.git.trusted import TrustedGit
from tests.lab import Lab, scrubbed

pytestmark = pytest.mark.usefixtures("lab_environment")


@contextmanager
def keeping(lab: Lab, root: Path | None = None, shared: bool = False, **more: Path) -> Iterator[FileProtection]:
    """The repository's keepsake, remembered when what is in it is no longer fresh."""
    with Checkout.open(root or lab.root) as checkout:
        git = TrustedGit(checkout, lab.home / "own")
        hooks = checkout.config.get("core.hookspath", "")
        records = (*list_global_config(lab.env), *more.values())
        everything = watch_git_paths(git, hooks, lambda: ProtectedPaths((lab.home,), records))
        keepsake = FileProtection(everything, lab.home / "displaced", make_opinion(git, shared=shared))
        time.sleep(0.03)
        keepsake.remember()
        yield keepsake


def told(edited: tuple[FileEdit, ...]) -> list[str]:
    """What was done about what, in few words."""
    return [f"{each.how} {each.name}" for each in edited]


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link of a git directory that decides what git does, with its mode."""
    names = [
        "config",
        "config.worktree",
        "info",
        "hooks",
        "shallow",
        "commondir",
        "objects/info/alternates",
        "branches",
    ]
    found = {}
    for top in (folder / name for name in names if os.path.lexists(folder / name)):
        below = [top, *top.rglob("*")] if top.is_dir() and not top.is_symlink() else [top]
        for path in below:
            mode = path.lstat().st_mode
            data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(folder))] = (stat.S_IMODE(mode) if not path.is_symlink() else 0, data)
    return found


def hook(lab: Lab, name: str, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    """A hook of the person's."""
    return lab.write(f".git/hooks/{name}", text, executable=True)


EVIL = "#!/bin/sh\ntouch PWNED\n"


def plant_hooks(lab: Lab) -> None:
    for name in ("pre-commit", "post-checkout", "reference-transaction"):
        hook(lab, name, EVIL)


def change_a_hook(lab: Lab) -> None:
    hook(lab, "commit-msg", EVIL)


def make_a_hook_run(lab: Lab) -> None:
    lab.path(".git/hooks/off").chmod(0o755)


def delete_hooks(lab: Lab) -> None:
    shutil.rmtree(lab.path(".git/hooks"))


def link_hooks(lab: Lab) -> None:
    shutil.copytree(lab.path(".git/hooks"), lab.home / "hooks")
    shutil.rmtree(lab.path(".git/hooks"))
    lab.path(".git/hooks").symlink_to(lab.home / "hooks")


def link_one_hook(lab: Lab) -> None:
    lab.path(".git/hooks/commit-msg").unlink()
    lab.path(".git/hooks/commit-msg").symlink_to(lab.home / "evil")


def a_folder_of_hooks(lab: Lab) -> None:
    lab.write(".git/hooks/pre-push.d/01", EVIL, executable=True)


def a_pipe_for_a_hook(lab: Lab) -> None:
    os.mkfifo(lab.path(".git/hooks/pre-push"))


def hooks_path(lab: Lab) -> None:
    lab.git("config", "core.hooksPath", str(lab.home))


def fsmonitor(lab: Lab) -> None:
    lab.git("config", "core.fsmonitor", str(lab.home / "evil"))


def a_filter(lab: Lab) -> None:
    lab.git("config", "filter.evil.clean", "evil")
    lab.write(".git/info/attributes", "* filter=evil\n")


def an_alias(lab: Lab) -> None:
    lab.git("config", "alias.st", "!evil")


def an_include(lab: Lab) -> None:
    lab.git("config", "--add", "include.path", "../evil")


def a_url(lab: Lab) -> None:
    lab.git("config", "url.https://evil.invalid/.insteadOf", "https://github.com/")


def an_upstream_that_is_a_program(lab: Lab) -> None:
    lab.git("config", "branch.main.remote", "ext::sh -c evil")


def a_submodule_that_runs(lab: Lab) -> None:
    lab.git("config", "submodule.x.update", "!evil")


def another_identity(lab: Lab) -> None:
    lab.git("config", "user.email", "agent@example.invalid")


def worktree_configuration(lab: Lab) -> None:
    lab.git("config", "extensions.worktreeConfig", "true")
    lab.git("config", "--worktree", "core.hooksPath", str(lab.home))


def rubbish_for_configuration(lab: Lab) -> None:
    lab.write(".git/config", "[core\n")


def no_configuration(lab: Lab) -> None:
    lab.path(".git/config").unlink()


def a_folder_for_configuration(lab: Lab) -> None:
    lab.path(".git/config").unlink()
    lab.write(".git/config/x", "x")


def grafts(lab: Lab) -> None:
    lab.write(".git/info/grafts", lab.git("rev-parse", "HEAD") + "\n")


def alternates(lab: Lab) -> None:
    lab.write(".git/objects/info/alternates", "/tmp\n")


def shallow(lab: Lab) -> None:
    lab.write(".git/shallow", lab.git("rev-parse", "HEAD") + "\n")


def excludes(lab: Lab) -> None:
    lab.write(".git/info/exclude", "*\n")


def a_common_dir(lab: Lab) -> None:
    shutil.copytree(lab.path(".git"), lab.home / "other")
    lab.write(".git/commondir", f"{lab.home}/other\n")


def linked_info(lab: Lab) -> None:
    lab.path(".git/info").rename(lab.home / "info")
    (lab.home / "info" / "grafts").write_text("x\n")
    lab.path(".git/info").symlink_to(lab.home / "info")


PLANTED: list[tuple[Callable[[Lab], None], str]] = [
    (plant_hooks, "added .git/hooks/pre-commit"),
    (change_a_hook, "changed .git/hooks/commit-msg"),
    (make_a_hook_run, "changed .git/hooks/off"),
    (delete_hooks, "removed .git/hooks/commit-msg"),
    (link_hooks, "changed .git/hooks"),
    (link_one_hook, "changed .git/hooks/commit-msg"),
    (a_folder_of_hooks, "added .git/hooks/pre-push.d"),
    (a_pipe_for_a_hook, "added .git/hooks/pre-push"),
    (hooks_path, "changed .git/config"),
    (fsmonitor, "changed .git/config"),
    (a_filter, "added .git/info/attributes"),
    (an_alias, "changed .git/config"),
    (an_include, "changed .git/config"),
    (a_url, "changed .git/config"),
    (an_upstream_that_is_a_program, "changed .git/config"),
    (a_submodule_that_runs, "changed .git/config"),
    (another_identity, "changed .git/config"),
    (worktree_configuration, "added .git/config.worktree"),
    (rubbish_for_configuration, "changed .git/config"),
    (no_configuration, "removed .git/config"),
    (a_folder_for_configuration, "changed .git/config"),
    (grafts, "added .git/info/grafts"),
    (alternates, "added .git/objects/info/alternates"),
    (shallow, "added .git/shallow"),
    (excludes, "changed .git/info/exclude"),
    (a_common_dir, "added .git/commondir"),
    (linked_info, "changed .git/info"),
]


@pytest.mark.parametrize("some", [PLANTED[:8], PLANTED[8:17], PLANTED[17:]], ids=["hooks", "settings", "others"])
def test_what_an_agent_plants_in_git_is_put_back_byte_for_byte(
    lab: Lab, some: list[tuple[Callable[[Lab], None], str]]
) -> None:
    hook(lab, "commit-msg")
    hook(lab, "off", EVIL).chmod(0o644)
    before = snapshot(lab.path(".git"))
    with keeping(lab) as keepsake:
        for plant, said in some:
            plant(lab)
            assert said in told(keepsake.put_back()), plant.__name__
            assert snapshot(lab.path(".git")) == before, plant.__name__
            assert keepsake.put_back() == (), plant.__name__
            keepsake.remember()
            shutil.rmtree(lab.home / "hooks", ignore_errors=True)
    assert keepsake.put_back() == ()
    assert lab.git("status", "--porcelain") == ""


def test_what_the_agent_made_is_kept_aside(lab: Lab) -> None:
    hook(lab, "commit-msg")
    with keeping(lab) as keepsake:
        hook(lab, "pre-push", EVIL)
        change_a_hook(lab)
        an_alias(lab)
        edited = {each.name: each for each in keepsake.put_back()}
    assert [each.kept.read_text() for name, each in edited.items() if each.kept and "hooks" in name] == [EVIL, EVIL]
    config = edited[".git/config"]
    assert config.kept and "!evil" in config.kept.read_text()
    assert config.sentence == ".git/config (alias.st) was changed; it was put back"
    assert edited[".git/hooks/pre-push"].sentence == ".git/hooks/pre-push was added; it was taken away"


def test_what_the_person_changed_before_stays(lab: Lab) -> None:
    lab.git("config", "core.fsmonitor", "mine")
    lab.git("config", "filter.mine.clean", "cat")
    hook(lab, "pre-commit", "mine")
    before = snapshot(lab.path(".git"))
    with keeping(lab) as keepsake:
        assert keepsake.put_back() == ()
        fsmonitor(lab)
        assert told(keepsake.put_back()) == ["changed .git/config"]
    assert snapshot(lab.path(".git")) == before


@pytest.mark.parametrize(
    "keys",
    [
        {"branch.x.remote": "origin", "branch.x.merge": "refs/heads/x", "branch.x.rebase": "true"},
        {"submodule.lib.url": "https://example.invalid/lib.git", "submodule.lib.active": "true"},
        {"submodule.lib.url": "git@example.invalid:a/lib.git"},
        {"submodule.lib.url": "../lib"},
        {"gui.wmstate": "normal", "branch.main.vscode-merge-base": "origin/main", "lfs.repositoryformatversion": "0"},
    ],
)
def test_what_git_and_editors_write_by_themselves_is_let_be(lab: Lab, keys: dict[str, str]) -> None:
    with keeping(lab) as keepsake:
        for name, value in keys.items():
            lab.git("config", name, value)
        lab.write(".git/hooks/pre-commit.sample", "a sample")
        assert keepsake.put_back() == ()
        assert {lab.git("config", name) for name in keys} == {*keys.values()}
        keepsake.remember()
        an_alias(lab)
        assert told(keepsake.put_back()) == ["changed .git/config"]
        assert {lab.git("config", name) for name in keys} == {*keys.values()}


def test_another_state_home_may_add_itself_to_the_note_and_no_other_place(lab: Lab) -> None:
    own = {"git_dir": str(lab.path(".git")), "state_homes": ["/a"]}
    note = lab.write(".git/aigon/home.json", json.dumps(own))
    with keeping(lab) as keepsake:
        note.write_text(json.dumps({**own, "state_homes": ["/b", "/a"]}))
        assert keepsake.put_back() == ()
        note.write_text(json.dumps({**own, "git_dir": "/elsewhere"}))
        assert told(keepsake.put_back()) == ["changed .git/aigon/home.json"]
    assert json.loads(note.read_text())["git_dir"] == str(lab.path(".git"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("submodule.lib.url", "ext::sh -c evil"),
        ("submodule.lib.url", "-oProxyCommand=evil"),
        ("submodule.lib.url", "ssh://-oProxyCommand=evil/x"),
        ("branch.x.mergeoptions", "-s evil"),
        ("branch.main.remote", "elsewhere"),
        ("safe.directory", "*"),
        ("gui.x\n[alias]\n\tst", "!evil"),
    ],
)
def test_a_harmless_name_with_another_value_is_not_let_be(lab: Lab, name: str, value: str) -> None:
    lab.git("config", "branch.main.remote", "origin")
    with keeping(lab) as keepsake:
        section, _, key = name.partition(".")
        with lab.path(".git/config").open("a") as file:
            sub, _, last = key.rpartition(".")
            file.write(
                f'[{section} "{sub}"]\n\t{last} = "{value}"\n' if sub else f'[{section}]\n\t{last} = "{value}"\n'
            )
        assert told(keepsake.put_back()) == ["changed .git/config"]


def test_entries_in_another_order_are_a_change(lab: Lab) -> None:
    lab.git("config", "--add", "credential.helper", "")
    lab.git("config", "--add", "credential.helper", "store")
    text = lab.read(".git/config")
    with keeping(lab) as keepsake:
        lab.write(".git/config", text.replace("\thelper = \n\thelper = store\n", "\thelper = store\n\thelper = \n"))
        assert lab.read(".git/config") != text
        assert told(keepsake.put_back()) == ["changed .git/config"]
    assert lab.read(".git/config") == text


def test_the_persons_own_configuration_is_kept_even_behind_a_link(lab: Lab) -> None:
    (lab.home / "dotfiles").mkdir()
    (lab.home / "dotfiles/gitconfig").write_text("[core]\n\tpager = cat\n")
    (lab.home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    with keeping(lab) as keepsake:
        lab.git("config", "--global", "core.hooksPath", "/evil")
        (lab.home / ".config/git").mkdir(parents=True)
        (lab.home / ".config/git/config").write_text("[alias]\n\tst = !evil\n")
        assert [each.how for each in keepsake.put_back()] == ["added", "changed"]
    assert (lab.home / "dotfiles/gitconfig").read_text() == "[core]\n\tpager = cat\n"
    assert (lab.home / ".gitconfig").is_symlink()
    assert not (lab.home / ".config/git/config").exists()


def test_submodules_and_other_worktrees_are_kept_and_may_go(lab: Lab) -> None:
    other = Lab(lab.home / "lib").init()
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "libs/deep", str(other.root), "lib")
    lab.commit("submodule")
    lab.git("config", "extensions.worktreeConfig", "true")
    lab.git("worktree", "add", "-q", str(lab.home / "tree"), "-b", "tree")
    module = lab.path(".git/modules/libs/deep")
    with keeping(lab) as keepsake:
        (module / "hooks").mkdir(exist_ok=True)
        (module / "hooks/post-checkout").write_text(EVIL)
        lab.git("-C", "lib", "config", "core.fsmonitor", "evil")
        lab.git("-C", str(lab.home / "tree"), "config", "--worktree", "core.fsmonitor", "evil")
        names = told(keepsake.put_back())
        assert len(names) == 3 and "changed .git/modules/libs/deep/config" in names
        assert "added .git/worktrees/tree/config.worktree" in names
        shutil.rmtree(module)
        lab.git("worktree", "remove", str(lab.home / "tree"))
        assert keepsake.put_back() == ()
        assert not module.exists() and not lab.path(".git/worktrees/tree").exists()


def test_in_a_linked_worktree_both_git_directories_are_kept(lab: Lab) -> None:
    tree = lab.home / "tree"
    lab.git("worktree", "add", "-q", str(tree), "-b", "tree")
    with keeping(lab, tree) as keepsake:
        evil = lab.home / "evil"
        shutil.copytree(lab.path(".git"), evil)
        (tree / ".git").write_text(f"gitdir: {evil}\n")
        lab.write(".git/worktrees/tree/commondir", f"{evil}\n")
        hook(lab, "pre-commit", EVIL)
        assert len(keepsake.put_back()) == 3
    assert lab.git("-C", str(tree), "rev-parse", "--path-format=absolute", "--git-common-dir") == str(lab.path(".git"))


def test_hooks_outside_the_work_tree_are_kept_and_those_inside_are_files(lab: Lab) -> None:
    (lab.home / "my-hooks").mkdir()
    lab.git("config", "core.hooksPath", "~/my-hooks")
    with keeping(lab) as keepsake:
        (lab.home / "my-hooks/pre-commit").write_text(EVIL)
        assert [each.how for each in keepsake.put_back()] == ["added"]
        assert not (lab.home / "my-hooks/pre-commit").exists()
    lab.write(".husky/pre-commit", "npm test\n")
    lab.git("config", "core.hooksPath", ".husky")
    with keeping(lab) as keepsake:
        lab.write(".husky/pre-commit", "npm run all\n")
        assert keepsake.put_back() == ()


def test_aigons_own_git_directory_is_kept(lab: Lab) -> None:
    with keeping(lab) as keepsake:
        own = lab.home / "own"
        text = (own / "config").read_text()
        (own / "config").write_text(text + '[filter "evil"]\n\tclean = evil\n')
        (own / "info/attributes").write_text("* filter=evil\n")
        assert len(keepsake.put_back()) == 2
        assert (own / "config").read_text() == text and (own / "info/attributes").read_text() == ""


def test_a_journal_that_grows_between_turns_is_kept_as_it_is_now(lab: Lab) -> None:
    journal = lab.home / "journal.jsonl"
    journal.write_bytes(b"one\n" * 1_000)
    with keeping(lab, records=journal) as keepsake:
        with journal.open("ab") as file:
            file.write(b"two\n")
        keepsake.remember()
        assert keepsake.put_back() == (), "it is fresh, and was looked into"
        with journal.open("ab") as file:
            file.write(b"forged\n")
        (edited,) = keepsake.put_back()
        assert edited.path == journal and edited.kept and edited.kept.read_bytes().endswith(b"two\nforged\n")
    assert journal.read_bytes() == b"one\n" * 1_000 + b"two\n"


@pytest.mark.parametrize("at", [0, 500_000, 3_999_999, 4_000_003])
def test_only_the_end_of_a_journal_is_read_and_all_of_it_put_back(lab: Lab, at: int) -> None:
    journal = lab.home / "journal.jsonl"
    journal.write_bytes(b"one\n" * 1_000_000)
    own = ProtectedPaths((lab.home,), (journal,), growing=(journal,))
    keepsake = FileProtection(lambda: own, lab.home / "displaced")
    keepsake.remember()
    with journal.open("ab") as file:
        file.write(b"two\n")
    before, kept = count_bytes_read(), journal.read_bytes()
    keepsake.remember()
    assert count_bytes_read() - before < len(kept) + 100_000, "read here once, and not again by remember()"
    with journal.open("r+b") as file:
        file.seek(at)
        file.write(b"X")
    (edited,) = keepsake.put_back()
    assert (edited.path, edited.how) == (journal, "changed") and journal.read_bytes() == kept


def count_bytes_read() -> int:
    """Return how much this process has read so far, by the kernel's account of it."""
    account = Path("/proc/self/io")
    if not account.exists():
        pytest.skip("only Linux counts what a process reads")
    return int(account.read_text().split()[1])


def test_a_change_within_the_same_step_of_the_clock_is_looked_for(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = lab.home / "journal.jsonl"
    journal.write_bytes(b"one\n" * 1_000)
    with keeping(lab, records=journal) as keepsake:
        with journal.open("ab") as file:
            file.write(b"two\n")
        now = journal.stat().st_ctime_ns
        monkeypatch.setattr(file_state, "read_file_clock", lambda: now)
        monkeypatch.setattr(time, "time_ns", lambda: now)
        keepsake.remember()
        real, mark = file_state.read_mark, file_state.read_mark(str(journal))
        with journal.open("r+b") as file:
            file.write(b"X")
        for module in (file_protection, file_state):  # as if the clock had stood still
            monkeypatch.setattr(module, "read_mark", lambda path: mark if path == str(journal) else real(path))
        (edited,) = keepsake.put_back()
        assert edited.path == journal and edited.how == "changed"
    assert journal.read_bytes() == b"one\n" * 1_000 + b"two\n"


@contextmanager
def reads() -> Iterator[list[str]]:
    """Names of files that this process opens, and programs that it starts, while the context lasts."""
    found: list[str] = []
    recording = True

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if recording and event in ("open", "os.scandir", "os.listdir", "subprocess.Popen", "os.posix_spawn"):
            found.append(f"{event} {arguments[0]}")

    sys.addaudithook(hear)
    yield found
    recording = False


def test_while_nothing_changes_nothing_is_opened(lab: Lab) -> None:
    for number in range(20):
        hook(lab, f"hook-{number}")
    with keeping(lab) as keepsake:
        with reads() as opened:
            keepsake.remember()
            assert keepsake.put_back() == ()
        assert opened == []


def test_a_change_in_the_very_moment_is_seen(lab: Lab) -> None:
    with keeping(lab) as keepsake:
        for number in range(20):
            hook(lab, "pre-commit", f"{number:04}")
            keepsake.remember()
            lab.path(".git/hooks/pre-commit").write_text(f"{number:03}x")
            assert told(keepsake.put_back()) == ["changed .git/hooks/pre-commit"]


def test_a_file_behind_a_planted_link_is_not_written(lab: Lab) -> None:
    victim = lab.home / "victim"
    victim.mkdir()
    (victim / "config").write_text("precious")
    other = Lab(lab.home / "lib").init()
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "lib")
    with keeping(lab) as keepsake:
        lab.path(".git/modules/lib").rename(lab.home / "moved")
        lab.path(".git/modules/lib").symlink_to(victim)
        assert keepsake.put_back()
    assert (victim / "config").read_text() == "precious"
    assert "worktree" in lab.read(".git/modules/lib/config")


def test_a_git_directory_that_is_another_one_now_ends_it(lab: Lab) -> None:
    with keeping(lab) as keepsake:
        lab.path(".git").rename(lab.home / "old")
        lab.git("init", "-q")
        with pytest.raises(AigonError) as caught:
            keepsake.put_back()
    assert caught.value.code == Exit.ENVIRONMENT and caught.value.where == str(lab.path(".git"))


def test_folders_without_permissions_are_opened_again(lab: Lab) -> None:
    closed = lab.home / "closed"
    closed.mkdir(0)
    if os.access(closed, os.R_OK):
        pytest.skip("who runs this may read and write everything")
    with keeping(lab) as keepsake:
        hook(lab, "pre-commit", EVIL)
        lab.path(".git/hooks").chmod(0)
        lab.path(".git/info").chmod(0)
        assert told(keepsake.put_back()) == ["added .git/hooks/pre-commit"]
    assert os.access(lab.path(".git/info/exclude"), os.R_OK)


def test_a_home_of_another_place_is_found() -> None:
    env = scrubbed(Path("/nowhere"), XDG_CONFIG_HOME="/else")
    assert list_global_config(env) == (Path("/nowhere/.gitconfig"), Path("/else/git/config"))
    assert list_global_config({**env, "GIT_CONFIG_GLOBAL": "/dev/null"}) == ()


def test_a_rivals_worktree_may_become_sparse_and_move_and_nothing_else(lab: Lab) -> None:
    lab.write("in/a", "a")
    lab.write("out/b", "b")
    lab.commit("files")
    lab.git("worktree", "add", "-q", str(lab.home / "rival"))
    with keeping(lab, shared=True) as keepsake:
        lab.git("-C", str(lab.home / "rival"), "sparse-checkout", "set", "--cone", "in")
        lab.git("worktree", "move", str(lab.home / "rival"), str(lab.home / "moved"))
        assert keepsake.put_back() == ()
        assert not (lab.home / "moved" / "out").exists()
        theirs = lab.path(".git/worktrees/rival")
        lab.git("-C", str(lab.home / "moved"), "config", "--worktree", "core.fsmonitor", "evil")
        (theirs / "gitdir").write_text(f"{lab.home}/elsewhere/.git\n")
        (theirs / "commondir").write_text("/elsewhere\n")
        assert len(keepsake.put_back()) == 3
        assert (
            not (theirs / "config.worktree").exists() or b"fsmonitor" not in (theirs / "config.worktree").read_bytes()
        )
