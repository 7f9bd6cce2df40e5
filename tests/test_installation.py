"""aigon keeps its own environment to itself, and says how to add what is not installed."""

import json
import os
import subprocess
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab import Lab, scrubbed

ROOT = Path(__file__).parents[1]


class Environment:
    """A virtual environment that has aigon and its dependencies, and metadata of whatever `install` names."""

    def __init__(self, root: Path) -> None:
        self.root, self.python = root, root / "bin" / "python"
        venv.create(root, symlinks=True)
        (self.packages,) = root.glob("lib/python3*/site-packages")
        (self.packages / "links.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
        (self.packages / "pip.py").touch()
        self.install("aigon", 'anthropic>=2\npytest>=8; extra == "demo"', extras=("demo",))

    def install(self, name: str, requires: str = "", extras: tuple[str, ...] = (), **files: object) -> None:
        folder = self.packages / f"{name}-1.0.dist-info"
        folder.mkdir()
        lines = [f"Requires-Dist: {line}" for line in requires.splitlines()]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *lines]))
        for file, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / {"direct_url": "direct_url.json", "entry_points": "entry_points.txt"}[file]).write_text(text)

    def activated(self, env: Mapping[str, str]) -> dict[str, str]:
        return {**env, "PATH": f"{self.root}/bin{os.pathsep}{env['PATH']}", "VIRTUAL_ENV": str(self.root)}

    def run(self, code: str, cwd: Path, env: Mapping[str, str]) -> str:
        done = subprocess.run([self.python, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def is_left(self, cwd: Path) -> bool:
        code = "import os, pathlib; from aigon.installation import leave_environment; \
            leave_environment(os.environ, pathlib.Path.cwd()); print(os.environ['PATH'], 'VIRTUAL_ENV' in os.environ)"
        env = self.activated(scrubbed(cwd))
        kept = f"{env['PATH']} True"
        left = f"{env['PATH'].partition(os.pathsep)[2]} False"
        return {kept: False, left: True}[self.run(code, cwd, env)]


@pytest.fixture
def installed(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "env")


def test_checks_never_run_with_aigons_own_environment(lab: Lab, installed: Environment) -> None:
    lab.spec(
        f'it is off PATH <!-- verify: case ":$PATH:" in *":{installed.root}/bin:"*) exit 1;; esac -->',
        'it is not active <!-- verify: test -z "$VIRTUAL_ENV" -->',
    )
    lab.commit("a spec")
    aigon = [str(installed.root / "bin" / "python"), "-m", "aigon", "feature-validate", "42", "--json"]
    done = subprocess.run(aigon, cwd=lab.root, env=installed.activated(lab.env), capture_output=True, text=True)
    criteria = json.loads(done.stdout)["criteria"]
    assert [each["verdict"] for each in criteria] == ["met", "met"], done.stdout


def test_an_environment_inside_the_project_is_the_projects(lab: Lab) -> None:
    inside = Environment(lab.root / ".venv")
    (lab.root / "src").mkdir()
    assert not inside.is_left(lab.root / "src")
    lab.git("worktree", "add", "-q", "../other")
    assert not inside.is_left(lab.root.parent / "other")
    assert inside.is_left(lab.home)


def test_an_environment_that_holds_other_packages_is_the_users(installed: Environment, tmp_path: Path) -> None:
    installed.install("pip")
    installed.install("Anthropic", 'httpx2[fast]\nboto3; extra == "aws"')
    installed.install("httpx2", 'h11; extra == "fast"')
    installed.install("h11")
    installed.install("pytest")
    installed.install("my-agent", "sandboxes", entry_points="[aigon.agents]\nmine = my_agent\n")
    installed.install("sandboxes")
    assert installed.is_left(tmp_path)
    installed.install("boto3")
    assert not installed.is_left(tmp_path)


FROM_GIT = {"url": "https://example.invalid/a.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}}


@pytest.mark.parametrize(
    ("source", "receipt", "command"),
    [
        ({}, "", "{pip} 'aigon[demo]'"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "", "{pip} -e '/a b[demo]'"),
        ({"url": "file:///a/aigon.whl", "archive_info": {}}, "", "{pip} 'aigon[demo] @ file:///a/aigon.whl'"),
        (FROM_GIT, "", "{pip} 'aigon[demo] @ git+https://example.invalid/a.git@v1'"),
        ({}, "uv-receipt.toml", "uv tool install 'aigon[demo,mcp]'"),
        ({"url": "file:///a"}, "pipx_metadata.json", "pipx install --force 'aigon[demo,mcp] @ file:///a'"),
    ],
)
def test_a_missing_extra_is_an_error_with_the_command(
    installed: Environment, tmp_path: Path, source: object, receipt: str, command: str
) -> None:
    installed.packages.joinpath("aigon-1.0.dist-info", "direct_url.json").write_text(json.dumps(source))
    with installed.packages.joinpath("aigon-1.0.dist-info", "METADATA").open("a") as metadata:
        metadata.write('\nProvides-Extra: mcp\nRequires-Dist: mcp; extra == "mcp"')
    installed.install("mcp")
    if receipt:
        (installed.root / receipt).touch()
    code = "from aigon.errors import AigonError; from aigon.installation import require_extra\n\
try: require_extra('demo', 'json', 'aigon_has_no_such_module', purpose='aigon demo')\n\
except AigonError as error: print(int(error.code), error.hint)"
    said = installed.run(code, tmp_path, scrubbed(tmp_path))
    assert said == "7 " + command.format(pip=f"{installed.python} -m pip install")
