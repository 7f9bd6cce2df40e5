"""Links, submodules, attributes."""

import pytest

from aigon.model.changes import Edit
from tests.proof.integrity.changes import changed, levels, new

LINK, MODULE = "120000", "160000"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("data", "/etc/passwd"),
        ("data", "../elsewhere"),
        ("a/b/data", "../../../elsewhere"),
        ("calc/data", "sub/../../../elsewhere"),
        ("calc/data", "x/../y"),
        ("data", "C:\\Windows"),
        ("data", "~/secret"),
        ("hooks", ".git/hooks"),
        ("data", ""),
    ],
)
def test_a_link_that_leads_out_is_reviewed(path: str, target: str) -> None:
    assert levels("link", new(path, target, "other", LINK)) == {"review"}


def test_a_link_over_a_file_is_reviewed_and_one_within_the_tree_is_nothing() -> None:
    assert levels("link", Edit("calc/a.py", "x = 1\n", "b.py", "product", LINK)) == {"review"}
    assert levels("link", new("docs/latest", "v2/index.md", "other", LINK)) == set()
    assert levels("link", new("a/b/c", "../../d/./e", "other", LINK)) == set()
    assert levels("link", Edit("a", "/old", "/old", "other", LINK, LINK)) == set()
    assert levels("link", Edit("a", "b", "/new", "other", LINK, LINK)) == {"review"}
    assert levels("link", Edit("a", "/old", None, "other", "", LINK)) == set()


def test_submodules_are_reviewed() -> None:
    assert levels("submodule", new("vendor/lib", "a" * 40, "product", MODULE)) == {"review"}
    assert levels("submodule", Edit("vendor/lib", "a" * 40, "b" * 40, "product", MODULE, MODULE)) == {"review"}
    assert levels("submodule", Edit("calc/a.py", "x = 1\n", "a" * 40, "product", MODULE)) == {"review"}
    assert levels("submodule", Edit("calc", None, "", "product", MODULE)) == {"review"}
    assert levels("submodule", changed(".gitmodules", "", "[submodule 'x']\n", "other")) == {"review"}
    assert levels("submodule", Edit("vendor/lib", "a" * 40, None, "product", "", MODULE)) == {"note"}
    assert levels("submodule", new("vendor/lib.py", "x = 1\n")) == set()


@pytest.mark.parametrize(
    "line",
    [
        "*.py filter=clean",
        "*.py diff=nothing",
        "*.py -diff",
        "* binary",
        "calc/** linguist-generated",
        "calc/__init__.py export-ignore",
        "src export-ignore",
        "*.js working-tree-encoding=UTF-16",
        "*.ts\t-text",
        "*.go merge=mine",
        '"calc/a.py" export-subst',
        "[attr]quiet -diff",
        "* filter=lfs diff=lfs merge=lfs -text",
    ],
)
def test_attributes_that_hide_or_change_source_are_reviewed(line: str) -> None:
    assert levels("attributes", changed(".gitattributes", "* text=auto\n", f"* text=auto\n{line}\n", "other")) == {
        "review"
    }
    assert levels("attributes", new("calc/.gitattributes", f"{line}\n", "other")) == {"review"}


@pytest.mark.parametrize(
    "line",
    [
        "*.sh text eol=lf",
        "*.png binary",
        "*.psd filter=lfs diff=lfs merge=lfs -text",
        "package-lock.json -diff linguist-generated",
        "dist/** linguist-generated",
        "*_pb2.py linguist-generated=true",
        "*.py diff=python",
        "CHANGELOG.md merge=union",
        "/tests export-ignore",
        "/.github export-ignore",
        "# *.py -diff",
    ],
)
def test_ordinary_attributes_are_nothing(line: str) -> None:
    assert levels("attributes", new(".gitattributes", f"{line}\n", "other")) == set()
