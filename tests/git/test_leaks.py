"""Secrets stay out of checkpoints, whether an agent leaves them lying about or commits them itself."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from aigon.git.person import LOCAL_VARIABLES, Checkout
from aigon.git.secret_files import find_leaks, make_content_check, make_tracked_check, unstage
from aigon.git.trusted import TrustedGit
from aigon.loop.take import rewrite_without
from aigon.secrets.leaks import SECRET_NAMES, find_leak, is_secret_name, list_exclude_lines
from tests.lab import Lab

CONFIGURED = False

# Put together here, so that this file holds none of them.
TOKEN = "sk-ant-" + "api03-" + "FAKE" * 20 + "AA"
KEY = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEFAKEFAKEFAKEFAKE\n-----END RSA PRIVATE " + "KEY-----\n"


@pytest.fixture(params=["sha1", "sha256"])
def any_lab(tmp_path: Path, request: pytest.FixtureRequest) -> Lab:
    """A repository of either kind of hash."""
    return Lab(tmp_path / "either").init(f"--object-format={request.param}")


@pytest.fixture(autouse=True)
def scrub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a laboratory, here in this process."""
    for name in LOCAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


def own_git(lab: Lab) -> TrustedGit:
    """aigon's own git for the laboratory's repository."""
    with Checkout.open(lab.root) as checkout:
        return TrustedGit(checkout, lab.home / "own")


