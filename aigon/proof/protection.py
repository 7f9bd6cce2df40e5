"""The protection of this project's files: the shipped rules, the project's own, and the scripts that decide."""

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.config.models import Config
from aigon.errors import usage
from aigon.files.resources import read_profiles
from aigon.job.job import ProofPlan
from aigon.model.checks import Check
from aigon.model.criteria import COMMAND_KINDS, Spec
from aigon.profiles import profile
from aigon.profiles.ecosystem import Setup, find_setups
from aigon.profiles.protection import CALLED, Protection, Rule, describe_rules
from aigon.proof.analysis.references import asserts
from aigon.spec import markdown
from aigon.text.patterns import compile_re
from aigon.text.shell import split_commands

_WORD = compile_re(r"[\w@%+=:,./-]+")
_PACKAGE_SCRIPT = compile_re(r"\b(?:npm|pnpm|yarn|bun)(?:\s+-\S+)*(?:\s+run(?:-script)?)?(?:\s+-\S+)*\s+([\w:-]+)")
"""A script of package.json by the commands that run one: `npm test`, `pnpm run -s lint`, `yarn build`."""
_INTERPRETED = compile_re(
    r"(?:^|[\s;&|@(/\"'])(?:ba|z|da)?(?:sh|node|tsx|ts-node|deno|bun|python[\d.]*|ruby|perl|php)(?:\s+-\S+)*\s+([\w@%+./-]+)"
    r"|^[ \t]*-?include[ \t]+([\w@%+./-]+)",
    re.M,
)
_TARGETS = compile_re(r"\b(?:g?make|just|task)\b")
_RECIPES = compile_re(r"(?i:gnumakefile|makefile|\.?justfile|taskfile(?:\.dist)?\.ya?ml)|[^/]+\.(?:mk|make|just)")
"""Files that say what make, just and Task run."""
_TARGET = compile_re(r"(?m)^ *(?!\.(?:PHONY|SUFFIXES|DEFAULT|SILENT)\b)([^\s:=#][^:=#\n]*?)[ \t]*&?::?(?!=)")
"""The names in front of a rule of a Makefile."""
_SCRIPTS = (".sh", ".bash", ".zsh")
_FOLDERS = ("scripts", "script", "ci", ".ci", "tools", "hack")
"""Where projects keep what checks them, by habit: a file there that a check names is no part of the product."""
_INSTALLED = {"node_modules", ".venv", "venv", "site-packages"}
_LAUNCHER = compile_re(
    r"(?:ba|da|z|k|fi)?sh|python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|pwsh|uv|npx|env|sudo|nice|timeout|exec"
)
"""Programs that run what a file says which they are given."""
DEPTH = 4
"""How deep scripts that call scripts are followed."""
LARGEST = 256 * 1024
_CAPTURED = compile_re(r"\$\([^()]*\)|`[^`]*`|[^|;&\n]+(?=\|(?!\|))")
"""The parts of a command of which something else reads the output."""
_STARTS = compile_re(
    r"subprocess|os\.(?:system|popen|exec|spawn)|child_process|\b(?:exec|eval|compile|system|spawn|popen)\b|__import__"
    r"|importlib|runpy|pytest|unittest|[`]"
)
"""Words with which a program starts other code than its own."""


def protection_of(root: Path, config: Config, spec: Spec, checks: Sequence[Check]) -> Protection:
    """Return the rules as they hold before any agent runs. Raises AigonError (exit 2) for what is malformed."""
    own = (
        Rule(
            (each.paths,) if isinstance(each.paths, str) else tuple(each.paths),
            each.level,
            each.part,
            tuple(each.keys),
            "protect in .aigon/config.json",
        )
        for each in config.protect
    )
    shipped = profile.load_protections(*(documents := (read_profiles(), read_profiles(root / ".aigon" / "profiles"))))
    folders = [_CheckedFolder(root, name, checks) for name in dict.fromkeys(check.cwd for check in checks)]
    lists = tuple(criterion.command or "" for criterion in spec.criteria if criterion.kind == "checklist")
    rules = (
        *own,
        *([Rule(_escape(lists), "review", source="a checklist of the spec")] if lists else ()),
        *_protect_programs(root, config),
        *(rule for folder in folders for rule in folder.protect_package_scripts()),
        *_protect_scripts(root, spec, checks, folders, Protection(shipped)),
        *(rule for folder in folders for rule in folder.protect_targets()),
        *shipped,
    )
    allow, free = markdown.read_strings(spec.frontmatter, "allow"), profile.load_free_files(*documents)
    return Protection(rules, allow, tuple(config.secrets.allow), free=free, compared=find_compared(root, spec))


