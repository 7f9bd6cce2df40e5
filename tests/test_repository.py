"""What GitHub, nox and contributors read: valid, and about commands that exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import site

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))


@pytest.fixture(scope="module")
def sessions() -> dict[str, bool]:
    """The sessions of noxfile.py, and whether a plain `nox` runs them."""
    pytest.importorskip("nox")
    listed = subprocess.run(
        [sys.executable, "-m", "nox", "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name: mark == "*" for mark, name in re.findall(r"(?m)^([*-]) (\S+)", listed.stdout)}


def jobs(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"])


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE/config.yml"]),
    ],
)
def test_github_accepts_what_it_reads(schema: str, files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("check_jsonschema").main
    with pytest.raises(SystemExit) as ended:
        main(["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    assert (files, ended.value.code) == (files, 0), capsys.readouterr().out


def test_workflows_and_pages_name_sessions_that_exist(sessions: dict[str, bool]) -> None:
    pages = (*WORKFLOWS, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
    lines = [line for page in pages for line in re.findall(r"\bnox -s ([^\n`#$]+)", page.read_text(encoding="utf-8"))]
    named = {name for line in lines for name in line.split(" -- ")[0].split() if not name.endswith("-")}
    matrix = [name for file in WORKFLOWS for job in jobs(file).values() for name in values_of(job, "session")]
    assert len(named) > 5 and matrix
    assert sorted({*named, *matrix} - sessions.keys() - {"NAME"}) == []


def test_every_supported_python_is_tested_on_github(sessions: dict[str, bool]) -> None:
    (matrix,) = [job for job in jobs(GITHUB / "workflows/tests.yml").values() if "strategy" in job]
    assert {f"tests-{python}" for python in values_of(matrix, "python")} == {
        name for name in sessions if name.startswith("tests-")
    }


def test_no_workflow_asks_for_a_secret_or_may_write_by_default() -> None:
    for file in WORKFLOWS:
        text = file.read_text(encoding="utf-8")
        assert "secrets." not in text
        assert yaml.safe_load(text)["permissions"] == {}


def test_ci_runs_every_check_that_a_plain_nox_runs(sessions: dict[str, bool]) -> None:
    (listed,) = re.findall(r"for session in ([\w -]+);", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert {*listed.split(), "quick"} == {name for name, by_default in sessions.items() if by_default}


def test_the_site_has_every_page_and_no_link_to_nothing(tmp_path: Path) -> None:
    site.main(tmp_path)
    pages = {page.relative_to(tmp_path / "pages").as_posix() for page in tmp_path.glob("pages/**/*.md")}
    nav = yaml.safe_load((tmp_path / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(leaves(nav)) == sorted(pages)
    lost = [
        f"{page}: {link}"
        for page in pages
        for _, link in site.LINK.findall(without_code((tmp_path / "pages" / page).read_text(encoding="utf-8")))
        if not (tmp_path / "pages" / page).parent.joinpath(link).is_file()
    ]
    assert lost == []


def values_of(job: dict[str, Any], name: str) -> list[str]:
    return list(job.get("strategy", {}).get("matrix", {}).get(name, []))


def leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [leaf for entry in (nav.values() if isinstance(nav, dict) else nav) for leaf in leaves(entry)]


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^(`{3,})[^`\n]*\n.*?^\1$|`[^`\n]*`", "", text)
