"""What an agent commits is taken over by hash, and nothing that it does to its repository reaches the person's."""

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from aigon.config.grants import Grants, Mechanism
from aigon.git import foreign_objects
from aigon.git.person import LOCAL_VARIABLES, Checkout
from aigon.git.repository import LENT
from aigon.git.run_repository import RunRepository, find_lent_branch
from aigon.git.workspace import Workspace
from aigon.isolation import sandbox
from aigon.isolation.machine_paths import add_git_grants, list_program_folders
from aigon.isolation.sandbox import Sandbox
from aigon.process.start import Program, capture_output
from tests.lab import Lab

BRANCH = "feature-01-x"
EVERY: tuple[Mechanism, ...] = ("bwrap", "namespaces", "landlock", "none")
PLACES = [(mechanism, place) for place in ("worktree", "main") for mechanism in EVERY]


class Turns:
    """A checkout on a feature's branch, and agents that work there, each a script for bash."""

    def __init__(self, lab: Lab, checkout: Checkout, mechanism: Mechanism, folder: Path) -> None:
        self.lab, self.root, self.folder = lab, checkout.root, folder
        self.workspace = Workspace(checkout, folder / "own", BRANCH)
        self.person = checkout
        grants = add_git_grants(
            Grants(
                read=list_program_folders(lab.env["PATH"], ()),  # aigon may be installed below the temporary folder
                write=(str(self.root),),
                own=(str(lab.home), tempfile.gettempdir()),
            ),
            *(checkout.root, checkout.git_dir, checkout.common_dir, mechanism),
        )
        (folder / "sandbox").mkdir(exist_ok=True)
        self.box = Sandbox(mechanism, grants, folder / "sandbox") if mechanism != "none" else None
        self.saved: dict[str, str] = {}
        self.repository = self.make()

    def make(self) -> RunRepository:
        """The run's repository, as an aigon that has just begun sees it."""
        is_linked = (self.root / ".git").is_file()
        return RunRepository(
            self.workspace,
            self.confine,
            over=None if is_linked else self.root / ".git",
            swaps=self.box is None or self.box.mechanism == "landlock",
        )

    def confine(self, argv: Sequence[str]) -> Program:
        return self.box.command(argv, self.root) if self.box else Program(argv)

    def agent(self, script: str) -> str:
        """Let the agent work; what it printed."""
        self.repository.lend()
        return self.run(f"set +e\n{script}")[1]

    def run(self, script: str) -> tuple[int, str]:
        """The exit code and output of a script in the agent's sandbox."""
        program = self.confine(["bash", "-c", script])
        code, out, err = capture_output(program.argv, cwd=self.root, env=self.lab.env, enter=program.enter)
        return code, (out + err).decode()

    def back(self) -> tuple[str, ...]:
        """What was said when the turn was over."""

        def save_aside(name: str, commit: str) -> str:
            self.saved[name] = commit
            return self.workspace.keep(name, commit)

        return self.repository.take_back(save_aside)

    def turn(self, script: str) -> tuple[str, ...]:
        """A whole turn; what was said of it."""
        self.agent(script)
        return self.back()

    def tip(self) -> str:
        return self.lab.git("rev-parse", f"refs/heads/{BRANCH}")

    def subjects(self) -> list[str]:
        return self.lab.git("log", "--format=%s", BRANCH).splitlines()

    def persons(self) -> dict[str, str]:
        """Every file of the person's git directory but aigon's, what the taken commits changed, and empty folders."""
        common = self.lab.root / ".git"
        skipped = ("aigon", "index", "logs", "refs/aigon", f"refs/heads/{BRANCH}", "objects/pack")
        found = {}
        for file in sorted(common.rglob("*")):
            name = file.relative_to(common).as_posix()
            if file.is_file() and not any(f"/{name}/".find(f"/{each}/") >= 0 for each in skipped):
                found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
        return found

    def sound(self) -> None:
        self.lab.git("fsck", "--full", "--strict")
        assert self.lab.git("rev-parse", "--show-toplevel") == str(self.lab.root)
        ran = subprocess.run(
            ["git", "rev-parse", "--git-common-dir"], cwd=self.root, env=self.lab.env, capture_output=True, text=True
        )
        assert (self.root / ran.stdout.strip()).resolve() == self.person.common_dir