def proof_of(root: Path, config: Config) -> ProofPlan:
    """Return how everything is run once more. Raises AigonError (exit 2) for what contradicts itself."""
    parts = profile.load_ecosystems(read_profiles(), read_profiles(root / ".aigon" / "profiles")).values()
    own, setup = config.proof, config.proof.setup
    argv = ("bash", "-ec", setup) if isinstance(setup, str) else tuple(setup or ())
    setups = (Setup("", argv, ""),) if argv else tuple(find_setups(ProjectOnDisk(root, os.environ), parts))
    caches = {name: place for part in parts for name, place in part.caches.items()}
    network = config.sandbox.checks_network
    if network == "closed" and own.mode == "in-place":
        hint = 'Set "proof": "clean-room", or leave sandbox.checksNetwork out'
        raise usage("Only a clean room can close the network of checks", where="sandbox.checksNetwork", hint=hint)
    return ProofPlan(own.mode, own.home, own.isolation, network, setups, caches)


def _protect_programs(root: Path, config: Config) -> Iterator[Rule]:
    """Yield rules for programs of the repository that judge, or that a hook or a notification starts."""
    command = config.judge.command if config.judge else []
    words = command.split() if isinstance(command, str) else command
    programs = {"judge.command": tuple(filter(None, (path_of(root, word) for word in words)))}
    programs |= {f"hooks.{point}": started(root, each.command) for point, each in config.hooks.items()}
    programs |= {f"notify[{number}]": started(root, each.command) for number, each in enumerate(config.notify)}
    for source, files in programs.items():
        if files:
            yield Rule(_escape(files), "restore", source=source)


class _CheckedFolder:
    """A folder that checks run in, and the words with which they start what the project itself says."""

    def __init__(self, root: Path, name: str, checks: Sequence[Check]) -> None:
        self.path = root / name
        self.prefix = "" if name == "." else f"{name}/"
        self.words: list[str] = []
        for check in checks:
            if check.cwd == name:
                argv = [Path(check.argv[0]).name, *check.argv[1:]] if check.argv else []
                self.words.append(" ".join(argv))
                self.words += (_read(Path(part)) for part in check.argv if _is_own(root, part))
        self.scripts = _read_package_scripts(self.path / "package.json")
        self.run = self._follow_scripts()

    def _follow_scripts(self) -> list[str]:
        """Return the scripts of package.json that are run, with those before and after them, and what they run."""
        names: dict[str, None] = {}
        waiting = [name for text in self.words for name in _PACKAGE_SCRIPT.findall(text)]
        while waiting:
            name = waiting.pop()
            for each in (name, f"pre{name}", f"post{name}"):
                if each not in names and "." not in each:
                    names[each] = None
                    waiting += _PACKAGE_SCRIPT.findall(self.scripts.get(each, ""))
        return list(names) if names.keys() & self.scripts.keys() else []

    def _list_recipes(self) -> list[Path]:
        return [path for path in sorted(self.path.glob("*")) if _RECIPES.fullmatch(path.name)]

    def protect_package_scripts(self) -> Iterator[Rule]:
        """Scripts of package.json that checks run are put back, like any validation script; others are free."""
        if self.run:
            keys = tuple(f"scripts.{name}" for name in self.run)
            yield Rule(_escape([f"{self.prefix}package.json"]), "restore", keys=keys, source="a check")

    def protect_targets(self) -> Iterator[Rule]:
        """Files with the name of a target of the Makefile are not kept: make would take the target for done."""
        if not any(re.search(r"\bg?make\b", text) for text in self.words):
            return
        rules = (line for path in self._list_recipes() for line in _TARGET.findall(_read(path)))
        names = sorted({word for line in rules for word in line.split() if _WORD.fullmatch(word)})
        paths = _escape(f"{self.prefix}{name}" for name in names if not (self.path / name).exists())
        if paths:
            below = (f"{path}/**" for path in paths)
            yield Rule((*paths, *below), "review", "config", source="a target of the Makefile")

    def list_texts(self) -> Iterator[str]:
        """Yield what the project's own words run here, with paths as the repository has them.

        The scripts of package.json that checks start, and whole Makefiles, justfiles and Taskfiles if a check starts
        such a runner.
        """
        texts = [self.scripts[name] for name in self.run if name in self.scripts]
        if any(_TARGETS.search(text) for text in [*self.words, *texts]):
            texts += map(_read, self._list_recipes())
        for text in texts:
            yield _WORD.sub(lambda word: f"{self.prefix}{word[0].removeprefix('./')}", text)


