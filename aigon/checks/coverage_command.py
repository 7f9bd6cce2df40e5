"""How much of a project its tests cover, as a command that prints one number."""

from collections.abc import Mapping

from aigon.checks.manifests import mapping, node_runner, packages, pyproject
from aigon.model.checks import Project

_SCRATCH = '"${TMPDIR:-/tmp}/aigon-coverage.$$"'
"""Where the measurement goes: not into the project. `$$` is the shell that runs the command."""


def coverage(project: Project, python: str, modules: Mapping[str, str], runners: Mapping[str, str]) -> str:
    """A command that runs the tests and prints nothing but the percentage of lines they cover; empty without a tool."""
    if any(" pytest " in run for run in runners.values()) and project.module("coverage"):
        configured = project.read(".coveragerc") or "coverage" in mapping(pyproject(project).get("tool"))
        tops = sorted({name.partition(".")[0] for name in modules})
        source = f" --source={','.join(tops)}" if tops and not configured else ""
        before = next(iter({modules[top] for top in tops if top in modules}), "")
        data = f"--data-file={_SCRATCH}"
        run = f"{before}{python} -m coverage run {data}{source} -m pytest -q > /dev/null"
        return f"{run} && {python} -m coverage report {data} --format=total"
    return _of_node(project)


def _of_node(project: Project) -> str:
    node = node_runner(project)
    out = 'node -p "require(process.argv[1]).total.lines.pct" ' + _SCRATCH + "/coverage-summary.json"
    if node == "jest":
        options = f"--coverage --coverageReporters=json-summary --coverageDirectory={_SCRATCH}"
        return f"npx --no-install jest {options} > /dev/null 2>&1 && {out}"
    if node == "vitest" and any(name.startswith("@vitest/coverage-") for name in packages(project)):
        options = f"--coverage.enabled --coverage.reporter=json-summary --coverage.reportsDirectory={_SCRATCH}"
        return f"npx --no-install vitest run {options} > /dev/null 2>&1 && {out}"
    return ""
