"""A command in a room cannot reach the workspace: every mechanism that works here, tried by the tricks one knows."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aigon.errors import AigonError, Exit
from aigon.isolation.enclosure import Enclosure, Isolation, find_bubblewrap
from aigon.isolation.landlock import list_beside
from aigon.isolation.mechanisms import IN_ORDER, choose_isolation, find_isolation_flaw

NOBODY = 65534


@dataclass(frozen=True)
class Place:
    """A workspace with a secret, an export without, records and dependencies; `user` is who runs commands."""

    root: Path
    isolation: Isolation
    user: int

    @property
    def enclosure(self) -> Enclosure:
        lent = {"deps": self.root / "deps"}
        hidden = (self.root / "records", self.root / "ws" / ".git", self.root / "nowhere")
        scratch = self.root / "records" / "scratch"
        return Enclosure(self.isolation, self.root / "ws", self.root / "export", scratch, hidden, lent)

    def run(self, script: str, *argv: str, cwd: str = ".") -> "subprocess.CompletedProcess[str]":
        """Run a shell script that stands in the export, so that its paths are as written; its working folder."""
        (self.root / "export" / "script").write_text(textwrap.dedent(script).replace("WS", str(self.root / "ws")))
        line = self.enclosure.wrap_command(["sh", f"{self.enclosure.seen_as}/script", *argv], Path(cwd))
        return self.started(line)

    def started(self, line: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command line as the user whom this is about."""
        # Root gives its rights up in the child, as `setpriv` would, and has a Python that anybody may run.
        user: dict[str, Any] = {}
        if self.user != os.geteuid():
            user = {"user": self.user, "group": self.user, "extra_groups": []}
        if user and line[0] == sys.executable:
            line = [_everybodys_python(), *line[1:]]
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.root)}
        folder = self.root / "records" / "scratch"
        done: subprocess.CompletedProcess[str] = subprocess.run(
            line, cwd=folder, env=env, capture_output=True, text=True, timeout=60, **user
        )
        return done


def _everybodys_python() -> str:
    """An interpreter that another user may run; the tests that want one are skipped without."""
    for program in (sys.executable, "/usr/bin/python3"):
        code = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            if subprocess.run([program, "-c", code], user=NOBODY, cwd="/", capture_output=True).returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("no Python that an ordinary user may run")


@pytest.fixture(params=[(name, user) for name in IN_ORDER for user in ("me", "nobody")], ids="-".join)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each mechanism, as who runs the tests and, where that is root, as an ordinary user, too."""
    isolation, who = request.param
    if who == "nobody" and os.geteuid():
        pytest.skip("only root can become somebody else")
    with tempfile.TemporaryDirectory(prefix="aigon-isolation-") as folder:
        root = Path(folder).resolve()
        root.chmod(0o755)
        (root / "ws").mkdir()
        if why := find_isolation_flaw(root / "ws", isolation):
            pytest.skip(f"{isolation} does not work here: {why}")
        yield _furnished(Place(root, isolation, NOBODY if who == "nobody" else os.geteuid()))


def _furnished(place: Place) -> Place:
    root = place.root
    for name in ("ws/.git", "export/deps", "export/sub", "records/scratch", "deps/.cache"):
        (root / name).mkdir(parents=True)
    for name in ("ws/secret", "records/secret", "ws/.git/secret"):
        (root / name).write_text("SECRET\n")
    (root / "ws/both").write_text("SECRET workspace\n")
    (root / "export/both").write_text("exported\n")
    (root / "deps/tool").write_text("lent\n")
    (root / "deps/.cache/planted").write_text("PLANTED\n")
    (root / "export/link").symlink_to(root / "ws/secret")
    if not place.enclosure.mounts:
        (root / "export/deps").rmdir()
        (root / "export/deps").symlink_to(root / "deps")
    for path in (root, *root.rglob("*")):
        os.chown(path, place.user, -1, follow_symlinks=False)
    return place


READ = """
    cat WS/secret WS/.git/secret link WS/../records/secret ../ws/secret
    cat /proc/self/cwd/../ws/secret /proc/self/root/WS/secret
    cd /; cat ./WS/secret
    for process in /proc/[0-9]*; do
        cat $process/root/WS/secret $process/cwd/../../ws/secret $process/cwd/ws/secret
    done
    nsenter --target $PPID --mount cat WS/secret
    nsenter --target 1 --mount cat WS/secret