def _read_package_scripts(path: Path) -> Mapping[str, str]:
    try:
        scripts = json.loads(path.read_bytes())["scripts"]
        return {name: str(command) for name, command in scripts.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _protect_scripts(
    root: Path, spec: Spec, checks: Sequence[Check], folders: Sequence[_CheckedFolder], shipped: Protection
) -> Iterator[Rule]:
    """The validation script is put back; what it and the commands of checks and criteria call is laid over.

    What tests call is what they test, unless it asserts.
    """
    named = [str(Path(part).relative_to(root)) for check in checks for part in check.argv if _is_own(root, part)]
    validation = [path for check in checks if check.name == "script" for path in named if path in " ".join(check.argv)]
    for path in [path for path in validation if (root / path).is_symlink()]:
        target = (root / path).resolve()
        if target.is_file() and target.is_relative_to(root.resolve()):
            validation.append(target.relative_to(root.resolve()).as_posix())
    if validation:
        yield Rule(_escape(validation), "restore", source="the validation script")
    texts = [part for check in checks for part in check.argv if "\n" in part or " " in part]
    captured, deciding = _split_captured(spec)
    texts += deciding
    texts += [spec.validation or "", *(_read(root / path) for path in named if path.endswith(_SCRIPTS))]
    texts += [text for folder in folders for text in folder.list_texts()]
    called = {*_list_called(root, texts, shipped)} | (
        {*_list_called(root, captured, shipped)} - set(find_compared(root, spec))
    )
    if called := called - set(validation):
        yield Rule(_escape(sorted(called)), "review", "config", source=CALLED)


def _split_captured(spec: Spec) -> tuple[list[str], list[str]]:
    """Return the parts of criteria's commands of which something else reads the output, and the other parts."""
    captured, deciding = list[str](), list[str]()
    for criterion in (each for each in spec.criteria if each.kind in COMMAND_KINDS):
        command = criterion.command or ""
        if criterion.kind in ("prints", "seconds"):
            captured.append(command)
        elif criterion.kind == "verify":
            captured += _CAPTURED.findall(command)
            deciding.append(_CAPTURED.sub("", command))
        else:
            deciding.append(command)
    return captured, deciding


def find_compared(root: Path, spec: Spec) -> tuple[str, ...]:
    """Return the programs of which criteria only compare the output, and that start nothing else.

    They are what a feature changes, unless they use the product (`find_inputs`). A shell script, or a file where
    projects keep what checks them, does not count.
    """
    return tuple(
        path
        for path in _list_called(root, _split_captured(spec)[0], depth=1)
        if not path.endswith(_SCRIPTS)
        and path.partition("/")[0] not in _FOLDERS
        and not _STARTS.search(_read(root / path))
    )


def _is_own(root: Path, part: str) -> bool:
    """Return whether an argument is a file of the work tree; a dependency folder's tools are not."""
    path = Path(part)
    inside = path.is_absolute() and path.is_relative_to(root) and path.is_file()
    return inside and not _INSTALLED & set(path.relative_to(root).parts)


def _list_called(
    root: Path, texts: Sequence[str], shipped: Protection | None = None, depth: int = DEPTH
) -> Iterator[str]:
    """Yield scripts of the project that these texts name, and those that they name in turn; of what tests name, those
    that assert."""
    called: set[str] = set()
    for text in texts:
        for word in _WORD.findall(text):
            path = word.removeprefix("./").rpartition("=")[2]
            is_script = path.endswith(_SCRIPTS) or path.partition("/")[0] in _FOLDERS
            if is_script and not path.startswith(("/", "-", "..")) and "/../" not in path and (root / path).is_file():
                called.add(path)
        for word in (word for words in _INTERPRETED.findall(text) for word in words if word):
            path = posixpath.normpath(word)  # a file that an interpreter is given by name: `node run-all.js`
            if not path.startswith(("/", "..")) and (root / path).is_file():
                called.add(path)
    yield from sorted(called)
    if called and depth > 1:
        tests = {path for path in called if shipped and shipped.part(path) == "tests"}
        yield from _list_called(root, [_read(root / path) for path in sorted(called - tests)], shipped, depth - 1)
        helpers = _list_called(root, [_read(root / path) for path in sorted(tests)], shipped, depth - 1)
        yield from (path for path in helpers if asserts(path, _read(root / path)))


def _read(path: Path) -> str:
    try:
        return path.read_bytes()[:LARGEST].decode(errors="replace")
    except OSError:
        return ""


def _escape(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths as patterns: braces, stars and question marks in names are rare and match any one character."""
    return tuple(re.sub(r"[*?{}]", "?", path) for path in paths)


def started(root: Path, command: Sequence[str] | str) -> tuple[str, ...]:
    """Return the files of the work tree that `command` starts, by path: a list of words, or a line for bash.

    What such a file starts in turn is not followed, and a line that cannot be read starts nothing that is known.
    """
    try:
        commands = [each.words for each in split_commands(command)] if isinstance(command, str) else [tuple(command)]
    except ValueError:
        return ()
    files: dict[str, None] = {}
    for words in filter(None, commands):
        program = path_of(root, words[0]) if "/" in words[0] else ""
        if program:
            files[program] = None
        elif words[0] in (".", "source") or _LAUNCHER.fullmatch(words[0].rpartition("/")[2]):
            given = (path for word in words[1:] if (path := path_of(root, word)))
            files |= dict.fromkeys([*given][:1])
    return tuple(files)


def path_of(root: Path, word: str) -> str:
    """Return a word as a file of the work tree, relative to it; empty for anything else."""
    path = root / Path(word).expanduser() if word else root
    inside = ".." not in path.parts and path.is_relative_to(root) and path.is_file()
    return path.relative_to(root).as_posix() if inside else ""


SHOWN = 6
"""Files named per line; the rest is counted."""
_TITLES = {
    "restore": "put back when changed",
    "base-tests": "has to pass with the base's version, too",
    "review": "a person has to approve a change",
    "note": "a change is noted",
}


def document(protection: Protection, tracked: Iterable[str]) -> dict[str, object]:
    """Return the rules, what the spec allows, and the files that are there by what follows a change of them."""
    return {
        "rules": describe_rules(protection.rules),
        "allow": list(protection.allow),
        "files": {effect: files for effect, files in _list_by_effect(protection, tracked).items() if files},
    }


def lines(protection: Protection, tracked: Iterable[str]) -> list[str]:
    """Return the same on a few lines."""
    rows = []
    for effect, files in _list_by_effect(protection, tracked).items():
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        rows += [f"  {_TITLES[effect]}: {', '.join(files[:SHOWN])}{more}"] if files else []
    rows += [f"  allowed by the spec: {', '.join(protection.allow)}"] if protection.allow else []
    return rows or ["  none"]


def _list_by_effect(protection: Protection, tracked: Iterable[str]) -> dict[str, list[str]]:
    effects: dict[str, list[str]] = {effect: [] for effect in _TITLES}
    for path in tracked:
        for rule in protection.rules_of(path):
            keys = f" ({', '.join(rule.keys[:3])}{', ...' if len(rule.keys) > 3 else ''})" if rule.keys else ""
            effects["base-tests" if rule.relaid else rule.level].append(path + keys)
    return effects
