"""The clean room: what a tree holds and nothing else, an environment of its own, and nothing left afterwards."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aigon.errors import AigonError, Exit
from aigon.git.person import Checkout, name_command
from aigon.git.trusted import TrustedGit
from aigon.isolation import export
from aigon.isolation.clean_room import CleanRoom, RoomPlan, open_room
from aigon.isolation.enclosure import Isolation, make_room_env
from aigon.isolation.export import Export, export_tree
from aigon.isolation.mechanisms import IN_ORDER, can_overlay, find_isolation_flaw
from aigon.job.world import CheckStart, TreeUse
from aigon.process.start import capture_output
from tests.lab import Lab
from tests.projects import files

CONFIGURED = False

pytestmark = pytest.mark.usefixtures("lab_environment")


@pytest.fixture(params=[*IN_ORDER, "none"])
def isolation(request: pytest.FixtureRequest, lab: Lab) -> Isolation:
    """Each mechanism that works here, and none."""
    name: Isolation = request.param
    if name != "none" and (why := find_isolation_flaw(lab.root, name)):
        pytest.skip(f"{name} does not work here: {why}")
    return name


def own_git(lab: Lab) -> TrustedGit:
    """aigon's own git for the laboratory's repository."""
    with Checkout.open(lab.root) as checkout:
        return TrustedGit(checkout, lab.home / "own")


def exported(lab: Lab, revision: str = "HEAD", **options: bool) -> Export:
    """Export a revision to a folder beside the repository."""
    commit = lab.git("rev-parse", revision)
    return export_tree(own_git(lab), commit, lab.home / "export", **options)


def test_rooms_take_three_processes_of_git_and_one_more_for_each_tree(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def note(argv: Sequence[str], **options: Any) -> tuple[int, bytes, bytes]:
        ran.append(name_command(argv[1:]))
        return capture_output(argv, **options)

    monkeypatch.setattr(export, "capture_output", note)
    git, tree = own_git(lab), lab.git("rev-parse", "HEAD^{tree}")
    for name in ("one", "two"):
        assert listed(export_tree(git, tree, lab.home / name).folder)
    assert ran == ["rev-parse", *2 * ["pack-objects", "index-pack", "read-tree"]]


def listed(folder: Path) -> list[str]:
    """Files and links below, but for the git directories."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(str(path) for path in paths if ".git" not in path.parts)


@contextmanager
def room(
    lab: Lab,
    isolation: Isolation = "none",
    env: Mapping[str, str] | None = None,
    lent: Sequence[str] = (),
    given: Mapping[str, Path] | None = None,
    **options: Any,
) -> Iterator[CleanRoom]:
    """A room for the last commit."""
    options["lent"] = {name: lab.root / name for name in lent} | dict(given or {})
    git, folder = own_git(lab), lab.home / "state" / "repos" / "one" / "rooms" / "42"
    plan = RoomPlan(isolation, folder, **options)
    with open_room(git, lab.git("rev-parse", "HEAD"), env or lab.env, plan) as made:
        yield made


def run(room: CleanRoom, *argv: str, cwd: str = ".") -> "subprocess.CompletedProcess[str]":
    """Run a command in a room as aigon does."""
    line = room.wrap_command(argv, Path(cwd))
    return subprocess.run(line, cwd=room.scratch, env=room.env, capture_output=True, text=True, timeout=60)