@contextmanager
def turns(lab: Lab, mechanism: Mechanism, place: str, folder: Path) -> Iterator[Turns]:
    """A worktree of the repository, or its main checkout."""
    if mechanism != "none" and (why := sandbox.find_sandbox_flaw(mechanism)):
        pytest.skip(f"{mechanism} does not work here: {why}")
    if place == "main" and mechanism in ("landlock", "none"):
        pytest.skip("what may be written cannot be excepted without mounts")
    root = lab.root
    if place == "main":
        lab.git("switch", "-q", "-c", BRANCH)
    else:
        root = folder / "there"
        lab.git("worktree", "add", "-q", "-b", BRANCH, str(root))
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name in LOCAL_VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in lab.env.items():
            patch.setenv(name, value)
        yield Turns(lab, stack.enter_context(Checkout.open(root)), mechanism, folder)


@pytest.fixture(params=PLACES, ids="-".join)
def run(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Iterator[Turns]:
    """Each mechanism that works here, in each checkout for which it can do this."""
    mechanism, place = request.param
    with turns(lab, mechanism, place, tmp_path) as made:
        yield made


@pytest.fixture
def plain(lab: Lab, tmp_path: Path) -> Iterator[Turns]:
    """A worktree without any sandbox: what is tried here does not depend on one."""
    with turns(lab, "none", "worktree", tmp_path) as made:
        yield made


WORK = """
echo one > one; git add one; git commit -qm one || echo no commit
git stash list > /dev/null && echo draft > draft; git add draft; git stash -q || echo no stash
git switch -qc wip && echo wip > wip && git add wip && git commit -qm wip || echo no branch
git switch -q - && echo two > two && git add two && git commit -qm two && git rebase -q --force-rebase HEAD~1 || echo no
git tag -a -m tagged v1 && git worktree add -q "$PWD/beside" wip || echo no worktree
rm -rf beside && git worktree prune && git stash pop -q && git stash -q || echo no pop
git gc -q && git fsck --strict && git pack-refs --all && git reflog > /dev/null || echo no gc
"""


def test_git_works_for_an_agent_and_what_it_committed_is_taken_over(run: Turns) -> None:
    before = run.persons()
    said = run.agent(WORK)
    assert "no" not in said.split(), said
    told = run.back()
    assert run.subjects() == ["two", "one", "first"], (said, told)
    assert sorted(run.saved) == ["stash", "wip"] and len(told) == 2, told
    assert run.lab.git("log", "-1", "--format=%s", run.saved["wip"]) == "wip"
    assert run.persons() == before
    # In its next turn the agent has its own branches and its stash again.
    assert run.turn("git stash pop -q && git log -1 --format=%s wip > /dev/null && rm draft && touch ok") == ()
    assert (run.root / "ok").exists()
    run.repository.close()
    assert not run.repository.folder.exists() and "refs/aigon/runs" not in run.lab.git("for-each-ref")
    assert not (run.person.git_dir / "modules").exists()
    run.sound()


DAMAGE = """
common=$(git rev-parse --git-common-dir)
for each in "$common" "$PERSONS"; do
  rm -rf "$each"/objects/?? "$each"/objects/pack "$each"/refs/heads/rival "$each"/packed-refs "$each"/worktrees
  echo 0000000000000000000000000000000000000000 > "$each"/refs/heads/main
  echo 'exit 1' > "$each"/hooks/pre-commit; git config -f "$each"/config core.fsmonitor /bin/false
  echo /nowhere > "$each"/objects/info/alternates; rm -f "$each"/HEAD "$each"/index
done
umount "$PERSONS"; rm -rf .git; git update-ref -d refs/heads/main
echo work > work
"""


def test_a_sandbox_that_is_being_prepared_may_make_its_mount_points_first(
    run: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = RunRepository._copy_index

    def copy_late(repository: RunRepository) -> None:
        for name in (f"{LENT}/objects", "modules") if repository.over else ():
            (repository.folder / name).mkdir(parents=True, exist_ok=True)
        copy(repository)

    monkeypatch.setattr(RunRepository, "_copy_index", copy_late)
    run.agent("echo one > one; git add one; git commit -qm one")
    run.back()
    assert run.subjects() == ["one", "first"]


def test_an_agent_can_neither_delete_nor_move_what_is_the_persons(run: Turns) -> None:
    if run.box is None:
        pytest.skip("nothing keeps an agent in")
    run.lab.git("branch", "rival")
    run.lab.env["PERSONS"] = str(run.lab.root / ".git")
    before = run.persons()
    run.turn(DAMAGE)
    assert run.persons() == before and (run.root / "work").exists()
    run.repository.close()
    run.sound()


QUICK = ("wrong hash", "too large", "links", "settings")
FORGED = "git update-ref --no-deref refs/heads/" + BRANCH + " "
STORES = {
    "alternates": 'echo "$FOREIGN/objects" >> "$run/objects/info/alternates"; ' + FORGED + '"$FOREIGN_TIP"',
    "wrong hash": "echo a > a; git add a; git commit -qm mine; git commit -q --allow-empty -m other;"
    " one=$(git rev-parse HEAD | sed 's,..,&/,'); two=$(git rev-parse HEAD~1 | sed 's,..,&/,');"
    ' cp -f "$run/objects/$two" "$run/objects/$one"',
    "a pipe": "git commit -q --allow-empty -m mine; file=$run/objects/$(git rev-parse HEAD | sed 's,..,&/,');"
    ' rm -f "$file"; mkfifo "$file"',
    "missing": "echo a > a; git add a; blob=$(git rev-parse :a); git commit -qm mine;"
    " rm -f \"$run/objects/$(echo $blob | sed 's,..,&/,')\"",
    "too large": "head -c 300000 /dev/urandom > large; git add large; git commit -qm mine",
    "a blob": 'git hash-object -w --stdin < README.md > "$run/refs/heads/' + BRANCH + '"',
    "no object": f'echo {"1" * 40} > "$run/refs/heads/{BRANCH}"',
}


@pytest.mark.parametrize("store", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in STORES])
def test_objects_that_are_not_what_they_seem_are_not_taken_over(
    plain: Turns, store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    foreign = Lab(tmp_path / "foreign").init()
    foreign.commit("foreign")
    plain.lab.env |= {"FOREIGN": str(foreign.root / ".git"), "FOREIGN_TIP": foreign.git("rev-parse", "HEAD")}
    monkeypatch.setattr(foreign_objects, "LARGEST_PACK", 200_000)
    monkeypatch.setattr(foreign_objects, "TAKE_SECONDS", 1.0)
    before, tip = plain.persons(), plain.tip()
    told = plain.turn(f'run="$(git rev-parse --absolute-git-dir)"; {STORES[store]}; true')
    if store == "alternates":  # inside of a sandbox the agent could have read only what it may read anyway
        assert plain.subjects()[0] == "foreign"
    else:
        assert plain.tip() == tip and plain.persons() == before
        assert len(told) == 1 and "could not be taken over" in told[0], told
        assert Path(told[0].rpartition(" in ")[2], "HEAD").is_file(), "nothing is lost"
    plain.turn("echo more > more; git add more; git commit -qm more")
    assert plain.subjects()[0] == "more"
    plain.sound()


SHAPES = {
    "links": 'rm -rf "$run/refs" "$run/packed-refs"; ln -s "$FOREIGN/refs" "$run/refs"; rm "$run/HEAD";'
    ' ln -s /etc/passwd "$run/HEAD"; ln -s /etc/passwd "$run/packed-refs"',
    "pipes": 'rm -f "$run/HEAD" "$run/packed-refs"; mkfifo "$run/HEAD" "$run/packed-refs" "$run/refs/heads/pipe"',
    "depth": 'cd "$run/refs/heads"; for i in $(seq 300); do mkdir d; cd d; done',
    "names": 'for name in "a..b" "x y" "-c" "q@{1}" "z.lock"; do cp "$run/packed-refs" /dev/null;'
    ' git rev-parse HEAD > "$run/refs/heads/$name"; done',
    "size": 'truncate -s 9T "$run/packed-refs"',
    "locks": 'touch "$run/index.lock" "$run/HEAD.lock" "$run/packed-refs.lock" "$run/config.lock"',
    "rights": 'mkdir "$run/shut"; touch "$run/shut/in"; chmod 000 "$run/shut" "$run/objects"',
    "nothing": 'rm -rf "$run" .git',
    "another": 'rm -rf .git; git init -q . ',
    "settings": 'printf "[core]\\nbare = true\\nfsmonitor = touch $PWD/ran\\nworktree = /\\n[broken" > "$run/config"',
}  # fmt: skip


@pytest.mark.parametrize("shape", [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SHAPES])
def test_whatever_an_agent_makes_of_its_repository_the_next_turn_has_a_sound_one(
    plain: Turns, shape: str, tmp_path: Path
) -> None:
    foreign = Lab(tmp_path / "foreign").init()
    plain.lab.env["FOREIGN"] = str(foreign.root / ".git")
    before, tip = plain.persons(), plain.tip()
    link = (plain.root / ".git").read_bytes()
    plain.agent(f'run="$(git rev-parse --absolute-git-dir)"; {SHAPES[shape]}; true')
    assert plain.person.git("status", "--porcelain") == "", "no setting of the agent's is read"
    plain.back()
    assert plain.tip() == tip and plain.persons() == before and not (plain.root / "ran").exists()
    plain.turn("echo more > more; git add more; git commit -qm more")
    assert plain.subjects()[0] == "more" and (plain.root / ".git").read_bytes() == link
    plain.repository.close()
    plain.sound()


def test_a_person_may_delete_the_branch_and_prune_during_a_turn(run: Turns) -> None:
    run.turn("echo one > one; git add one; git commit -qm one")
    run.repository.lend()
    if run.root == run.lab.root:
        run.lab.git("switch", "-q", "-f", "main")
    run.lab.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    run.lab.git("reflog", "expire", "--expire=now", "--all")
    run.lab.git("gc", "-q", "--prune=now")
    script = "echo two > two; git add two; git commit -qm two && git log --format=%s && git fsck --strict"
    code, printed = run.run(script)
    assert code == 0, printed
    (told,) = run.back()
    assert run.lab.git("log", "--format=%s", run.saved[BRANCH]).split() == ["two", "one", "first"], told
    run.lab.git("fsck", "--full", "--strict")


def test_a_hook_that_cannot_be_written_in_place_is_made_anew_for_the_next_turn(run: Turns) -> None:
    """One that is read-only, or runs."""
    hook = run.person.common_dir / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(Path("/bin/sleep").read_bytes())
    hook.chmod(0o555)
    run.turn("true")
    running = subprocess.Popen([run.repository.folder / "hooks" / "pre-push", "60"])
    try:
        hook.unlink()
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o555)
        assert run.turn("true") == ()
    finally:
        running.kill()
        running.wait()
    assert (run.repository.folder / "hooks" / "pre-push").read_text() == "#!/bin/sh\n"


def test_a_turn_that_was_killed_loses_nothing(run: Turns) -> None:
    run.agent("echo one > one; git add one; git commit -qm one; echo open > open")
    with Checkout.open(run.root) as opened:  # an aigon that looks meanwhile, or the next one
        assert (opened.root, opened.git_dir) == (run.root, run.person.git_dir)
        assert opened.common_dir == run.person.common_dir
    assert find_lent_branch(run.person.git_dir) == BRANCH
    run.repository = run.make()
    assert run.back() == ()
    run.repository.close()
    run.sound()
    assert run.subjects() == ["one", "first"] and (run.root / "open").exists()
    assert find_lent_branch(run.person.git_dir) is None and not run.repository.folder.exists()


@pytest.mark.parametrize(
    ("script", "is_kept"),
    [
        ("true", True),
        ('echo "[core] fsmonitor = evil" >> "$run/config"; echo evil > "$run/HEAD"', True),
        ('truncate -s 9T "$run/packed-refs"', True),
        ('ln -f "$OTHERS" "$run/config"', False),
        ('rm "$run/config"; ln -s "$OTHERS" "$run/config"', False),
        ('echo evil > "$run/hooks/post-checkout"', False),
        ('echo evil > "$run/refs/heads/other"', False),
        ('chmod 777 "$run/info"', False),
        ("echo two > two; git add two", False),
    ],
)
def test_the_next_turn_finds_what_it_ought_to_in_a_repository_that_was_kept(
    plain: Turns, script: str, is_kept: bool
) -> None:
    folder = plain.repository.folder
    others = plain.lab.write("others", "mine\n")
    plain.lab.env["OTHERS"] = str(others)

    def look() -> dict[str, object]:
        files = [file for file in folder.rglob("*") if not file.is_symlink() and file.is_file()]
        return {str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_nlink) for file in files}

    plain.repository.lend()
    first, inode = look(), (folder / "objects").stat().st_ino
    plain.back()
    plain.agent(f'run="$(git rev-parse --absolute-git-dir)"; {script}')
    assert (folder / "objects").stat().st_ino == inode, "a turn in which nobody ran git left it as it was"
    plain.back()
    plain.repository.lend()
    assert look() == first and others.read_text() == "mine\n"
    assert ((folder / "objects").stat().st_ino == inode) == is_kept
    plain.back()
    plain.sound()


