"""What an agent may change in this project: the shipped rules, the project's own, and the scripts that decide."""

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from aigon.checks.project import ProjectOnDisk
from aigon.config.models import Config, Protect
from aigon.errors import usage
from aigon.files.resources import read_profiles
from aigon.job.job import ProofPlan
from aigon.model.checks import Check
from aigon.model.criteria import Spec
from aigon.profiles import profile
from aigon.profiles.ecosystem import Setup, find_setups
from aigon.profiles.protection import Protection, Rule, describe_rules
from aigon.spec import markdown
from aigon.text.shell import split_commands

_WORD = re.compile(r"[\w@%+=:,./-]+")
_PACKAGE_SCRIPT = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?:\s+-\S+)*(?:\s+run(?:-script)?)?(?:\s+-\S+)*\s+([\w:-]+)")
"""A script of package.json by the commands that run one: `npm test`, `pnpm run -s lint`, `yarn build`."""
_INTERPRETED = re.compile(
    r"(?:^|[\s;&|@(/\"'])(?:ba|z|da)?(?:sh|node|tsx|ts-node|deno|bun|python[\d.]*|ruby|perl|php)(?:\s+-\S+)*\s+([\w@%+./-]+)"
    r"|^[ \t]*-?include[ \t]+([\w@%+./-]+)",
    re.M,
)
_TARGETS = re.compile(r"\b(?:g?make|just|task)\b")
_RECIPES = re.compile(r"(?i:gnumakefile|makefile|\.?justfile|taskfile(?:\.dist)?\.ya?ml)|[^/]+\.(?:mk|make|just)")
"""Files that say what make, just and Task run."""
_TARGET = re.compile(r"(?m)^ *(?!\.(?:PHONY|SUFFIXES|DEFAULT|SILENT)\b)([^\s:=#][^:=#\n]*?)[ \t]*&?::?(?!=)")
"""The names in front of a rule of a Makefile."""
_SCRIPTS = (".sh", ".bash", ".zsh")
_FOLDERS = ("scripts", "script", "ci", ".ci", "tools", "hack")
"""Where projects keep what checks them, by habit: a file there that a check names is no part of the product."""
DEPTH = 4
"""How deep scripts that call scripts are followed."""
LARGEST = 256 * 1024


def protection_of(root: Path, config: Config, spec: Spec, checks: Sequence[Check]) -> Protection:
    """The rules as they hold before any agent runs. Raises AigonError (exit 2) for what is malformed."""
    own = tuple(_own(each) for each in config.protect)
    shipped = profile.load_protections(read_profiles(), read_profiles(root / ".aigon" / "profiles"))
    programs = (*_judge(root, config), *_hooks(root, config))
    rules = (*own, *programs, *_package_scripts(root, checks), *_scripts(root, spec, checks))
    rules = (*rules, *_made(root, checks), *shipped)
    return Protection(rules, markdown.read_strings(spec.frontmatter, "allow"), tuple(config.secrets.allow))


def proof_of(root: Path, config: Config) -> ProofPlan:
    """How everything is run once more. Raises AigonError (exit 2) for what is malformed or contradicts itself."""
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


def _judge(root: Path, config: Config) -> Iterator[Rule]:
    """A judge that is a program of the repository is not the agent's to change."""
    command = config.judge.command if config.judge else []
    words = command.split() if isinstance(command, str) else command
    files = [path for word in words if (path := _file(root, word))]
    if files:
        yield Rule(tuple(map(_literal, files)), "restore", source="judge.command")


def _hooks(root: Path, config: Config) -> Iterator[Rule]:
    """Neither is a program of the repository that a hook or a notification starts."""
    commands = {f"hooks.{point}": each.command for point, each in config.hooks.items()}
    commands |= {f"notify[{number}]": each.command for number, each in enumerate(config.notify)}
    for name, command in commands.items():
        if files := started(root, command):
            yield Rule(tuple(map(_literal, files)), "restore", source=name)


def _file(root: Path, word: str) -> str:
    """A word as a file of the work tree, relative to it; empty for anything else."""
    path = (root / word).absolute() if word else root
    return path.relative_to(root).as_posix() if path.is_file() and path.is_relative_to(root) else ""


def _own(rule: Protect) -> Rule:
    paths = (rule.paths,) if isinstance(rule.paths, str) else tuple(rule.paths)
    return Rule(paths, rule.level, rule.part, tuple(rule.keys), "protect in .aigon/config.json")


def _package_scripts(root: Path, checks: Sequence[Check]) -> Iterator[Rule]:
    """The scripts of package.json that checks run are put back, like any validation script; others are free."""
    for folder in dict.fromkeys(check.cwd for check in checks):
        path = "package.json" if folder == "." else f"{folder}/package.json"
        there = _json(root / path).get("scripts")
        texts = [text for check in checks if check.cwd == folder for text in _words_of(root, check)]
        if isinstance(there, dict) and (names := _run_by(texts, {k: str(v) for k, v in there.items()})):
            yield Rule((_literal(path),), "restore", keys=tuple(f"scripts.{name}" for name in names), source="a check")


