"""From what an ecosystem offers for a role to the one check that fits this project, or to why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass

from aigon.model.checks import Check, Project, Role
from aigon.profiles.conditions import holds
from aigon.profiles.ecosystem import PLACEHOLDER, Candidate, Ecosystem, RoleChoice

Variables = Mapping[str, str]
TIMEOUT = 600.0
"""Seconds for a check where no data says more."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A check that this project does not have, and why: said by `init` and `--dry-run`. Absent is not skipped."""

    role: Role
    why: str
    ecosystem: str = ""

    @property
    def text(self) -> str:
        """The same in words."""
        return f"no {self.role}{f' ({self.ecosystem})' if self.ecosystem else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The checks of a project under a profile, by role, and what it does not have.

    `outputs` are lines for .gitignore about what the tools of its ecosystems leave, whoever runs them.
    """

    profile: str
    checks: tuple[Check, ...]
    absent: tuple[Absent, ...]
    outputs: tuple[str, ...] = ()


def choose(choice: RoleChoice, ecosystem: Ecosystem, project: Project, timeout: float | None) -> Check | Absent:
    """The check of the first candidate that fits. `timeout` (seconds) is the profile's word and wins."""
    for candidate in choice.candidates:
        if holds(candidate.condition, project):
            return _check(choice, candidate, ecosystem, project, timeout)
    return Absent(choice.role, choice.absent, ecosystem.title)


def _check(
    choice: RoleChoice, candidate: Candidate, ecosystem: Ecosystem, project: Project, timeout: float | None
) -> Check:
    variables = values(ecosystem, project)
    argv = arguments(candidate.argv, project, variables)
    missing, hint = _missing(candidate, argv, project)
    return Check(
        choice.name,
        choice.role,
        absolute(argv, project),
        parser=candidate.parser,
        timeout=timeout or candidate.timeout or TIMEOUT,
        exclusive=candidate.exclusive,
        when=candidate.when,
        paths=candidate.paths,
        cwd=candidate.cwd,
        env=candidate.env,
        source=ecosystem.file,
        missing=missing,
        hint=filled(hint, project, variables),
        reports=candidate.reports,
        writes=candidate.writes,
        shown=candidate.shown,
    )


def values(ecosystem: Ecosystem, project: Project) -> Variables:
    """What the ecosystem's own placeholders stand for in this project; empty where no condition holds."""
    return {
        name: next((value for condition, value in choices if holds(condition, project)), "")
        for name, choices in ecosystem.variables.items()
    }


def arguments(argv: tuple[str, ...], project: Project, variables: Variables) -> tuple[str, ...]:
    """`argv` with its placeholders filled; an argument that only a placeholder made empty is left out."""
    pairs = ((each, filled(each, project, variables)) for each in argv)
    return tuple(full for each, full in pairs if full or not each)


def filled(text: str, project: Project, variables: Variables) -> str:
    """`text` with its placeholders replaced, but for `{report}` and `{scratch}`: those are for whoever runs it."""
    found = {m[0]: _value(m[1], m[2], project, variables) for m in PLACEHOLDER.finditer(text)}
    return PLACEHOLDER.sub(lambda m: m[0] if (value := found[m[0]]) is None else value, text)


def _value(name: str, of: str | None, project: Project, variables: Variables) -> str | None:
    if name == "tool" and of:
        return project.tool(of) or of
    if name == "python":
        return project.python() or "python3"
    return variables.get(name)


def absolute(argv: tuple[str, ...], project: Project) -> tuple[str, ...]:
    """`argv` with the place of its program: looked up now, so that what an agent leaves on PATH changes nothing."""
    return (argv[0] if "/" in argv[0] else project.tool(argv[0]) or argv[0], *argv[1:])


def _missing(candidate: Candidate, argv: tuple[str, ...], project: Project) -> tuple[str, str]:
    """The first thing that is not installed, and how to get it; two empty texts when all is there."""
    for name in unfound(argv, candidate.argv, project):
        return name, candidate.hint or f"Install {name} and put it on PATH"
    for need in candidate.needs:
        if not holds(need.condition, project):
            return need.name, need.hint
    return "", ""


def unfound(argv: tuple[str, ...], template: tuple[str, ...], project: Project) -> list[str]:
    """The programs of a command that are not there: the tools its template names, and the one it starts."""
    named = [m[2] for each in template for m in PLACEHOLDER.finditer(each) if m[2]]
    started = [] if "/" in argv[0] else [argv[0]]
    return [name for name in (*named, *started) if project.tool(name) is None]
