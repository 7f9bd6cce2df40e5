"""Kinds of repositories, and what agents and people do to them: supported or refused by name, and sound afterwards."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab import BRANCH, DONE_WHEN, LOG, SPEC, Lab, Ran
from tests.loop.processes import parked

IN_PLACE = True
LOOP = ("feature-implement", "42", "--loop")
RESUME = ("feature-implement", "42", "--resume")


ANYTHING = "---\nallow: ['**']\n---\n"
"""What a rule would ask a person about is fine here: these tests are about git."""


def begin(lab: Lab, script: str, *criteria: str, frontmatter: str = "") -> Lab:
    """A spec, an agent and a commit of everything: ready for the loop."""
    (lab.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    lab.spec(*(criteria or (f"it is done <!-- verify: {DONE_WHEN} -->",)), frontmatter=frontmatter)
    lab.agent(script)
    lab.commit("ready")
    return lab


def proven(lab: Lab, *arguments: str, cwd: Path | None = None) -> Ran:
    """Run the loop, which has to prove everything and to leave a sound repository."""
    ran = lab.aigon(*(arguments or LOOP), cwd=cwd)
    assert ran.code == 0, ran.out + ran.err
    lab.sound()
    return ran


def ordinary(lab: Lab) -> None:
    """What a person does every day works afterwards."""
    lab.git("log", "--stat", "-3")
    assert lab.git("diff") == ""
    lab.write("README.md", "# sample\n\nmore\n")
    assert lab.git("status", "--porcelain") == " M README.md"
    lab.git("commit", "-q", "-am", "by hand")
    lab.git("switch", "-q", "main")
    lab.git("switch", "-q", BRANCH)
    lab.sound()


def committed(lab: Lab, name: str = "HEAD~0") -> list[str]:
    """The files that the checkpoint added, changed or removed, as git names them, less aigon's own two."""
    own = {SPEC, LOG}
    lines = lab.git("diff-tree", "-r", "--no-renames", "--name-status", f"{name}~1", name).splitlines()
    return [line for line in lines if line.split("\t")[1] not in own]


# --- kinds of repositories


def test_an_ordinary_repository_is_ordinary_afterwards(lab: Lab) -> None:
    begin(lab, "touch done.txt")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt"]
    ordinary(lab)


def test_sha256(tmp_path: Path) -> None:
    lab = Lab(tmp_path).init("--object-format=sha256")
    begin(lab, "touch done.txt; mkdir d; echo x > d/x")
    proven(lab)
    assert len(lab.git("rev-parse", "HEAD")) == 64
    assert lab.git("rev-parse", "--show-object-format") == "sha256"
    ordinary(lab)


@pytest.mark.parametrize("index", ["plain", "sparse", "split"])
def test_a_sparse_checkout_keeps_what_is_outside_its_cone(lab: Lab, index: str) -> None:
    for name in ("in/a.txt", "out/b.txt", "out/deep/c.txt"):
        lab.write(name, f"{name}\n")
    begin(lab, "echo changed > in/a.txt; rm -f in/gone.txt; touch in/new.txt done.txt")
    option = "--sparse-index" if index == "sparse" else "--no-sparse-index"
    lab.git("sparse-checkout", "set", "--cone", option, "in", "docs", ".aigon")
    if index == "split":
        lab.git("config", "core.splitIndex", "true")
        lab.git("update-index", "--split-index")
    assert not lab.path("out").exists()
    proven(lab)
    assert committed(lab) == ["A\tdone.txt", "M\tin/a.txt", "A\tin/new.txt"]
    assert not lab.path("out").exists()
    assert lab.git("ls-files", "-t", "out/b.txt") == "S out/b.txt"
    ordinary(lab)
    lab.git("sparse-checkout", "disable")
    assert lab.read("out/deep/c.txt") == "out/deep/c.txt\n"
    lab.sound()


def test_a_file_that_the_agent_makes_outside_the_cone_is_in_the_checkpoint(lab: Lab) -> None:
    lab.write("out/b.txt", "b\n")
    lab.write("out/c.txt", "c\n")
    begin(lab, "mkdir -p out; touch out/done.txt; echo new > out/b.txt", "done <!-- verify: test -f out/done.txt -->")
    lab.git("sparse-checkout", "set", "--cone", "docs", ".aigon")
    proven(lab)
    assert committed(lab) == ["M\tout/b.txt", "A\tout/done.txt"]