def _run_by(texts: Sequence[str], scripts: Mapping[str, str]) -> list[str]:
    """The scripts that these commands run, with what runs before and after them, and what they run in turn."""
    found: dict[str, None] = {}
    waiting = [name for text in texts for name in _PACKAGE_SCRIPT.findall(text)]
    while waiting:
        name = waiting.pop()
        for each in (name, f"pre{name}", f"post{name}"):
            if each not in found and "." not in each:
                found[each] = None
                waiting += _PACKAGE_SCRIPT.findall(scripts.get(each, ""))
    return list(found) if set(found) & scripts.keys() else []


def _words_of(root: Path, check: Check) -> list[str]:
    """A command as it would be typed, and what a script of the project that it names says."""
    argv = [Path(check.argv[0]).name, *check.argv[1:]] if check.argv else []
    return [" ".join(argv), *(_text(Path(part)) for part in check.argv if _inside(root, part))]


def _json(path: Path) -> dict[str, object]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _scripts(root: Path, spec: Spec, checks: Sequence[Check]) -> Iterator[Rule]:
    """The validation script is put back; what it and the commands of checks and criteria call is laid over."""
    named = [str(Path(part).relative_to(root)) for check in checks for part in check.argv if _inside(root, part)]
    validation = [path for check in checks if check.name == "script" for path in named if path in " ".join(check.argv)]
    validation += [target for path in validation if (target := _led_to(root, path))]
    if validation:
        yield Rule(tuple(map(_literal, validation)), "restore", source="the validation script")
    texts = [part for check in checks for part in check.argv if "\n" in part or " " in part]
    texts += [criterion.command or "" for criterion in spec.criteria if criterion.kind in ("verify", "metric")]
    texts += [spec.validation or "", *(_text(root / path) for path in named if path.endswith(_SCRIPTS))]
    texts += [
        text for folder in dict.fromkeys(check.cwd for check in checks) for text in _recipes(root, folder, checks)
    ]
    if called := sorted(set(_called(root, texts)) - set(validation)):
        yield Rule(tuple(map(_literal, called)), "review", "config", source="called by a check")


def _recipes(root: Path, folder: str, checks: Sequence[Check]) -> Iterator[str]:
    """What the project's own words run in a folder, with paths as the repository has them: the scripts of package.json
    that its checks start, and whole Makefiles, justfiles and Taskfiles where a check starts such a runner."""
    below, here = root / folder, "" if folder == "." else f"{folder}/"
    words = [text for check in checks if check.cwd == folder for text in _words_of(root, check)]
    there = _json(below / "package.json").get("scripts")
    scripts = {k: str(v) for k, v in there.items()} if isinstance(there, dict) else {}
    texts = [scripts[name] for name in _run_by(words, scripts) if name in scripts]
    if any(_TARGETS.search(text) for text in [*words, *texts]):
        texts += [_text(path) for path in sorted(below.glob("*")) if _RECIPES.fullmatch(path.name)]
    yield from (_WORD.sub(lambda found: f"{here}{found[0].removeprefix('./')}", text) for text in texts)


def _made(root: Path, checks: Sequence[Check]) -> Iterator[Rule]:
    """Files that stand where a target of the Makefile has its name, so that make takes it for done, are not kept."""
    for folder in dict.fromkeys(check.cwd for check in checks):
        texts = [text for check in checks if check.cwd == folder for text in _words_of(root, check)]
        if not any(re.search(r"\bg?make\b", text) for text in texts):
            continue
        makefiles = [p for p in sorted((root / folder).glob("*")) if _RECIPES.fullmatch(p.name)]
        rules = (line for path in makefiles for line in _TARGET.findall(_text(path)))
        names = sorted({word for line in rules for word in line.split() if _WORD.fullmatch(word)})
        here = "" if folder == "." else f"{folder}/"
        paths = tuple(_literal(f"{here}{name}") for name in names if not (root / folder / name).exists())
        if paths:
            both = (*paths, *(f"{path}/**" for path in paths))
            yield Rule(both, "review", "config", source="a target of the Makefile")


def _led_to(root: Path, path: str) -> str:
    """The file of the work tree that a link leads to; empty for what is no link, or leads out of it."""
    target = (root / path).resolve()
    inside = (root / path).is_symlink() and target.is_file() and target.is_relative_to(root.resolve())
    return target.relative_to(root.resolve()).as_posix() if inside else ""


