"""Proposals that rest on the project's tests and checks: the tests that speak of a name, the check of a role."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.rules.literal_call import is_path, name_of
from aigon.compile.rules.of_python import Found, literals
from aigon.compile.rules.wording import Wording
from aigon.compile.rules.words import word_set
from aigon.model.criteria import find_bound_checks

_ROLE_OF: Mapping[str, str] = {
    **dict.fromkeys(("pytest", "jest", "vitest", "mocha", "unittest", "cargo test", "go test", "npm test"), "tests"),
    **dict.fromkeys(("ruff", "eslint", "flake8", "pylint", "biome", "go vet"), "lint"),
    **dict.fromkeys(("mypy", "pyright", "tsc"), "types"),
}
_SHORTEST = 3
"""Letters of a name that is looked for in tests: shorter ones are found everywhere."""
_GENERIC = word_set("--help -h --version --verbose --json test tests main init run")
"""Names that say nothing about which test is meant."""
_OWN_PROOF = "a command that runs one which is not there would have the agent write its own proof"


def tool(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`mypy` is clean: the check that runs it."""
    text = said.literal(found["tool"]).text if found["tool"].startswith("§") else found["tool"]
    named = _spell(" ".join(text.split()))
    wanted = re.compile(rf"(?<![\w-]){re.escape(named)}(?![\w-])")
    runs = [name for name, shown in around.shown.items() if wanted.search(_spell(shown))]
    if len(runs) == 1:
        return Proposal("check", runs[0], f"the check {runs[0]} runs `{named}`", "sure")
    if len(roles := list({around.checks[name] for name in runs})) == 1:
        return Proposal("check", roles[0], f"the checks {', '.join(runs)} run `{named}`", "sure")
    role = _ROLE_OF.get(named) or _ROLE_OF.get(named.split(" ")[0])
    return by_role(role, around) if role else None


def _spell(command: str) -> str:
    """Spell a command in one of the ways in which it is written."""
    return command.replace("npm run test", "npm test").replace("python -m ", "python3 -m ")


def unbroken(said: Wording, found: Found, around: Surroundings) -> Proposal | None:  # noqa: ARG001
    """Nothing that worked before is broken."""
    return by_role("tests", around)


def by_role(role: str, around: Surroundings) -> Proposal:
    """The check of this role, or that there is none."""
    names = find_bound_checks(role, around.checks)
    if not names:
        why = f"this project has no check for {role}: with one this would be `check: {role}`"
        return Proposal("judge", None, why, "guess")
    return Proposal("check", role, f"decided by what the project runs already: {', '.join(names)}", "likely")


def tested(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """There are tests for `multiply`: pytest exits with 5 as long as it finds none."""
    names = [name_of(each.text).rpartition(".")[2] for each in literals(said, found, "names", "alone")]
    runner = next((run for path, run in around.runners.items() if path.endswith(".py") and " pytest " in run), "")
    if not runner or not names or not all(names):
        return None
    every = " && ".join(f"{runner.partition(' pytest ')[0]} pytest -q -k {shlex.quote(name)}" for name in names)
    return Proposal("verify", every, "it fails as long as no test of that name is found", "likely")


def behaviour(said: Wording, around: Surroundings) -> Proposal | None:
    """What a test file decides that speaks of the names in the criterion; without one, why not."""
    names = list(dict.fromkeys(_names(said)))
    if not names:
        return None
    named = [path for path in around.runners if any(_named_after(path, name) for name in names)]
    if named:
        path = min(named, key=lambda p: (p.count("/"), p))
        made = Proposal("verify", around.runners[path], f"{path} is named after what is asked for", "likely")
        others = [name for name in names if not _says(around.tests[path], name) and not _named_after(path, name)]
        return made.weaker(f"it does not speak of `{others[0]}`") if others else made
    saying = [path for path in around.runners if all(_says(around.tests.get(path, ""), name) for name in names)]
    if saying:
        return _narrowed(saying, names, around)
    known = ", ".join(f"`{name}`" for name in names[:3])
    return Proposal("judge", None, f"no test speaks of {known} yet; {_OWN_PROOF}", "likely")


def _narrowed(paths: Sequence[str], names: Sequence[str], around: Surroundings) -> Proposal:
    """The first of these files; with pytest only its tests of that name, where there are some."""
    for path in sorted(paths):
        for name in names:
            if " pytest " in around.runners[path] and _tests_of(around.tests[path], name):
                command = f"{around.runners[path]} -k {shlex.quote(name)}"
                return Proposal("verify", command, f"{path} has tests of that name", "likely")
    path = min(paths)
    return Proposal("verify", around.runners[path], f"{path} speaks of it, among other things", "guess")


def _names(said: Wording) -> Iterator[str]:
    for each in said.literals:
        if each.text in _GENERIC or is_path(each.text):
            continue
        if each.kind == "verb":
            yield each.text.partition(" ")[2]
        elif each.kind == "option":
            yield each.text
        elif each.kind in ("code", "call"):
            name = name_of(each.text).rpartition(".")[2] or (each.text if re.fullmatch(r"--?[\w-]+", each.text) else "")
            if len(name) >= _SHORTEST:
                yield name


def _named_after(path: str, name: str) -> bool:
    stem = re.sub(r"[^a-z0-9]+", "_", _snake(path.rpartition("/")[2]))
    return f"_{_snake(name).strip('_-')}_" in f"_{stem}_"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).casefold().replace("-", "_")


def _says(text: str, name: str) -> bool:
    return _tests_of(text, name) or re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _tests_of(text: str, name: str) -> bool:
    return re.search(rf"def test_\w*{re.escape(_snake(name))}", text, re.IGNORECASE) is not None