def test_a_split_index(lab: Lab) -> None:
    for number in range(20):
        lab.write(f"f{number}.txt", "x\n")
    begin(lab, "touch done.txt; echo y > f3.txt; rm f4.txt")
    lab.git("config", "core.splitIndex", "true")
    lab.git("update-index", "--split-index")
    assert list(lab.path(".git").glob("sharedindex.*"))
    lab.write(SPEC, lab.path(SPEC).read_bytes() + b"\nMore.\n")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt", "M\tf3.txt", "D\tf4.txt"]
    ordinary(lab)


def test_a_shallow_clone(lab: Lab, tmp_path: Path) -> None:
    begin(lab, "touch done.txt")
    lab.commit("one more")
    clone = Lab(tmp_path / "clone")
    clone.git("clone", "-q", "--depth=1", f"file://{lab.root}", ".")
    (clone.home / ".gitconfig").write_text((lab.home / ".gitconfig").read_text())
    proven(clone)
    assert clone.git("rev-parse", "--is-shallow-repository") == "true"
    assert clone.git("rev-list", "--count", "HEAD") == "2"
    ordinary(clone)
    clone.git("fetch", "-q", "--unshallow")
    clone.sound()


def test_a_linked_worktree_is_a_place_to_work(lab: Lab) -> None:
    begin(lab, "touch done.txt")
    place = lab.home / "place"
    lab.git("worktree", "add", "-q", "-b", "side", str(place))
    ran = lab.aigon(*LOOP, cwd=place)
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("-C", str(place), "branch", "--show-current") == BRANCH
    assert lab.git("-C", str(place), "status", "--porcelain", "--untracked-files=all") == ""
    assert (place / "done.txt").exists() and not lab.path("done.txt").exists()
    assert lab.git("branch", "--show-current") == "main"
    lab.sound()


def test_loops_in_two_worktrees_at_once_do_not_mix(lab: Lab) -> None:
    lab.spec("it is done <!-- verify: sleep 0.5; test -f done-42.txt -->")
    lab.spec("it is done <!-- verify: sleep 0.4; test -f done-43.txt -->", name=SPEC.replace("42-dark", "43-light"))
    lab.agent("touch other-$AIGON_FEATURE; sleep 0.1; test $AIGON_ITERATION -lt 3 || touch done-$AIGON_FEATURE.txt")
    lab.commit("ready")
    place = lab.home / "place"
    lab.git("worktree", "add", "-q", "-b", "side", str(place))
    first = lab.start(*LOOP)
    second = lab.aigon("feature-implement", "43", "--loop", cwd=place)
    out, err = first.communicate(timeout=60)
    assert (first.returncode, second.code) == (0, 0), out + err + second.out + second.err
    for name, branch in (("42", BRANCH), ("43", "feature-43-light-mode")):
        files = lab.git("diff", "--name-only", "main", branch).splitlines()
        assert [file for file in files if not file.startswith("docs/")] == [f"done-{name}.txt", f"other-{name}"]
    assert lab.git("-C", str(place), "status", "--porcelain") == ""
    lab.sound()


def submodule(lab: Lab) -> Lab:
    """Add a submodule `sub` with one file."""
    library = Lab(lab.home / "library").init()
    library.write("code.txt", "one\n")
    library.commit("code")
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.root), "sub")
    lab.commit("submodule")
    return lab


def test_a_submodule_that_nobody_touches(lab: Lab) -> None:
    begin(submodule(lab), "touch done.txt")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt"]
    assert lab.git("submodule", "status")[0] == " "
    ordinary(lab)


def test_a_commit_in_a_submodule_is_part_of_the_checkpoint(lab: Lab) -> None:
    begin(submodule(lab), "touch done.txt; cd sub; echo two > code.txt; git commit -q -am two", frontmatter=ANYTHING)
    proven(lab)
    assert committed(lab) == ["A\tdone.txt", "M\tsub"]
    ordinary(lab)