"""
UNDO = """
    umount WS; umount -l WS; umount -R -l /
    nsenter --target $$ --user --mount umount WS
    unshare --user --map-root-user nsenter --target $$ --user --mount umount WS
    setpriv --bounding-set +sys_admin --inh-caps +sys_admin --ambient-caps +sys_admin umount WS; cat WS/secret
    unshare --user --map-root-user --mount umount WS && cat WS/secret
    unshare --user --map-root-user --mount sh -c '
        mkdir -p $1/here; cd $1/..
        mount --bind .. $1/here && cat $1/here/ws/secret
        mount --rbind .. $1/here && cat $1/here/ws/secret
        umount -R WS; cat WS/secret
        mount --move WS $1/here; cat WS/secret
        mount -o remount,rw,bind WS/deps; echo broken > WS/deps/tool
        mount -o remount,rw $1/..; echo broken > $1/../broken
    ' sh "$1"
    cat WS/secret
"""


def test_the_workspace_cannot_be_read_whatever_a_command_tries(place: Place) -> None:
    read, undone = place.run(READ), place.run(UNDO, str(place.root / "records" / "scratch"))
    said = read.stdout + read.stderr + undone.stdout + undone.stderr
    assert "SECRET" not in said
    assert (place.root / "deps/tool").read_text() == "lent\n"
    assert not (place.root / "records/broken").exists()


def test_the_export_is_there_and_can_be_written_and_what_is_lent_can_only_be_read(place: Place) -> None:
    script = """
        pwd; cat both deps/tool; echo new > made; ln made linked; mv made sub/moved
        cat deps/.cache/planted
        echo changed > deps/tool || echo kept
        rm -f deps/tool; mkdir deps/more
        echo $(id -u) $(id -g)
        echo scratch > $1/file
        echo outside > $1/../file
    """
    ran = place.run(script, str(place.root / "records/scratch"))
    group = os.getegid() if place.user == os.geteuid() else NOBODY
    assert ran.stdout.splitlines() == [
        str(place.enclosure.seen_as),
        "exported",
        "lent",
        "kept",
        f"{place.user} {group}",
    ], ran.stderr
    assert (place.root / "export/sub/moved").read_text() == (place.root / "export/linked").read_text() == "new\n"
    assert sorted(path.name for path in (place.root / "deps").iterdir()) == [".cache", "tool"]
    assert (place.root / "records/scratch/file").read_text() == "scratch\n"
    assert not (place.root / "records/file").exists()
    assert not (place.root / "ws/made").exists()


def test_a_workspace_within_what_is_hidden_is_shown_as_the_export_all_the_same(place: Place) -> None:
    scratch, hidden = place.root / "records" / "scratch", (place.root, place.root / "ws", place.root / "records")
    enclosure = Enclosure(place.isolation, place.root / "ws", place.root / "export", scratch, hidden)
    script = (
        f"cat both; echo new > made; echo x > {scratch}/file; cat {place.root}/records/secret; ls {place.root}/*/.git"
    )
    ran = place.started(enclosure.wrap_command(["sh", "-c", script], Path()))
    assert ran.stdout == "exported\n", ran.stderr
    assert (place.root / "export/made").read_text() == "new\n" and (scratch / "file").read_text() == "x\n"


def test_the_workspace_cannot_be_written_either(place: Place) -> None:
    before = sorted(path.name for path in (place.root / "ws").rglob("*"))
    place.run("echo x > WS/secret; echo x > WS/planted; rm -rf WS/.git; mkdir WS/folder; ln both WS/linked")
    assert sorted(path.name for path in (place.root / "ws").rglob("*")) == before
    assert (place.root / "ws/secret").read_text() == "SECRET\n"


def test_output_exit_code_and_signals_are_the_commands_own(place: Place) -> None:
    ran = place.run("echo out; echo err >&2; exit 37", cwd="sub")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("out\n", "err\n", 37)
    assert place.run("yes | head -1 >/dev/null; echo ${PIPESTATUS}").stderr == "", "SIGPIPE ends it, as ever"
    ended = place.run("kill -SEGV $$").returncode
    assert ended in ((139,) if place.isolation == "bwrap" else (-signal.SIGSEGV,))
    missing = place.started(place.enclosure.wrap_command(["no-such-program"], Path()))
    assert missing.returncode and "no-such-program" in missing.stderr


def test_a_signal_to_the_group_reaches_the_command_at_once(place: Place) -> None:
    if place.user != os.geteuid():
        pytest.skip("who signals is tried as oneself")
    (place.root / "export/script").write_text(
        "trap 'echo ended; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    )
    line = place.enclosure.wrap_command(["sh", "script"], Path())
    process = subprocess.Popen(line, cwd=place.root, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGTERM)
    rest = process.stdout.read()
    # bubblewrap itself dies of the signal and its command with it; elsewhere the command is the leader and answers.
    ended = process.wait(10)
    assert ended == -signal.SIGTERM if place.isolation == "bwrap" else (rest, ended) == ("ended\n", 5)
    assert time.monotonic() - begun < 5


def test_a_path_of_the_workspace_in_the_arguments_means_the_same_place_in_the_room(place: Place) -> None:
    ws = place.root / "ws"
    line = place.enclosure.wrap_command(["sh", "-c", f"cat {ws}/both; cat {ws}2/x; pwd", str(ws)], ws / "sub")
    ran = place.started(line)
    assert ran.stdout.splitlines() == ["exported", f"{place.enclosure.seen_as}/sub"]
    assert f"{ws}2/x" in ran.stderr, "another folder whose name only begins so"


def test_no_isolation_runs_in_the_export_all_the_same(tmp_path: Path) -> None:
    for name in ("ws", "export/sub", "scratch"):
        (tmp_path / name).mkdir(parents=True)
    enclosure = Enclosure("none", tmp_path / "ws", tmp_path / "export", tmp_path / "scratch")
    line = enclosure.wrap_command(["sh", "-c", f"pwd; echo $PWD -I{tmp_path}/ws/include"], Path("sub"))
    ran = subprocess.run(line, cwd=tmp_path / "scratch", capture_output=True, text=True)
    export = enclosure.root
    (tmp_path / "link").symlink_to("ws")
    linked = Enclosure("none", tmp_path / "link", export, tmp_path / "scratch")
    assert linked.translate_paths(f"{tmp_path}/ws:{tmp_path}/link/a") == f"{export}:{export}/a"
    assert ran.stdout.splitlines() == [f"{export}/sub", f"{export}/sub -I{export}/include"]


def test_the_best_mechanism_is_one_that_was_tried_and_works(tmp_path: Path) -> None:
    works = [name for name in IN_ORDER if not find_isolation_flaw(tmp_path, name)]
    assert choose_isolation(tmp_path) == (works[0] if works else "none")
    assert choose_isolation(tmp_path, "none") == "none"
    for name in IN_ORDER:
        if name in works:
            assert choose_isolation(tmp_path, name) == name
        else:
            with pytest.raises(AigonError) as refused:
                choose_isolation(tmp_path, name)
            assert refused.value.code == Exit.ENVIRONMENT and name in refused.value.what and refused.value.hint


def test_a_bubblewrap_that_anybody_could_have_put_there_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "bin" / "bwrap"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\nwhile [ $# -gt 0 ] && [ $1 != -- ]; do shift; done; shift; exec $@\n")
    planted.chmod(0o777)
    monkeypatch.setenv("PATH", str(planted.parent))
    assert "is not used" in find_isolation_flaw(tmp_path / "workspace", "bwrap")
    planted.chmod(0o755)  # root's own now, where root runs this
    assert "is not used" in find_isolation_flaw(tmp_path / "workspace", "bwrap")
    monkeypatch.setenv("PATH", f"{planted.parent}{os.pathsep}/usr/bin")
    assert find_bubblewrap() in (None, "/usr/bin/bwrap")


def test_everything_but_the_hidden_is_beside_it(tmp_path: Path) -> None:
    for name in ("a/b/hidden", "a/b/c", "a/d/e", "f/hidden2/x"):
        (tmp_path / name).mkdir(parents=True)
    found = {*list_beside([f"{tmp_path}/a/b/hidden", f"{tmp_path}/f/hidden2"])}
    assert {path for path in found if path.startswith(f"{tmp_path}/")} == {f"{tmp_path}/a/b/c", f"{tmp_path}/a/d"}


@pytest.mark.skipif(shutil.which("bwrap") is not None, reason="bubblewrap is installed")
def test_without_bubblewrap_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(AigonError, match="bwrap") as refused:
        choose_isolation(tmp_path, "bwrap")
    assert "Install bubblewrap" in refused.value.hint
