"""The difference between two trees: all of it, whatever an agent did to hide some."""

import os
from collections.abc import Iterator

import pytest

from aigon.git.diff import LARGEST, diff_trees
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.model.changes import FileDiff
from tests.lab import Lab

CONFIGURED = False

HIDING = """\
* -diff binary linguist-generated=true diff=evil -text export-ignore
*.py diff=evil
w.conf working-tree-encoding=UTF-16LE
"""


@pytest.fixture
def work(lab: Lab) -> Iterator[Workspace]:
    """The workspace of a repository whose configuration names a diff driver that would run and hide everything."""
    lab.git("config", "diff.evil.textconv", "true")
    lab.git("config", "diff.evil.command", f"touch {lab.home}/ran; true")
    lab.git("config", "diff.external", f"touch {lab.home}/ran; true")
    lab.git("config", "diff.noprefix", "true")
    with Checkout.open(lab.root) as checkout:
        yield Workspace(checkout, lab.home / "git", "main")


def differing(work: Workspace, base: str, **more: object) -> dict[str, FileDiff]:
    work.snapshot()
    found = diff_trees(work.trusted, base, work.tree(), frozenset(), **more)  # type: ignore[arg-type]
    assert [diff.path for diff in found] == sorted((d.path for d in found), key=os.fsencode)
    return {diff.path: diff for diff in found}


def text(diff: FileDiff) -> str:
    return "|".join(f"{line.sign}{line.text}" for hunk in diff.hunks for line in hunk.lines)


def test_attributes_and_configuration_hide_nothing_and_run_nothing(work: Workspace, lab: Lab) -> None:
    lab.write("app.py", "one = 1\ntwo = 2\n")
    base = lab.commit("base")
    lab.write("app.py", "one = 1\ntwo = evil()\n")
    lab.write(".gitattributes", HIDING)
    lab.write("deep/.gitattributes", "* -diff\n")
    lab.write("deep/hidden.min.txt", "seen\n")
    lab.write("w.conf", "hello\n".encode("utf-16-le"))
    found = differing(work, base)
    assert text(found["app.py"]) == " one = 1|-two = 2|+two = evil()"
    assert found["app.py"].content == "one = 1\ntwo = evil()\n"
    assert text(found["deep/hidden.min.txt"]) == "+seen" and text(found["w.conf"]) == "+hello"
    assert not any(diff.binary for diff in found.values()) and not (lab.home / "ran").exists()


def test_what_is_no_text_or_too_large_is_only_named(work: Workspace, lab: Lab) -> None:
    base = lab.commit("base")
    lab.write("nul.py", b"x = 1\n\0\n")
    lab.write("empty.py", "")
    lab.write("large.py", "x" * LARGEST + "\n")
    lab.write("largest.py", "x" * (LARGEST - 1) + "\n")
    lab.write("latin.py", b"\xe9 = 1\n")
    lab.path("README.md").chmod(0o755)
    found = differing(work, base, listed=lambda path: path == "latin.py")
    assert found["nul.py"].binary and found["large.py"].large
    assert not any(found[name].hunks for name in ("nul.py", "empty.py", "large.py", "latin.py", "README.md"))
    assert len(found["largest.py"].hunks) == 1 and found["README.md"].status == "M"
    assert text(differing(work, base)["latin.py"]) == "+\ufffd = 1"


def test_names_of_every_kind_are_kept_apart_and_renames_are_two_files(work: Workspace, lab: Lab) -> None:
    for name in ("was/x", "was/y", "gone.py", "turned", "crlf.bat"):
        lab.write(name, f"{name}\r\n")
    base = lab.commit("base")
    lab.git("mv", "was/x", "moved")
    lab.git("rm", "-q", "was/y", "gone.py", "turned")
    names = [
        "was",
        'qu"ote\n+++ b/x.py\tand tab',
        " blank ",
        "a b/ b",
        "é.py",
        os.fsdecode(b"\xff.py"),
        ":(top)magic",
        "-p",
    ]
    for name in names:
        lab.write(name, "--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n")
    lab.path("turned").symlink_to("elsewhere")
    lab.write("crlf.bat", "new\r\ncrlf.bat\r\n")
    found = differing(work, base)
    assert {name: found[name].status for name in names} == dict.fromkeys(names, "A")
    assert {len(found[name].hunks[0].lines) for name in names} == {4}
    kinds = {path: diff.status for path, diff in found.items() if path not in names}
    assert kinds == {"was/x": "D", "was/y": "D", "moved": "A", "gone.py": "D", "turned": "T", "crlf.bat": "M"}
    assert text(found["turned"]) == "-turned|+elsewhere" and text(found["crlf.bat"]) == "+new| crlf.bat"
    assert not found["crlf.bat"].content.count("\r")


def test_commits_trees_and_many_files_can_be_compared_and_some_left_out(work: Workspace, lab: Lab) -> None:
    empty = work.empty_tree()
    for n in range(700):
        lab.write(f"{'long' * 30}/{n}.txt", f"{n}\n")
    lab.write("spec.md", "x\n")
    head = lab.commit("many")
    found = diff_trees(work.trusted, empty, head, frozenset({"spec.md"}))
    assert len(found) == 701 and all(diff.hunks for diff in found)
    assert diff_trees(work.trusted, head, f"{head}^{{tree}}", frozenset()) == ()


def test_a_submodule_is_named(work: Workspace, lab: Lab) -> None:
    base = lab.commit("base")
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{base},module")
    tree = lab.git("write-tree")
    (found,) = diff_trees(work.trusted, base, tree, frozenset())
    assert (found.path, found.submodule, found.hunks) == ("module", True, ())