def test_edits_left_in_a_submodule_are_named_and_not_green(lab: Lab) -> None:
    begin(submodule(lab), "touch done.txt; echo two > sub/code.txt")
    ran = lab.aigon(*LOOP, "--max-iterations=2")
    assert ran.code == 3, ran.out
    assert "Git: 1 paths could not be committed (the submodule sub has work" in ran.out
    assert (lab.path("sub/code.txt")).read_text() == "two\n"


@pytest.mark.parametrize("turns", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("spoil", ["", "echo x >> $AIGON_SPEC; "], ids=["alone", "beside an edited spec"])
def test_a_repository_nested_by_the_agent_is_named_and_not_green(lab: Lab, spoil: str, turns: int) -> None:
    script = "test -d nested || (git init -q nested; cd nested; echo x > f; git add f; git commit -q -m x)"
    begin(lab, f"{spoil}{script}; touch done.txt")
    ran = lab.aigon(*LOOP, f"--max-iterations={turns}")
    assert ran.code == 3, ran.out
    assert "nested" in lab.read(LOG)
    assert lab.state()["status"] == "stopped"
    assert lab.path("nested/f").exists()


def test_an_empty_repository_nested_by_the_agent_is_named_and_not_green(lab: Lab) -> None:
    begin(lab, "git init -q nested; touch nested/f done.txt")
    ran = lab.aigon(*LOOP, "--max-iterations=2")
    assert ran.code == 3, ran.out
    assert "nested" in lab.read(LOG)
    assert committed(lab, "HEAD~1") == ["A\tdone.txt"]
    assert lab.path("nested/f").exists()


def test_files_of_a_nested_repository_are_committed_once_it_is_none_any_more(lab: Lab) -> None:
    script = """
    case $AIGON_ITERATION in
    1) git init -q nested; cd nested; echo x > f; git add f; git commit -q -m x; touch ../done.txt;;
    *) rm -rf nested/.git;;
    esac
    """
    begin(lab, script)
    proven(lab)
    assert lab.state()["iteration"] == 2
    assert committed(lab) == ["A\tnested/f"]


# --- files


def test_line_endings_are_converted_as_the_person_has_it_configured(lab: Lab) -> None:
    lab.git("config", "core.autocrlf", "true")
    lab.write("text.txt", "one\r\ntwo\r\n")
    spec = lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "open <!-- verify: test -f never -->")
    spec.write_bytes(spec.read_bytes().replace(b"\n", b"\r\n"))
    lab.agent("printf 'a\\r\\nb\\r\\n' > done.txt; echo '- [ ] more' >> $AIGON_SPEC")
    lab.commit("ready")
    before = spec.read_bytes()
    ran = lab.aigon(*LOOP, "--max-iterations=1")
    assert ran.code == 3, ran.err
    assert spec.read_bytes() == before.replace(b"[ ]", b"[x]", 1)
    assert subprocess.run(["git", "show", "HEAD:done.txt"], cwd=lab.root, capture_output=True).stdout == b"a\nb\n"
    assert b"\r" not in subprocess.run(["git", "show", f"HEAD:{SPEC}"], cwd=lab.root, capture_output=True).stdout
    lab.sound()


def test_a_safecrlf_that_refuses_for_people_does_not_stop_the_loop(lab: Lab) -> None:
    lab.git("config", "core.autocrlf", "true")
    begin(lab, "printf 'a\\r\\n' > done.txt")
    lab.git("config", "core.safecrlf", "true")
    proven(lab)


def test_what_is_ignored_stays_out_by_every_kind_of_rule(lab: Lab) -> None:
    lab.write(".gitignore", "*.log\n")
    (lab.home / "mine").write_text("*.swp\n")
    lab.git("config", "core.excludesFile", "~/mine")
    lab.path(".git/info/exclude").write_text("*.tmp\n")
    begin(lab, "touch done.txt a.log b.swp c.tmp d.keep; mkdir deep; touch deep/e.log deep/f.swp deep/g.tmp")
    proven(lab)
    assert committed(lab) == ["A\td.keep", "A\tdone.txt"]
    assert lab.path("deep/g.tmp").exists()
    ordinary(lab)