@pytest.mark.slow
def test_a_turn_without_commits_leaves_no_trace(run: Turns) -> None:
    refs = run.lab.git("for-each-ref")
    assert run.turn("echo one > one; git status > /dev/null") == ()
    run.repository.close()
    assert run.lab.git("for-each-ref") == refs
    run.sound()


@pytest.mark.slow
def test_a_head_that_left_the_branch_is_said_and_its_commit_kept(run: Turns) -> None:
    told = run.turn("git switch -q --detach; git commit -q --allow-empty -m detached")
    assert told[0].startswith("HEAD had left the branch") and len(told) == 2
    assert run.lab.git("log", "-1", "--format=%s", run.saved["HEAD"]) == "detached"
    assert run.subjects() == ["first"]


@pytest.mark.slow
def test_a_branch_that_was_moved_back_is_moved_back(run: Turns) -> None:
    run.turn("git commit -q --allow-empty -m one; git commit -q --allow-empty -m two")
    assert run.turn("git reset -q --hard HEAD~1") == ()
    assert run.subjects() == ["one", "first"]


@pytest.mark.parametrize("mechanism", [each for each in EVERY if each != "none"])
def test_other_kinds_of_repositories_keep_working(mechanism: Mechanism, tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("--object-format=sha256")
    part = Lab(tmp_path / "part")
    part.make("--object-format=sha256")
    for name in ("kept/a", "left/b"):
        lab.write(name, name)
    lab.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(part.root), "part")
    lab.commit("more")
    with turns(lab, mechanism, "worktree", tmp_path) as run:
        allowed = ["-c", "protocol.file.allow=always"]
        for more in ([*allowed, "submodule", "-q", "update", "--init"], ["sparse-checkout", "set", "kept"]):
            subprocess.run(["git", *more], cwd=run.root, env=lab.env, check=True)
        told = run.turn(
            "echo a >> kept/a; ls left 2> /dev/null; cd part; git config user.name A; git config user.email a@b.c;"
            " git commit -q --allow-empty -m part; cd ..; git add kept part; git commit -qm both"
        )
        assert told == () and run.subjects()[0] == "both"
        assert lab.git("ls-tree", BRANCH, "left/b") and not (run.root / "left").exists()
        inner = subprocess.run(["git", "-C", "part", "log", "-1", "--format=%s"], cwd=run.root, env=lab.env,
                               capture_output=True, text=True)  # fmt: skip
        assert inner.stdout == "part\n"
        run.repository.close()


