"""Links, submodules, attributes, ignored source."""

import pytest

from aigon.model.changes import Edit
from tests.proof.integrity.changes import changed, levels, new, seen

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


@pytest.mark.parametrize(
    ("line", "file", "text"),
    [
        ("_local/", "calc/__init__.py", "from calc._local import multiply\n"),
        ("_local", "calc/__init__.py", "from ._local import multiply\n"),
        ("calc/_local.py", "calc/__init__.py", "from . import _local\n"),
        ("_*.py", "calc/__init__.py", "import calc._fast\n"),
        ("calc/", "calc/__init__.py", "x = 1\n"),
        ("*.py", "calc/__init__.py", "x = 1\n"),
        ("*", "README.md", "x\n"),
        ("/src/impl.*", "src/index.js", "export * from './impl';\n"),
        ("impl/", "src/index.js", "const { f } = require('./impl');\n"),
        ("**/fast[0-9].ts", "src/index.ts", "import { f } from './lib/fast1';\n"),
    ],
)
def test_ignoring_what_the_code_needs_is_reviewed(line: str, file: str, text: str) -> None:
    ignore = changed(".gitignore", "*.pyc\n", f"*.pyc\n{line}\n", "other")
    assert levels("ignored-source", ignore, new(file, text)) == {"review"}


def test_ignoring_a_removed_file_is_reviewed_and_patterns_count_in_their_folder() -> None:
    taken = changed("calc/impl.py", "x = 1\n", None)
    assert levels("ignored-source", changed(".gitignore", "", "impl.py\n", "other"), taken) == {"review"}
    (concern,) = seen("ignored-source", new("calc/.gitignore", "/impl.py\n", "other"), taken)
    assert "calc/impl.py, which this change takes out" in concern.what
    assert levels("ignored-source", new("docs/.gitignore", "/impl.py\n", "other"), taken) == set()


@pytest.mark.parametrize(
    "line", ["dist/", "build/", "node_modules/", "__pycache__/", ".venv", "*.log", "!calc/", "# calc/", ""]
)
def test_ordinary_ignores_are_nothing(line: str) -> None:
    code = new("calc/__init__.py", "import os\nimport yaml\nfrom calc.core import f\n")
    assert levels("ignored-source", changed(".gitignore", "", f"{line}\n", "other"), code) == set()