def found(lab: Lab, *changed: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """What is kept out, of files that changed since HEAD."""
    git, base = own_git(lab), lab.git("rev-parse", "HEAD")
    leaked = find_leaks(
        lab.root, changed, make_tracked_check(git, base), make_content_check(git, base), allowed.__contains__
    )
    return [f"{each.path}:{each.line}" for each in leaked]


def test_changed_files_that_hold_secrets_are_named_and_others_are_not(lab: Lab) -> None:
    lab.write(".env", "A=1\n")
    lab.write("src/config.py", f'# x\nKEY = "{TOKEN}"\n')
    lab.write("deploy.pem", KEY)
    lab.write("src/fine.py", 'KEY = os.environ["KEY"]\n')
    lab.path("link").symlink_to(".env")
    os.mkfifo(lab.path("pipe"))
    lab.write("folder/x", "")
    changed = (".env", "src/config.py", "deploy.pem", "src/fine.py", "link", "pipe", "folder", "gone")
    assert found(lab, *changed) == [".env:0", "src/config.py:2", "deploy.pem:0"]
    assert found(lab, *changed, allowed=("deploy.pem", ".env")) == ["src/config.py:2"]


def test_what_the_base_has_is_a_persons_decision(lab: Lab) -> None:
    lab.write(".env", "A=1\n")
    lab.write("tests/test_redact.py", f'"{TOKEN}"\n')
    lab.commit("base")
    lab.write(".env", "A=2\n")
    lab.write("tests/unit/test_redact.py", f'# moved\n"{TOKEN}"\n')
    assert found(lab, ".env", "tests/unit/test_redact.py") == []
    lab.write(".env", "A=" + "ghp_" + "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo" + "\n")
    assert found(lab, ".env") == [".env:1"]


def test_what_is_kept_out_of_the_index_stays_in_the_work_tree(any_lab: Lab) -> None:
    lab = any_lab
    lab.write("src/config.py", "KEY = None\n")
    parent = lab.commit("base")
    lab.write("src/config.py", f'KEY = "{TOKEN}"\n')
    lab.write("a\nb.pem", KEY)
    lab.write("new.py", "")
    git = own_git(lab)
    git.run("read-tree", parent)
    git.run("add", "-A")
    unstage(git, parent, ["src/config.py", "a\nb.pem"])
    assert git.run("diff-index", "--cached", "--name-only", "-z", parent) == b"new.py\0"
    assert TOKEN in lab.read("src/config.py") and lab.path("a\nb.pem").exists()


NAMES = (
    ".env", "api/.env", ".env.production", ".env.local", ".env.test.local", ".env-prod", ".env.example", ".env.test",
    ".env.local.example", ".env.ci", ".environment", "id_rsa", "id_rsa.pub", "id_ed25519.bak", "id_rsa.py", "a.p12",
    "x/debug.keystore", "x/release.keystore", ".netrc", "config/.env.allowed", ".npmrc", "a.pem", "id_card.png",
    "venv/.env/lib/x.py", ".env.d.ts",
)  # fmt: skip


def test_exclude_lines_keep_out_what_the_names_keep_out_and_no_folder(lab: Lab) -> None:
    for name in NAMES:
        if name != "api/.env":
            lab.write(name, "x")
    lab.path("api").mkdir()
    lab.write("api/.env", "x")
    git = own_git(lab)
    exclude = git.directory / "info" / "exclude"
    exclude.write_text("\n".join([*list_exclude_lines(["config/.env.allowed"]), exclude.read_text()]))
    git.run("add", "-A")
    taken = set(git.run("ls-files", "-z").decode().rstrip("\0").split("\0")) - {"README.md"}
    assert taken == {name for name in NAMES if not is_secret_name(name)} | {"config/.env.allowed"}
    assert len(SECRET_NAMES) > 20


@pytest.mark.slow
def test_thousands_of_changed_files_take_no_time(lab: Lab) -> None:
    text = "".join(f"const value{n} = require('./module-{n}'); // nothing to see in here\n" for n in range(120))
    names = [f"src/{n % 50}/file{n}.js" for n in range(3000)]
    for name in names:
        lab.write(name, text)
    begun = time.process_time()
    assert found(lab, *names) == []
    assert time.process_time() - begun < 3


def is_blocked(files: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """As the loop asks."""
    return [(path, data) for path, data in files if find_leak(path, data)]


def rewritten(lab: Lab, old: str, known: tuple[str, ...] = ()) -> str | None:
    """The tip without what is blocked."""
    return rewrite_without(own_git(lab), old, lab.git("rev-parse", "HEAD"), is_blocked, known)


def tree(lab: Lab, commit: str) -> list[str]:
    """The paths of a commit, in git's quoting."""
    return lab.git("ls-tree", "-r", "--name-only", commit).splitlines()


def everything(lab: Lab, old: str, new: str) -> str:
    """All that the commits since `old` hold, as text."""
    out = lab.git("rev-list", "--objects", new, f"^{old}")
    return "".join(lab.git("cat-file", "-p", line.split()[0]) for line in out.splitlines())


def test_commits_without_secrets_stay_the_same_commits(any_lab: Lab) -> None:
    old = any_lab.git("rev-parse", "HEAD")
    assert rewritten(any_lab, old) is None
    any_lab.write("a.py", "")
    any_lab.commit("one")
    assert rewritten(any_lab, old) is None


def test_a_secret_that_the_agent_committed_is_in_none_of_the_new_commits(any_lab: Lab) -> None:
    lab = any_lab
    lab.write("config.py", "KEY = None\n")
    old = lab.commit("base")
    lab.env |= {
        "GIT_AUTHOR_NAME": "Agent Ünï",
        "GIT_AUTHOR_DATE": "1700000000 +0530",
        "GIT_COMMITTER_DATE": "1700000001 -0300",
    }
    lab.write("a.py", "a = 1\n")
    lab.write(".env", TOKEN)
    lab.write('odd\n"näme".pem', KEY)
    lab.commit("one\n\nwith a body\n\n\nand more")
    lab.write("config.py", f'KEY = "{TOKEN}"\n')
    lab.commit("two")
    lab.git("rm", "-q", "--cached", ".env")
    lab.git("commit", "-q", "-m", "three: only takes the secret away again")
    lab.write("config.py", 'KEY = os.environ["KEY"]\n')
    tip = lab.commit("four")
    new = rewritten(lab, old)
    assert new and new != tip
    shape = "--format=%an|%ae|%ad|%cn|%cd|%B"
    assert lab.git("log", shape, f"{old}..{new}") == lab.git("log", shape, f"{old}..{tip}")
    assert tree(lab, new) == ["README.md", "a.py", "config.py"]
    assert [lab.git("show", f"{new}~{n}:config.py") for n in (0, 1, 2, 3)] == [
        'KEY = os.environ["KEY"]',
        *["KEY = None"] * 3,
    ]
    assert "FAKE" not in everything(lab, old, new)
    assert lab.git("rev-parse", "HEAD") == tip and "refs/aigon" not in lab.git("for-each-ref")
    assert lab.path('odd\n"näme".pem').exists()
    lab.git("fsck", "--strict")


def test_merges_stay_merges(lab: Lab) -> None:
    old = lab.git("rev-parse", "HEAD")
    lab.git("switch", "-qc", "left")
    lab.write("left.py", "1\n")
    lab.write(".env", "A=1\n")
    lab.commit("left")
    lab.git("switch", "-q", "main")
    lab.write("right.py", "2\n")
    lab.commit("right")
    lab.git("merge", "-q", "--no-ff", "--no-commit", "left")
    lab.write("merged.pem", KEY)
    lab.commit("merge")
    lab.write("after.py", "3\n")
    tip = lab.commit("after")
    new = rewritten(lab, old)
    assert new
    assert tree(lab, new) == ["README.md", "after.py", "left.py", "right.py"]
    assert lab.git("log", "--format=%s", new) == lab.git("log", "--format=%s", tip)
    assert len(lab.git("rev-parse", f"{new}~1^@").split()) == 2
    assert lab.git("rev-parse", f"{new}~1^1") == lab.git("rev-parse", f"{tip}~1^1"), (
        "what needs no change keeps its name"
    )
    lab.git("fsck", "--strict")


def test_what_people_have_on_their_branches_comes_along_as_it_is(lab: Lab) -> None:
    old = lab.git("rev-parse", "HEAD")
    lab.git("switch", "-qc", "theirs")
    lab.write(".env.staging", "A=1\n")
    theirs = lab.commit("a person's")
    lab.git("switch", "-q", "main")
    lab.write("a.py", "")
    lab.commit("agent's")
    lab.git("merge", "-q", "--no-edit", "theirs")
    assert rewritten(lab, old, (theirs,)) is None
    lab.write(".env", "B=2\n")
    lab.commit("agent's secret")
    new = rewritten(lab, old, (theirs, "0" * 40))
    assert new and tree(lab, new) == [".env.staging", "README.md", "a.py"]
    assert lab.git("merge-base", new, theirs) == theirs


def test_a_secret_on_one_side_of_a_merge_of_the_agents_is_not_brought_back(lab: Lab) -> None:
    lab.write("config.py", "one\n\n\n\n\ntwo\n")
    old = lab.commit("base")
    lab.git("switch", "-qc", "left")
    lab.write("config.py", f"one {TOKEN}\n\n\n\n\ntwo\n")
    lab.commit("left")
    lab.git("switch", "-q", "main")
    lab.write("config.py", "one\n\n\n\n\ntwo more\n")
    lab.commit("right")
    lab.git("merge", "-q", "--no-edit", "left")
    new = rewritten(lab, old)
    assert new and "FAKE" not in everything(lab, old, new)
    assert lab.git("show", f"{new}:config.py").endswith("two more")


def test_signatures_which_hold_no_longer_are_dropped(lab: Lab) -> None:
    old = lab.git("rev-parse", "HEAD")
    lab.write(".env", "A=1\n")
    raw = lab.git("cat-file", "commit", lab.commit("signed")).replace(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\nencoding ISO-8859-1\n\n",
        1,
    )
    signed = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=lab.root, env=lab.env, input=raw + "\n", text=True, capture_output=True, check=True,
    ).stdout.strip()  # fmt: skip
    lab.git("reset", "-q", "--soft", signed)
    new = rewritten(lab, old)
    assert new
    text = lab.git("cat-file", "commit", new)
    assert "SIGNATURE" not in text and "encoding ISO-8859-1" in text and text.endswith("signed")


def test_submodules_links_and_empty_commits_come_along(lab: Lab) -> None:
    other = Lab(lab.home / "lib").init()
    old = lab.git("rev-parse", "HEAD")
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "lib")
    lab.path(".env").symlink_to("elsewhere")
    lab.commit("submodule and link")
    lab.commit("nothing")
    lab.write("x/.netrc", "machine x\n")
    tip = lab.commit("secret")
    new = rewritten(lab, old)
    assert new
    entries = [line for line in lab.git("ls-tree", "-r", tip).splitlines() if ".netrc" not in line]
    assert lab.git("ls-tree", "-r", new).splitlines() == entries
    assert lab.git("rev-parse", f"{new}~1") == lab.git("rev-parse", f"{tip}~1")