def test_large_files_are_taken_over_if_they_are_what_their_names_say(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    good, bad = hashlib.sha256(b"good").hexdigest(), hashlib.sha256(b"bad").hexdigest()
    for name, data in ((good, b"good"), (bad, b"forged")):
        (theirs / name[:2] / name[2:4]).mkdir(parents=True)
        (theirs / name[:2] / name[2:4] / name).write_bytes(data)
    linked = hashlib.sha256(b"linked").hexdigest()
    (theirs / linked).symlink_to("/etc/passwd")
    told = list(foreign_objects.take_large_files(theirs, ours))
    assert (ours / good[:2] / good[2:4] / good).read_bytes() == b"good" and len(told) == 2
    assert [file.name for file in ours.rglob("*") if file.is_file()] == [good]


def test_commits_stay_if_a_power_cut_emptied_the_note_of_what_was_lent(run: Turns) -> None:
    run.agent("echo 1 > file.py; git add file.py; git commit -qm mine")
    note = run.person.git_dir / "aigon" / "lent"
    note.write_bytes(b"")
    assert find_lent_branch(run.person.git_dir) == ""
    tip = run.tip()
    (told,) = run.back()
    kept = Path(told.rpartition(" ")[2])
    assert run.tip() == tip and run.lab.git(f"--git-dir={kept}", "cat-file", "commit", "HEAD").endswith("mine")
    assert find_lent_branch(run.person.git_dir) is None