def test_in_a_private_room_commands_find_what_builds_made_and_nothing_else(lab: Lab, tmp_path: Path) -> None:
    if (why := find_isolation_flaw(lab.root, "namespaces")) or not can_overlay(tmp_path):
        pytest.skip(why or "no overlay works on this file system")
    places = '. "$HOME" "$PYTHONPYCACHEPREFIX"'
    with room(lab, "namespaces", private=True) as made:

        def tell(tree: TreeUse, name: str, text: str) -> str:
            (tmp_path / name).mkdir(exist_ok=True)
            line = made.wrap_command(["sh", "-c", text], Path(), CheckStart(name, tmp_path / name, tree=tree))
            done = subprocess.run(line, cwd=made.scratch, env=made.env, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return done.stdout

        leave = f"for place in {places}; do echo x > $place/left; done; rm README.md; mkdir new; echo x > new/file"
        assert tell("own", "tests", leave) == tell("own", "criterion-1", leave) == ""
        for number in (1, 2):
            tell("build", f"build-{number}", f"{leave}-{number}; echo made > product-{number}")
        seen = f"ls {places} 2>&1 | grep -e left -e product -e README -e new; ls new 2>&1; ls {made.changes} 2>&1"
        hidden = f"ls: cannot access '{made.changes}': No such file or directory\n"
        built = "left\nnew\nproduct-1\nproduct-2\nfile-1\nfile-2\n"
        assert tell("own", "criterion-2", f"{seen}; true") == built + hidden
        assert tell("shared", "setup", leave) == ""
        assert "left" in tell("own", "types", seen + "; true")
    assert lab.git("status", "--porcelain") == "" and not made.changes.exists()


# The export


def test_an_export_holds_the_tree_and_nothing_else(lab: Lab) -> None:
    lab.write(".gitignore", "ignored\n")
    lab.write("tool", "#!/bin/sh\n", executable=True)
    lab.write("sub/über\nline", b"\x00\xff")
    lab.path("sub/link").symlink_to("../tool")
    lab.path("sub/away").symlink_to("/nowhere/at/all")
    lab.commit("second")
    for name in ("ignored", "untracked"):
        lab.write(name, "x")
    lab.write("tool", "changed since")
    folder = exported(lab).folder
    assert listed(folder) == [".gitignore", "README.md", "sub/away", "sub/link", "sub/über\nline", "tool"]
    assert (folder / "tool").read_text() == "#!/bin/sh\n" and os.access(folder / "tool", os.X_OK)
    assert (folder / "sub/über\nline").read_bytes() == b"\x00\xff"
    assert str((folder / "sub/away").readlink()) == "/nowhere/at/all"


def test_an_export_is_a_repository_as_a_fresh_clone_is_or_none(lab: Lab) -> None:
    lab.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ran", executable=True)
    lab.git("config", "core.autocrlf", "input")
    lab.git("config", "core.fsmonitor", "/evil")
    lab.git("tag", "v1")
    folder = exported(lab).folder

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=lab.env, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert git("status", "--porcelain") == ""
    assert git("ls-files").split() == ["README.md"]
    assert git("log", "--format=%an %P").strip() == "Ada"
    assert git("for-each-ref", "--format=%(refname)").strip() == "refs/heads/proof"
    assert git("fsck", "--full", "--strict") == ""
    assert "/evil" not in git("config", "--list") and "core.autocrlf=input" in git("config", "--list")
    assert not lab.path("ran").exists() and not (folder / "ran").exists()


def test_an_object_that_was_replaced_is_not_exported_under_its_old_name(lab: Lab) -> None:
    lab.write("test_it.py", "assert broken\n")
    lab.commit("tests")
    true, false = lab.git("rev-parse", "HEAD:test_it.py"), lab.write("weak.py", "assert True\n")
    weak = lab.git("hash-object", "-w", str(false))
    victim, other = (lab.path(f".git/objects/{name[:2]}/{name[2:]}") for name in (true, weak))
    victim.chmod(0o644)
    victim.write_bytes(other.read_bytes())
    assert lab.git("cat-file", "-p", true) == "assert True", "git itself believes the file's name"
    with pytest.raises(AigonError, match="missing or damaged") as refused:
        exported(lab)
    assert refused.value.code == Exit.ENVIRONMENT


def test_a_missing_object_is_an_error_that_says_so(lab: Lab) -> None:
    name = lab.git("rev-parse", "HEAD:README.md")
    lab.path(f".git/objects/{name[:2]}/{name[2:]}").unlink()
    with pytest.raises(AigonError, match="missing or damaged") as refused:
        exported(lab)
    assert name in refused.value.hint


def test_line_ends_are_what_a_checkout_makes_of_them(lab: Lab) -> None:
    lab.write(".gitattributes", "*.txt text eol=crlf\n")
    lab.write("a.txt", "one\ntwo\n")
    lab.commit("text")
    assert (exported(lab).folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_a_sparse_checkout_exports_what_is_in_its_cone(lab: Lab) -> None:
    files(lab.root, {"in/a": "a", "out/b": "b"})
    lab.commit("folders")
    lab.git("sparse-checkout", "set", "in")
    assert listed(exported(lab).folder) == ["README.md", "in/a"]


def test_a_repository_with_sha256_is_exported(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "sha256").init("--object-format=sha256")
    folder = exported(lab).folder
    assert listed(folder) == ["README.md"]
    done = subprocess.run(["git", "status", "--porcelain"], cwd=folder, env=lab.env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_large_files_are_written_whole_or_stay_pointers_and_are_never_others(lab: Lab) -> None:
    lab.git("lfs", "install", "--local")
    lab.git("lfs", "track", "*.bin")
    files(lab.root, {"here.bin": "here", "gone.bin": "gone!"})
    lab.commit("large")
    stored = {path.stat().st_size: path for path in lab.path(".git/lfs/objects").rglob("*") if path.is_file()}
    stored[5].unlink()
    folder = exported(lab).folder
    assert (folder / "here.bin").read_text() == "here"
    assert (folder / "gone.bin").read_text().startswith("version https://git-lfs")
    shutil.rmtree(folder)
    stored[4].chmod(0o644)
    stored[4].write_text("evil")
    with pytest.raises(AigonError, match="large file") as refused:
        exported(lab)
    assert refused.value.where == "here.bin"


def submodule(lab: Lab, name: str, path: str, within: Lab) -> Lab:
    """A repository of its own, added as a submodule."""
    inner = Lab(lab.home / name)
    inner.init()
    inner.write(f"{name}.txt", f"{name}\n")
    inner.commit("content")
    within.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), path)
    return inner


def test_submodules_are_exported_from_their_own_objects_and_what_cannot_be_is_named(lab: Lab) -> None:
    outer = submodule(lab, "outer", "libs/outer", lab)
    deep = Lab.__new__(Lab)
    deep.root, deep.home, deep.env = lab.root / "libs/outer", lab.home, lab.env
    deep.git("config", "user.name", "Ada")
    deep.git("config", "user.email", "ada@example.invalid")
    submodule(lab, "inner", "deep/inner", deep)
    deep.commit("nested")
    submodule(lab, "lost", "libs/lost", lab)
    submodule(lab, "empty", "libs/empty", lab)
    lab.commit("submodules")
    lab.git("submodule", "deinit", "-f", "-q", "libs/empty")
    lab.write("libs/outer/untracked", "x")
    lab.write(".git/modules/libs/outer/hooks/post-checkout", "#!/bin/sh\ntouch ran", executable=True)
    shutil.rmtree(lab.path(".git/modules/libs/lost/objects"))
    done = exported(lab)
    assert done.missing == ("libs/lost",)
    expected = ["README.md", "libs/outer/README.md", "libs/outer/deep/inner/README.md"]
    expected += ["libs/outer/deep/inner/inner.txt", "libs/outer/outer.txt"]
    assert [name for name in listed(done.folder) if not name.endswith(".gitmodules")] == expected
    assert (done.folder / "libs/empty").is_dir() and outer.root.exists()
    status = ["git", "status", "--porcelain", "--ignore-submodules=none"]
    seen = subprocess.run(status, cwd=done.folder / "libs/outer", env=lab.env, capture_output=True, text=True)
    assert "untracked" not in seen.stdout and "deleted" not in seen.stdout


# The room


def test_commands_see_the_tree_and_never_what_only_the_workspace_has(lab: Lab, isolation: Isolation) -> None:
    lab.write(".gitignore", "impl.py\n")
    lab.write("read.sh", f"cat {lab.root}/impl.py {lab.root}/.git/secret ../repo/impl.py; cat README.md; pwd\n")
    lab.commit("second")
    lab.write("impl.py", "SECRET\n")
    lab.write(".git/secret", "SECRET\n")
    with room(lab, isolation) as made:
        ran = run(made, "sh", "read.sh")
        assert "# sample" in ran.stdout and str(made.seen_as) in ran.stdout
        if isolation == "none":
            assert "SECRET" in ran.stdout, "the caller has to say that nothing was isolated"
        else:
            assert "SECRET" not in ran.stdout + ran.stderr
        assert made.seen_as == (lab.root if isolation in ("bwrap", "namespaces") else made.root)


def test_records_and_git_directories_of_a_linked_worktree_are_out_of_reach(lab: Lab, isolation: Isolation) -> None:
    if isolation == "none":
        pytest.skip("nothing is hidden without isolation")
    linked = Lab.__new__(Lab)
    linked.root, linked.home, linked.env = lab.home / "linked", lab.home, lab.env
    lab.git("worktree", "add", "-q", str(linked.root))
    journal = lab.home / "state/repos/one/journal"
    files(journal.parent, {"journal": "SECRET"})
    lab.write(".git/notes", "SECRET")
    more = lab.home / "more"
    files(more, {"x": "SECRET"})
    linked.write(
        "try.sh", f"cat {journal} {lab.root}/.git/notes {more}/x; echo no > {journal}; ls {lab.root}/.git; cat t"
    )
    linked.write("t", "tree\n")
    linked.commit("try")
    with room(linked, isolation, hidden=[more]) as made:
        ran = run(made, "sh", "try.sh")
    assert ran.stdout == "tree\n", ran.stderr
    assert journal.read_text() == "SECRET"


def test_an_editable_install_in_a_lent_environment_is_never_the_workspace(lab: Lab, isolation: Isolation) -> None:
    lab.write(".gitignore", ".venv/\n")
    lab.write("src/pkg/__init__.py", "WHERE = 'tree'\n")
    lab.commit("package")
    lab.write("src/pkg/__init__.py", "WHERE = 'workspace'\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(lab.root / ".venv")], check=True)
    site = next(lab.root.glob(".venv/lib/*/site-packages"))
    (site / "__editable__.pkg.pth").write_text(f"{lab.root}/src\n")
    (site / "other.py").write_text("OTHER = 'lent'\n")
    code = "import other; print(other.OTHER); import pkg; print(pkg.WHERE)"
    with room(lab, isolation, lent=[".venv", "absent", "README.md"]) as made:
        assert [*made.lent] == [".venv"]
        ran = run(made, f"{lab.root}/.venv/bin/python", "-c", code)
        plain = run(made, f"{made.seen_as}/.venv/bin/python", "-c", code, cwd="src")
    assert ran.stdout.split() == ["lent", "tree"], ran.stderr
    assert plain.stdout.split() == ["lent", "tree"], plain.stderr
    assert (site / "other.py").exists(), "a lent folder is not removed with the room"


def test_a_path_in_the_environment_leads_to_the_export(lab: Lab, isolation: Isolation) -> None:
    lab.write("src/pkg.py", "print('tree')\n")
    lab.commit("package")
    lab.write("src/pkg.py", "print('workspace')\n")
    env = {**lab.env, "PYTHONPATH": f"{lab.root}/src", "ANYTHING": f"a:{lab.root}:{lab.root}-not"}
    with room(lab, isolation, env) as made:
        assert run(made, sys.executable, "-c", "import pkg").stdout == "tree\n"
        assert made.env["ANYTHING"] == f"a:{made.seen_as}:{lab.root}-not"


def test_folders_kept_elsewhere_win_and_the_tree_wins_over_all(lab: Lab, isolation: Isolation) -> None:
    lab.write(".gitignore", "node_modules/\n/build\n")
    lab.write("web/package.json", "{}")
    lab.write("vendor/own", "tree\n")
    lab.path("away").symlink_to(lab.home)
    lab.commit("project")
    files(lab.root, {"web/node_modules/x": "workspace\n", "build/y": "built\n", "vendor/z": "untracked\n"})
    kept = lab.home / "state/repos/one/dependencies"
    files(kept, {"x": "kept\n"})
    names = ["web/node_modules", "build", "vendor", "away/stolen", "../home", "/etc", ".git/hooks", ""]
    given = {"web/node_modules": kept}
    with room(lab, isolation, lent=names, given=given) as made:
        assert set(made.lent) == {"web/node_modules", "build"}
        ran = run(made, "sh", "-c", "cat web/node_modules/x build/y vendor/*; echo no > web/node_modules/x; ls web")
        assert ran.stdout == "kept\nbuilt\ntree\nnode_modules\npackage.json\n"
        status = run(made, "git", "status", "--porcelain").stdout
    assert status in ("", "?? web/node_modules\n"), "as in the workspace, where git ignores them"
    assert (kept / "x").read_text() == ("no\n" if isolation == "none" else "kept\n")


def test_a_program_can_make_a_cache_in_node_modules_that_nothing_has_made_before(
    lab: Lab, isolation: Isolation
) -> None:
    if isolation not in ("bwrap", "namespaces"):
        pytest.skip("without mounts the folder is as it is")
    lab.write(".gitignore", "node_modules/\n")
    lab.commit("project")
    files(lab.root, {"node_modules/vitest/x": "installed\n"})
    with room(lab, isolation, lent=["node_modules"]) as made:
        wrote = run(
            made, "sh", "-c", "mkdir node_modules/.vite/vitest && echo 1 > node_modules/.vite/vitest/results.json"
        )
        assert wrote.returncode == 0, wrote.stderr
        assert run(made, "sh", "-c", "echo no > node_modules/vitest/x").returncode != 0
    assert [*(lab.root / "node_modules/.vite").iterdir()] == []


def test_the_environment_is_nobodys_and_temporary_folders_are_short(lab: Lab) -> None:
    real = lab.home
    files(real, {".cargo/config": "", ".npm/x": "", ".rustup/x": ""})
    env = {
        **lab.env,
        "AIGON_RUN": "7",
        "AIGON_FEATURE": "42",
        "GIT_DIR": "/x",
        "XDG_CACHE_HOME": "/y",
        "npm_config_cache": "/z",
    }
    places = {"CARGO_HOME": ".cargo", "npm_config_cache": ".npm", "GOPATH": "go", "RUSTUP_HOME": ".rustup"}
    with room(lab, "none", env, places=places) as made:
        seen = dict(line.split("=", 1) for line in run(made, "env").stdout.splitlines() if "=" in line)
        home, scratch = Path(seen["HOME"]), Path(seen["TMPDIR"])
        assert list(home.iterdir()) == [] and home != real and home.stat().st_mode & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{scratch}/{'socket':x<50}")
        code = "import sys; print(sys.pycache_prefix)"
        assert run(made, sys.executable, "-c", code).stdout.startswith(str(scratch.parent))
    assert (seen["AIGON_RUN"], seen["CARGO_HOME"]) == ("7", f"{real}/.cargo")
    assert (seen["npm_config_cache"], seen["RUSTUP_HOME"]) == ("/z", f"{real}/.rustup")
    assert not {"AIGON_FEATURE", "AIGON_STATE_HOME", "GIT_DIR", "XDG_CACHE_HOME", "GOPATH"} & set(seen)
    with room(lab, "none", env, home="real", places=places) as made:
        assert (made.env["HOME"], made.env["XDG_CACHE_HOME"]) == (str(real), "/y")
        assert "CARGO_HOME" not in made.env


def test_git_does_not_look_above_the_room(lab: Lab) -> None:
    subprocess.run(["git", "init", "-q", str(lab.home)], check=True)
    with room(lab) as made:
        shutil.rmtree(made.root / ".git")
        assert run(made, "git", "rev-parse", "--show-toplevel").returncode == 128
    made_env = make_room_env({"GIT_CEILING_DIRECTORIES": "/a"}, Path("/s"), Path("/b/room"))
    assert made_env["GIT_CEILING_DIRECTORIES"] == f"/b{os.pathsep}/a"


def test_planted_bytecode_beside_the_sources_does_not_count(lab: Lab, isolation: Isolation) -> None:
    lab.write(".gitignore", "__pycache__/\n.venv/\n")
    lab.commit("nothing")
    source = lab.write(".venv/mod.py", "print('source')\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
    before = source.stat()
    lab.write(".venv/mod.py", "print('SOURCE')\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    with room(lab, isolation, lent=[".venv"]) as made:
        ran = run(made, sys.executable, "-c", "import sys; sys.path.insert(0, '.venv'); import mod")
    assert ran.stdout == "SOURCE\n", ran.stderr


# Afterwards


def test_nothing_is_left_whatever_a_command_wrote(lab: Lab, isolation: Isolation) -> None:
    script = """
        mkdir -p deep/er $HOME/ro $TMPDIR/ro; echo x > deep/er/x; chmod 400 deep/er/x
        echo x > $HOME/ro/x; chmod 500 deep/er $HOME/ro; chmod 000 deep $TMPDIR/ro; ln -s / root
    """
    with room(lab, isolation) as made:
        scratch = made.scratch
        assert run(made, "sh", "-c", script).returncode == 0
        folder = made.root.parent
        assert scratch.exists()
    assert not folder.exists() and not scratch.exists()
    assert lab.read("README.md") == "# sample\n"


def test_what_a_killed_aigon_left_is_gone_when_the_room_is_opened_again(lab: Lab) -> None:
    with room(lab) as first:
        left = first.root.parent
        copy = lab.home / "copy"
        shutil.copytree(left, copy, symlinks=True)
        files(copy, {"tree/stale": "x"})
    shutil.move(copy, left)
    with room(lab) as second:
        assert listed(second.root) == ["README.md"]


def test_a_failed_export_leaves_nothing_behind(lab: Lab) -> None:
    name = lab.git("rev-parse", "HEAD:README.md")
    lab.path(f".git/objects/{name[:2]}/{name[2:]}").unlink()
    with pytest.raises(AigonError), room(lab):
        pass
    assert not (lab.home / "state/repos/one/rooms/42").exists()


def test_a_large_file_is_no_trouble(lab: Lab) -> None:
    lab.git("config", "core.compression", "0")
    lab.write("large.bin", os.urandom(1_000_000) * 40)
    lab.commit("large")
    begun = time.monotonic()
    with room(lab) as made:
        assert (made.root / "large.bin").stat().st_size == 40_000_000
    assert time.monotonic() - begun < 20
