"""What a hostile agent reaches, by mode and mechanism: the table in docs/sandbox.md."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aigon.config.grants import Mechanism
from aigon.isolation import sandbox
from aigon.isolation.mechanisms import can_overlay
from tests.lab import DONE_WHEN, Lab

OTHER = "docs/specs/features/02-backlog/feature-43-other.md"
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
ATTACK = r"""
try() { if ( eval "$2" ) > /dev/null 2>&1; then echo "$1 open"; else echo "$1 denied"; fi; }
echo text > done.txt; git add done.txt; git commit -qm planted
for each in "$MAIN/.git" "$(git rev-parse --git-common-dir)"; do
  git --git-dir="$each" update-ref refs/heads/main HEAD; git --git-dir="$each" update-ref refs/heads/rival HEAD
  chmod -R u+w "$each/objects"; for file in "$each"/objects/??/* "$each"/objects/pack/*; do echo bad > "$file"; done
  rm -rf "$each"/objects/0? "$each"/objects/1? "$each"/objects/pack "$each"/hooks
  mkdir -p "$each/objects/info" "$each/info"; echo /nowhere > "$each/objects/info/alternates"
  echo "$(git rev-parse HEAD)" > "$each/shallow"; echo bad > "$each/objects/info/commit-graph"
  git --git-dir="$each" replace -f main HEAD; git --git-dir="$each" config core.fsmonitor "touch $MAIN/ran"
done
for each in . "$MAIN"; do echo weakened > "$each/docs/specs/features/02-backlog/feature-43-other.md"; done
try key 'cat "$PERSON/.ssh/id_x"'
try environment 'echo bad > "$PERSON/.local/lib/python3/evil.pth"'
try cache 'echo bad > "$PERSON/.cache/wheel"'
try records 'echo bad > "$(ls -d "$PERSON"/state/repos/*)/x"'
try socket 'python3 -c "$CONNECT" "$SOCKET"'
"""
REACHED: dict[Mechanism, tuple[str, ...]] = {
    "namespaces": ("cache",),
    "bwrap": ("cache",),
    "landlock": ("cache", "socket"),
    "none": ("key", "environment", "cache", "records", "socket"),
}
PLACES = {"main": ("--no-worktree",), "worktree": ("--worktree",), "arena": ("--agent", "mine", "--agent", "honest")}
USUAL = (("main", "namespaces"), ("main", "none"))
CELLS = [(place, mechanism) for place in PLACES for mechanism in REACHED]


@pytest.fixture
def listening() -> Iterator[Path]:
    """A socket of the person's. Its path has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="person-", dir="/tmp"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        server.listen()
        yield folder / "socket"
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("place", "mechanism"), [c if c in USUAL else pytest.param(*c, marks=pytest.mark.slow) for c in CELLS]
)
def test_what_a_hostile_agent_did_is_undone_or_never_happened(
    lab: Lab, place: str, mechanism: Mechanism, listening: Path
) -> None:
    if mechanism != "none" and (why := sandbox.find_sandbox_flaw(mechanism)):
        pytest.skip(f"{mechanism} does not work here: {why}")
    for name in (".ssh/id_x", ".cache/wheel", ".local/lib/python3/package.py"):
        (lab.home / name).parent.mkdir(parents=True, exist_ok=True)
        (lab.home / name).write_text("mine")
    lab.config(proof="in-place")
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.write(OTHER, "# Feature: Other\n\n## Acceptance Criteria\n\n- [ ] much\n")
    lab.agent("echo text > done.txt", name="honest")
    lab.agent(ATTACK)
    lab.commit("a feature")
    lab.git("branch", "rival")
    main, rival = lab.git("rev-parse", "main"), lab.git("rev-parse", "rival")
    tried = {"MAIN": str(lab.root), "PERSON": str(lab.home), "SOCKET": str(listening), "CONNECT": CONNECT}
    ran = lab.aigon("feature-implement", "42", "--loop", *PLACES[place], env={"AIGON_SANDBOX": mechanism, **tried},
                    timeout=110)  # fmt: skip
    assert ran.code in (0, 4), ran.out + ran.err
    logs = [log for log in lab.root.glob(".aigon/runs/*/001/agent.log") if "cache" in log.read_text()]
    lines = [line.split() for line in logs[0].read_text().splitlines()]
    said = {words[0]: words[1] for words in lines if len(words) == 2 and words[1] in ("open", "denied")}
    assert tuple(name for name, end in said.items() if end == "open") == REACHED[mechanism], said
    has_copy = mechanism == "namespaces" and can_overlay(lab.home / "state" / "probe")
    assert (lab.home / ".cache/wheel").read_text() == ("mine" if has_copy else "bad\n")
    lab.git("fsck", "--full", "--strict", "--no-reflogs")
    assert lab.git("rev-parse", "rival") == rival and lab.git("merge-base", "main", main) == main
    assert "planted" not in lab.git("log", "--format=%s", "main").splitlines()
    assert "- [ ] much" in lab.git("show", f"main:{OTHER}")
    # From a worktree, without a sandbox, the main checkout's files can be written: people write there, too.
    assert ("- [ ] much" in lab.read(OTHER)) == (mechanism != "none" or place == "main")
    assert not lab.path(".git/shallow").exists() and not lab.path("ran").exists()