def test_a_persons_global_ignore_file_counts(lab: Lab) -> None:
    (lab.home / ".config/git").mkdir(parents=True)
    (lab.home / ".config/git/ignore").write_text("*.swp\n")
    begin(lab, "touch done.txt b.swp")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt"]


def test_an_agent_cannot_hide_files_by_a_rule_of_its_own_in_info_exclude(lab: Lab) -> None:
    begin(lab, "echo '*.txt' >> .git/info/exclude; git config core.excludesFile .hide; touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out
    assert committed(lab) == ["A\tdone.txt"]


def test_an_agent_cannot_have_its_rules_read_by_calling_aigon(lab: Lab) -> None:
    aigon = " ".join(lab.command())
    rule = "echo '*.txt' >> .git/info/exclude"
    create = f'{aigon} feature-create other thing; echo $? > "$HOME/refused"'
    begin(lab, f"{rule}; {create}; {aigon} feature-validate 42; touch done.txt")
    assert lab.aigon(*LOOP).code == 0
    assert committed(lab) == ["A\tdone.txt"]
    assert (lab.home / "refused").read_text() == "7\n", "the checkout is the loop's"


def test_an_agent_cannot_hide_a_change_from_the_index(lab: Lab) -> None:
    lab.write("code.txt", "one\n")
    begin(lab, "git update-index --assume-unchanged code.txt; echo two > code.txt; touch done.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out
    assert committed(lab) == ["M\tcode.txt", "A\tdone.txt"]
    lab.sound()


def test_odd_file_names_links_and_modes_are_committed_as_they_are(lab: Lab) -> None:
    lab.write("plain.sh", "true\n")
    lab.write("tool.sh", "true\n", executable=True)
    lab.write("was-file", "x\n")
    lab.write("was/dir", "x\n")
    begin(
        lab,
        r"""
        touch done.txt "$(printf 'new\nline')" "quote\"d" ' space' "$(printf 'latin-\351')" ./-dash 'star*' ':(top)x' é
        ln -s /nowhere/at/all dangling; ln -s . loop
        chmod +x plain.sh; chmod -x tool.sh
        rm was-file; mkdir was-file; touch was-file/now
        rm -r was; touch was
        mkfifo pipe
        """,
        frontmatter=ANYTHING,
    )
    proven(lab)
    raw = subprocess.run(
        ["git", "-c", "core.quotePath=true", "diff-tree", "-r", "--no-renames", "-z", "--raw", "HEAD~1", "HEAD"],
        cwd=lab.root,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    modes = {path: info.split()[1].decode() for info, path in zip(raw[::2], raw[1::2], strict=False)}
    for name in (b"new\nline", b'quote"d', b" space", b"latin-\xe9", b"-dash", b"star*", b":(top)x", "é".encode()):
        assert modes[name] == "100644", name
    assert modes[b"dangling"] == modes[b"loop"] == "120000"
    assert (modes[b"plain.sh"], modes[b"tool.sh"]) == ("100755", "100644")
    assert (modes[b"was-file"], modes[b"was-file/now"]) == ("000000", "100644")
    assert (modes[b"was/dir"], modes[b"was"]) == ("000000", "100644")
    assert b"pipe" not in modes
    ordinary(lab)


def test_a_file_mode_that_the_person_ignores_is_ignored(lab: Lab) -> None:
    lab.write("plain.sh", "true\n")
    lab.git("config", "core.fileMode", "false")
    begin(lab, "chmod +x plain.sh; touch done.txt")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt"]


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_lfs_files_are_stored_as_pointers(lab: Lab) -> None:
    lab.git("lfs", "install", "--local")
    lab.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    lab.write("old.bin", b"\0old")
    begin(lab, "printf '\\0new' > new.bin; touch done.txt")
    proven(lab)
    assert lab.git("show", "HEAD:new.bin").startswith("version https://git-lfs")
    ordinary(lab)


# --- what an agent plants in git

PLANT = r"""
mark() { printf '#!/bin/sh\ntouch "%s/planted/%s"\ncat\n' "$HOME" "$1" > "$HOME/bin/$1"; chmod +x "$HOME/bin/$1"; }
mkdir -p "$HOME/planted" "$HOME/bin" .githooks .git/hooks
for name in fsmonitor clean smudge process textconv external pager gpg editor ssh credential alias worktree-clean; do
  mark "$name"
done
for hook in pre-commit commit-msg prepare-commit-msg post-commit post-checkout post-index-change post-merge \
            pre-auto-gc reference-transaction post-rewrite fsmonitor-watchman; do
  mark "hook-$hook"; cp "$HOME/bin/hook-$hook" ".git/hooks/$hook"; cp "$HOME/bin/hook-$hook" ".githooks/$hook"
done
git config extensions.worktreeConfig true
git config core.hooksPath "$PWD/.githooks"
git config core.fsmonitor "$HOME/bin/fsmonitor"
git config filter.evil.clean "$HOME/bin/clean"
git config filter.evil.smudge "$HOME/bin/smudge"
git config filter.evil2.process "$HOME/bin/process"
git config filter.evil.required true
git config --worktree filter.evil3.clean "$HOME/bin/worktree-clean"
git config diff.external "$HOME/bin/external"
git config diff.evil.textconv "$HOME/bin/textconv"
git config diff.evil.command "$HOME/bin/external"
git config core.pager "$HOME/bin/pager"
git config core.editor "$HOME/bin/editor"
git config core.sshCommand "$HOME/bin/ssh"
git config commit.gpgsign true
git config gpg.program "$HOME/bin/gpg"
git config alias.add "!$HOME/bin/alias"
git config gc.auto 1
printf '* filter=evil diff=evil\n*.two filter=evil2\n*.three filter=evil3\n' > .gitattributes
printf '* filter=evil diff=evil\n' > .git/info/attributes
touch x.two x.three done.txt
"""


def test_nothing_that_an_agent_plants_in_git_runs_in_aigon(lab: Lab) -> None:
    begin(
        lab,
        PLANT,
        f"it is done <!-- verify: {DONE_WHEN} -->",
        "it is two <!-- verify: test -f two.txt -->",
        frontmatter=ANYTHING,
    )
    lab.agent(f"if test $AIGON_ITERATION = 1; then {PLANT}\nelse echo x > two.txt; fi")
    lab.commit("planter")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert len(list((lab.home / "bin").iterdir())) > 20
    assert sorted(path.name for path in (lab.home / "planted").iterdir()) == []
    files = lab.git("-c", "core.fsmonitor=false", "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert {"done.txt", "two.txt", "x.two", ".githooks/pre-commit"} <= set(files)


def test_what_an_agent_planted_does_not_run_in_the_next_command_either(lab: Lab) -> None:
    begin(lab, PLANT, "it is two <!-- verify: test -f two.txt -->", frontmatter=ANYTHING)
    assert lab.aigon(*LOOP, "--max-iterations=1").code == 3
    for arguments in (("feature-status", "42"), ("parked",), ("feature-validate", "42"), RESUME, LOOP):
        ran = lab.aigon(*arguments)
        assert ran.code in (0, 3), ran.out + ran.err
    assert sorted(path.name for path in (lab.home / "planted").iterdir()) == []


def test_a_filter_in_a_nested_repository_does_not_run(lab: Lab) -> None:
    script = r"""
    mkdir -p "$HOME/planted" nested; cd nested; git init -q
    printf '#!/bin/sh\ntouch "%s/planted/nested"\ncat\n' "$HOME" > "$HOME/evil"; chmod +x "$HOME/evil"
    echo x > f; git add f; git commit -q -m x
    echo '* filter=evil' > .gitattributes; git config filter.evil.clean "$HOME/evil"
    git config core.fsmonitor "$HOME/evil"
    echo y > f; cd ..; touch done.txt
    """
    begin(lab, script)
    ran = lab.aigon(*LOOP, "--max-iterations=1")
    assert ran.code == 3, ran.out
    assert list((lab.home / "planted").iterdir()) == []


def test_a_persons_own_hooks_and_signing_do_not_run_for_checkpoints(lab: Lab) -> None:
    begin(lab, "touch done.txt")
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-checkout"):
        lab.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {lab.home}/ran-{hook}\nexit 1\n", executable=True)
    lab.git("config", "commit.gpgSign", "true")
    lab.git("config", "gpg.program", "false")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert list(lab.home.glob("ran-*")) == []
    lab.sound()


# --- what people do meanwhile


@pytest.mark.parametrize(
    "command",
    [
        "git gc -q --prune=now --aggressive",
        pytest.param("git pack-refs --all --prune", marks=pytest.mark.slow),
        pytest.param("git repack -qadf", marks=pytest.mark.slow),
        pytest.param("git reflog expire --all", marks=pytest.mark.slow),
    ],
)
def test_housekeeping_between_two_iterations_is_fine(lab: Lab, command: str) -> None:
    begin(lab, f"if test $AIGON_ITERATION = 1; then echo a > a.txt; else {command}; touch done.txt; fi")
    proven(lab)
    assert lab.git("diff", "--name-only", "main", BRANCH, "--", "*.txt").splitlines() == ["a.txt", "done.txt"]
    ordinary(lab)


def test_housekeeping_between_run_and_resume_is_fine(lab: Lab) -> None:
    begin(lab, "test $AIGON_ITERATION = 1 && echo $RANDOM > a.txt || touch done.txt")
    assert lab.aigon(*LOOP, "--max-iterations=1").code == 3
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    lab.git("pack-refs", "--all")
    proven(lab, *RESUME)
    assert lab.state()["iteration"] == 2
    ordinary(lab)


def test_what_was_parked_survives_a_persons_gc(lab: Lab) -> None:
    begin(lab, "echo '- [ ] weaker' > $AIGON_SPEC; touch done.txt")
    proven(lab)
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    assert lab.git("show", f"{parked(lab)[0]}:{SPEC}") == "- [ ] weaker"


def test_ordinary_git_between_run_and_resume(lab: Lab) -> None:
    begin(lab, "test -f fix.txt && touch done.txt; true")
    assert lab.aigon(*LOOP, "--max-iterations=1").code == 3
    lab.write("fix.txt", "by hand\n")
    by_hand = lab.commit("by hand")
    lab.git("switch", "-q", "main")
    lab.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    proven(lab, *RESUME)
    assert lab.git("merge-base", "--is-ancestor", by_hand, BRANCH) == ""
    assert lab.git("branch", "--show-current") == BRANCH


# --- what agents do to the branch


def test_an_agent_that_commits_is_kept_as_parent(lab: Lab) -> None:
    begin(lab, "touch done.txt; git add -A; git commit -q -m 'by the agent'")
    proven(lab)
    assert lab.git("log", "-2", "--format=%s").splitlines()[1] == "by the agent"
    assert parked(lab) == []
    ordinary(lab)


@pytest.mark.parametrize(
    "script",
    [
        "git reset -q --hard HEAD~1",
        pytest.param("git commit -q --amend -m rewritten", marks=pytest.mark.slow),
        "git checkout -q --detach; git branch -q -D $(git branch --list 'feature-42*' --format='%(refname:short)')",
        pytest.param(
            "git checkout -q --orphan fresh; git commit -q -m fresh; git branch -q -M fresh feature-42-dark-mode",
            marks=pytest.mark.slow,
        ),
        pytest.param("git update-ref -d refs/heads/feature-42-dark-mode", marks=pytest.mark.slow),
    ],
    ids=["reset", "amend", "delete", "orphan", "unborn"],
)
def test_a_branch_that_an_agent_rewrote_is_parked_and_put_back(lab: Lab, script: str) -> None:
    begin(
        lab,
        f"test $AIGON_ITERATION = 1 && echo one > one.txt && exit; {script}; touch done.txt",
        "one <!-- verify: test -f one.txt -->",
        f"it is done <!-- verify: {DONE_WHEN} -->",
    )
    lab.config(ralph={"maxIterations": 3})
    lab.commit("limit")
    ran = lab.aigon(*LOOP)
    assert ran.code in (0, 3), ran.out + ran.err
    subjects = lab.git("log", "--format=%s", BRANCH).splitlines()
    assert [subject for subject in subjects if "iteration 1:" in subject] == subjects[-4:-3], subjects
    assert subjects[-3:] == ["limit", "ready", "first"]
    assert lab.git("branch", "--show-current") == BRANCH
    if "update-ref" not in script and "--detach" not in script:
        assert any(ref.endswith("-branch") for ref in parked(lab))
    assert "put back" in ran.out or "continuing from" in ran.out
    lab.sound()


@pytest.mark.parametrize(
    "script",
    [
        "git switch -q -c elsewhere",
        "git checkout -q --detach",
        "git switch -q main",
        "echo garbage > .git/HEAD",
        "rm .git/HEAD",
    ],
)
def test_a_head_that_an_agent_moved_is_put_back(lab: Lab, script: str) -> None:
    begin(lab, f"{script}; touch done.txt")
    ran = proven(lab)
    assert lab.git("branch", "--show-current") == BRANCH
    assert "put back" in ran.out
    assert committed(lab) == ["A\tdone.txt"]


def test_commits_that_an_agent_made_on_another_branch_stay_there(lab: Lab) -> None:
    begin(lab, "git switch -q -c elsewhere; touch done.txt; git add -A; git commit -q -m there")
    proven(lab)
    assert lab.git("log", "-1", "--format=%s", "elsewhere") == "there"
    assert committed(lab) == ["A\tdone.txt"]


def test_every_object_that_an_agent_overwrote_is_put_back_before_the_proof(lab: Lab) -> None:
    for number in range(400):  # more than the other looks compare
        (lab.home / f"{number}.txt").write_text(f"{number}\n")
    names = lab.git("hash-object", "-w", *map(str, lab.home.glob("*.txt"))).split()
    files = " ".join(f".git/objects/{name[:2]}/{name[2:]}" for name in names)
    begin(lab, f"chmod u+w {files}; for each in {files}; do echo forged > $each; done; touch done.txt")
    lab.env["AIGON_SANDBOX"] = "none"
    ran = proven(lab)
    assert ran.out.count("were overwritten; they were put back") > 1, ran.out


def test_an_agent_that_breaks_gits_configuration_loses_nothing(lab: Lab) -> None:
    config = lab.path(".git/config")
    begin(lab, "touch done.txt; echo '[broken' >> .git/config")
    good = config.read_bytes()
    ran = proven(lab)
    assert ".git/config (git cannot read it) was changed; it was put back" in ran.out
    assert config.read_bytes() == good
    assert committed(lab) == ["A\tdone.txt"]


# --- what agents do to aigon's own files

OWN = {
    "edited spec": "sed -i 's/\\[ \\]/[x]/' $AIGON_SPEC",
    "deleted spec": "rm $AIGON_SPEC",
    "spec moved": "git mv $AIGON_SPEC docs/specs/features/05-done.md",
    "spec a folder": "rm $AIGON_SPEC; mkdir $AIGON_SPEC; touch $AIGON_SPEC/x",
    "spec a link": "mv $AIGON_SPEC x.md; ln -s ../../../../x.md $AIGON_SPEC",
    "docs removed": "rm -r docs",
    "docs a file": "rm -r docs; touch docs",
    "docs a link": "mv docs elsewhere; ln -s elsewhere docs",
    "log forged": f"mkdir -p docs/specs/features/logs; echo '- [x] all' >> {LOG}",
    "log a folder": f"rm -rf {LOG}; mkdir -p {LOG}; touch {LOG}/x",
}


SHOWN = ("edited spec", "spec moved", "docs a link", "log forged")
"""Those that the default suite tries."""


@pytest.mark.parametrize(
    "script",
    [pytest.param(script, marks=() if name in SHOWN else pytest.mark.slow) for name, script in OWN.items()],
    ids=list(OWN),
)
def test_spec_and_log_are_put_back_and_the_edits_parked(lab: Lab, script: str) -> None:
    begin(lab, f"{script}; test $AIGON_ITERATION = 1 || touch done.txt", frontmatter=ANYTHING)
    before = lab.path(SPEC).read_bytes()
    ran = lab.aigon(*LOOP, "--max-iterations=2")
    assert ran.code == 0, ran.out + ran.err
    assert lab.path(SPEC).read_bytes() == before.replace(b"[ ]", b"[x]")
    assert lab.read(LOG).count("## Iteration ") == 2
    assert any(ref.endswith("-own-files") for ref in parked(lab))
    assert f"your edits to {SPEC}" in ran.out or f"your edits to {LOG}" in ran.out
    lab.sound()


def test_parked_work_is_listed_and_comes_back_as_a_branch(lab: Lab) -> None:
    begin(lab, "echo '- [ ] weaker' > $AIGON_SPEC; touch done.txt")
    proven(lab)
    rows = lab.aigon("parked", "--json").json["parked"]
    assert [row["ref"] for row in rows] == parked(lab)
    assert SPEC in rows[0]["subject"]
    assert rows[0]["ref"] in lab.aigon("parked", "list").out
    short = rows[0]["ref"].removeprefix("refs/aigon/parked/")
    branch = lab.aigon("parked", "restore", short, "--json").json["branch"]
    assert lab.git("rev-parse", branch) == rows[0]["commit"]
    assert lab.git("show", f"{branch}:{SPEC}") == "- [ ] weaker"
    assert lab.aigon("parked", "restore", rows[0]["ref"], "--json").json["branch"] == branch
    assert lab.git("branch", "--show-current") == BRANCH
    lab.sound()


def test_a_repository_that_was_moved_goes_on_with_its_run(lab: Lab) -> None:
    begin(lab, "test $AIGON_ITERATION = 1 || touch done.txt")
    assert lab.aigon(*LOOP, "--max-iterations=1").code == 3
    moved = lab.root.with_name("moved")
    lab.root.rename(moved)
    lab.root = moved
    proven(lab, *RESUME)
    assert lab.state()["iteration"] == 2


def test_a_copy_of_a_repository_has_no_run_to_resume(lab: Lab) -> None:
    begin(lab, "true")
    assert lab.aigon(*LOOP, "--max-iterations=1").code == 3
    copy = lab.root.with_name("copy")
    shutil.copytree(lab.root, copy, symlinks=True)
    assert lab.aigon(*RESUME, cwd=copy).code == 2
    ran = lab.aigon(*RESUME, "--max-iterations=1")
    assert ran.code == 3, ran.err
    assert lab.state()["iteration"] == 2


# --- what a person has told git to overlook


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_a_checkpoint_holds_what_was_judged_whatever_git_was_told_to_overlook(lab: Lab, bit: str) -> None:
    lab.write("app.txt", "old\n")
    begin(lab, "echo new > app.txt", "it is new <!-- verify: grep -q new app.txt -->")
    lab.git("update-index", bit, "app.txt")
    proven(lab)
    assert committed(lab) == ["M\tapp.txt"]
    ordinary(lab)


def test_a_change_that_a_person_hides_from_git_is_refused_and_never_published(lab: Lab) -> None:
    lab.write("local.txt", "nothing\n")
    lab.write("odd *name.txt", "same\n")
    begin(lab, "touch done.txt")
    lab.git("update-index", "--skip-worktree", "local.txt", "odd *name.txt")
    lab.write("local.txt", "a secret\n")
    before = lab.fingerprint()
    ran = lab.aigon(*LOOP)
    assert ran.code == 7, ran.out
    assert "local.txt" in ran.err and "--no-skip-worktree" in ran.err and "odd" not in ran.err
    assert lab.fingerprint() == before


def test_a_temporary_file_of_a_killed_aigon_is_in_no_checkpoint(lab: Lab) -> None:
    begin(lab, "touch done.txt .aigon/loop-state-42.json.4711.tmp")
    proven(lab)
    assert committed(lab) == ["A\tdone.txt"]


def test_a_commit_on_a_detached_head_is_parked(lab: Lab) -> None:
    begin(lab, "git checkout -q --detach; touch done.txt alone.txt; git add -A; git commit -qm alone; rm alone.txt")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    (ref,) = lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked").splitlines()
    assert "alone.txt" in lab.git("ls-tree", "--name-only", ref).split()
    assert lab.git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    ordinary(lab)


def test_a_merge_that_an_agent_left_unfinished_is_red(lab: Lab) -> None:
    lab.git("switch", "-qc", "other")
    lab.write("a.txt", "theirs\n")
    lab.commit("theirs")
    lab.git("switch", "-q", "main")
    begin(lab, "echo ours > a.txt; git add a.txt; git commit -qm ours; git merge -q other; touch done.txt")
    ran = lab.aigon(*LOOP, "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert "a merge was left unfinished" in ran.out