def _inside(root: Path, part: str) -> bool:
    """Whether an argument is a file of the work tree; a dependency folder's tools are none."""
    path = Path(part)
    return (
        path.is_absolute() and path.is_relative_to(root) and path.is_file() and not _installed(path.relative_to(root))
    )


def _installed(path: Path) -> bool:
    return bool({"node_modules", ".venv", "venv", "site-packages"} & set(path.parts))


def _called(root: Path, texts: Sequence[str], depth: int = DEPTH) -> Iterator[str]:
    """Scripts of the project that these texts name, and those that they name in turn."""
    found = sorted({path for text in texts for path in _named(root, text)})
    yield from found
    if found and depth > 1:
        yield from _called(root, [_text(root / path) for path in found], depth - 1)


def _named(root: Path, text: str) -> Iterator[str]:
    yield from (path for word in _WORD.findall(text) if (path := _script(root, word)))
    yield from (
        path for words in _INTERPRETED.findall(text) for word in words if word and (path := _plain_file(root, word))
    )


def _plain_file(root: Path, word: str) -> str:
    """A file that an interpreter is given by name: `node run-all.js`."""
    path = posixpath.normpath(word)
    return path if not path.startswith(("/", "..")) and (root / path).is_file() else ""


def _script(root: Path, word: str) -> str:
    path = word.removeprefix("./").rpartition("=")[2]
    if not path or path.startswith(("/", "-", "..")) or "/../" in path or not (root / path).is_file():
        return ""
    return path if path.endswith(_SCRIPTS) or path.partition("/")[0] in _FOLDERS else ""


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:LARGEST].decode(errors="replace")
    except OSError:
        return ""


def _literal(path: str) -> str:
    """A path as a pattern: braces, stars and question marks in names are rare and stand for themselves roughly."""
    return re.sub(r"[*?{}]", "?", path)


_LAUNCHER = re.compile(
    r"(?:ba|da|z|k|fi)?sh|python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|pwsh|uv|npx|env|sudo|nice|timeout|exec"
)
"""Programs that run what a file says which they are given."""


def started(root: Path, command: Sequence[str] | str) -> tuple[str, ...]:
    """The files of the work tree that `command` starts, by path: a list of words, or a line for bash.

    What such a file starts in turn is not followed, and a line that cannot be read starts nothing that is known.
    """
    return tuple(dict.fromkeys(path for words in _commands(command) for path in _started(root, words)))


def path_of(root: Path, word: str) -> str:
    """A word as a file of the work tree, relative to it; empty for anything else."""
    path = root / Path(word).expanduser() if word else root
    inside = ".." not in path.parts and path.is_relative_to(root) and path.is_file()
    return path.relative_to(root).as_posix() if inside else ""


def _commands(command: Sequence[str] | str) -> list[tuple[str, ...]]:
    if not isinstance(command, str):
        return [tuple(command)]
    try:
        return [each.words for each in split_commands(command)]
    except ValueError:
        return []


def _started(root: Path, words: Sequence[str]) -> Iterator[str]:
    """The program itself; where that is one that runs others, the first file that it is given."""
    if not words:
        return
    if "/" in words[0] and (path := path_of(root, words[0])):
        yield path
    elif words[0] in (".", "source") or _LAUNCHER.fullmatch(words[0].rpartition("/")[2]):
        yield from [path for word in words[1:] if (path := path_of(root, word))][:1]


SHOWN = 6
"""Files named per line; the rest is counted."""


def document(protection: Protection, tracked: Iterable[str]) -> dict[str, object]:
    """The rules, what the spec allows, and the files that are there by what follows a change of them."""
    return {
        "rules": describe_rules(protection.rules),
        "allow": list(protection.allow),
        "files": {title: files for title, files in _by_effect(protection, tracked).items() if files},
    }


def lines(protection: Protection, tracked: Iterable[str]) -> list[str]:
    """The same on a few lines."""
    found = _by_effect(protection, tracked)
    rows = [f"  {_TITLES[effect]}: {_listed(files)}" for effect, files in found.items() if files]
    allowed = [f"  allowed by the spec: {', '.join(protection.allow)}"] if protection.allow else []
    return [*rows, *allowed] or ["  none"]


_TITLES = {
    "restore": "put back when changed",
    "base-tests": "has to be green with the base's version, too",
    "review": "a person has to approve a change",
    "note": "a change is noted",
}


def _by_effect(protection: Protection, tracked: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {effect: [] for effect in _TITLES}
    for path in tracked:
        for rule in protection.rules_of(path):
            found["base-tests" if rule.relaid else rule.level].append(path + _keys(rule))
    return found


def _keys(rule: Rule) -> str:
    return f" ({', '.join(rule.keys[:3])}{', ...' if len(rule.keys) > 3 else ''})" if rule.keys else ""


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(files[:SHOWN]) + more
