"""The programs that a project itself provides: how each is started, and whether it may be asked for its help."""

import re
import shlex
from collections.abc import Mapping, Sequence

from aigon.checks.manifests import mapping, package_json, pyproject
from aigon.compile.proposals import Surroundings
from aigon.model.checks import Project

_KNOWS_HELP = re.compile(
    rb"argparse|\bclick\b|\btyper\b|optparse|getopt|docopt|\bfire\b|--help|commander|yargs|parseArgs|minimist|\bcac\b"
)
_MOST = 400
"""Files that are read: more would take longer than a person waits."""


def entries(project: Project, modules: Mapping[str, str], python: str) -> dict[str, str]:
    """The project's own programs by name, and the command line that starts each without installing it."""
    found = {}
    for name in [f for f in project.glob("**/__main__.py") if python]:
        module = name.removesuffix("/__main__.py").removeprefix("src/").replace("/", ".")
        if module in modules:
            found[module] = f"{modules[module]}{python} -m {module}"
    for name, target in mapping(mapping(pyproject(project).get("project")).get("scripts")).items():
        module = str(target).partition(":")[0]
        top = module.partition(".")[0]
        if python and top in modules:
            runs = found.get(top) or f"{modules[top]}{python} -m {module}"
            found[name] = runs
    package = package_json(project)
    bins = package.get("bin")
    named = {str(package.get("name", "")): bins} if isinstance(bins, str) else mapping(bins)
    return {
        **found,
        **{name: f"node {shlex.quote(str(path).removeprefix('./'))}" for name, path in named.items() if name},
    }


def knows_help(project: Project, around: Surroundings, words: tuple[str, ...]) -> bool:
    """Whether `words --help` is safe to run: the program reads its options, or is not there at all.

    A script that does not would do its work instead of explaining it.
    """
    name, rest = words[0], words[1:]
    if re.fullmatch(r"python[\d.]*", name) and rest[:1] == ("-m",) and len(rest) > 1:
        return _reads_options(project, _files_of(rest[1], around))
    if re.fullmatch(r"python[\d.]*|node", name) and rest and not rest[0].startswith("-"):
        return _reads_options(project, (rest[0],))
    if "/" in name:
        return _reads_options(project, (name.removeprefix("./"),)) and not name.startswith(("/", "~", ".."))
    own = tuple(file for file in around.files if file.endswith((".py", ".js", ".mjs", ".ts"))) if around.entries else ()
    if name in around.entries:
        return _reads_options(project, own[:_MOST])
    return not rest


def _reads_options(project: Project, paths: Sequence[str]) -> bool:
    """One of those that are there knows options; where none is there, nothing can be run."""
    texts = [text for path in paths if (text := project.read(path)) is not None]
    return not texts or any(_KNOWS_HELP.search(text) for text in texts)


def _files_of(module: str, around: Surroundings) -> tuple[str, ...]:
    """The files of a module: those below its folder too, since `__main__` may only call them."""
    path = module.replace(".", "/")
    starts = (f"{path}/", f"src/{path}/")
    own = {f"{path}.py", f"src/{path}.py"}
    return tuple(file for file in around.files if file in own or (file.startswith(starts) and file.endswith(".py")))