def test_what_an_agent_plants_in_attributes_and_configuration_hides_nothing(lab: Lab) -> None:
    old = lab.git("rev-parse", "HEAD")
    git = own_git(lab)
    lab.write(".gitattributes", "* -diff filter=evil diff=evil\n.env export-ignore\n")
    lab.git("config", "diff.evil.textconv", f"touch {lab.home}/ran; true")
    lab.git("config", "filter.evil.clean", f"touch {lab.home}/ran; cat")
    lab.git("config", "diff.external", f"touch {lab.home}/ran; true")
    lab.write("config.py", TOKEN)
    lab.write(".env", "A=1\n")
    tip = lab.commit("secrets")
    (lab.home / "ran").unlink(missing_ok=True)
    lab.git("replace", tip, old)
    new = rewrite_without(git, old, tip, is_blocked)
    assert new and not (lab.home / "ran").exists()
    assert tree(lab, new) == [".gitattributes", "README.md"]


def test_an_unrelated_history_that_an_agent_merged_is_looked_through(lab: Lab) -> None:
    old = lab.git("rev-parse", "HEAD")
    lab.git("switch", "-q", "--orphan", "alone")
    lab.write(".env", "A=1\n")
    lab.write("alone.py", "")
    lab.commit("root")
    lab.git("switch", "-q", "main")
    lab.git("merge", "-q", "--no-edit", "--allow-unrelated-histories", "alone")
    new = rewritten(lab, old)
    assert new and tree(lab, new) == ["README.md", "alone.py"]


@pytest.fixture
def many(lab: Lab) -> Iterator[Lab]:
    """A repository in which an agent made many commits, the first of them with a secret."""
    lab.write(".env", "A=1\n")
    for number in range(30):
        lab.write(f"{number}.py", f"{number}\n" * 50)
        lab.commit(str(number))
    yield lab


@pytest.mark.slow
def test_many_commits_are_rewritten_in_little_time(many: Lab) -> None:
    begun = time.monotonic()
    new = rewritten(many, many.git("rev-list", "--max-parents=0", "HEAD"))
    assert new and ".env" not in tree(many, new) and len(tree(many, new)) == 31
    assert time.monotonic() - begun < 20
