"""Decide whether a command may be proposed, and whether it may run before a person has seen it.

Three questions, from the mildest: can it stand in an annotation at all (`find_flaw`), does it edit anything
(`find_edit`), and is it known to do nothing but look (`only_looks`)? A command of which that is not known is shown and
not run.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from msgspec import Struct, convert

from aigon.files.resources import read_shipped
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.shell import SimpleCommand, split_commands

LONGEST = 500
"""Characters of a proposed command: one line that a person reads before saying yes."""
_HIDDEN = compile_re(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SCRATCH = compile_re(r"/dev/(?:null|stdout|stderr|fd/\d+)|/tmp/\S+|\$\{?TMPDIR\S*|\$\{?\w+\}?")
_SETTING = compile_re(r"-|\w*=|\d+[smhd]?$")
_PYTHON = compile_re(r"python[\d.]*")
_INSTALLED = compile_re(r"(?:\./)?(?:node_modules/\.bin|\.?venv/bin)/")
_HELP = compile_re(r"--help|-h|--version|-V")
_HARMLESS_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assert, ast.Expr, ast.Pass)
_CAMEL = compile_re(r"(?<=[a-z0-9])(?=[A-Z])")
Words = frozenset[str]


class CommandRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about commands from templates/safe_commands.yaml, which says what each list is."""

    editors: Words
    editing_subcommands: Mapping[str, Words]
    editing_options: Mapping[str, str]
    formatters: Mapping[str, str]
    readers: Words
    reading_subcommands: Mapping[str, Words]
    runners: Words
    launchers: Words
    launcher_pairs: frozenset[tuple[str, ...]]
    harmless_setting: str
    harmless_option: str
    harmless_modules: Words
    harmless_dunders: Words
    reaching_builtins: Words
    changing_words: Words
    editing_calls: Words
    call_owners: Mapping[str, Words]


@cache
def _load_rules() -> CommandRules:
    return convert(parse_yaml(read_shipped("templates", "safe_commands.yaml"), "").value, CommandRules)


def find_flaw(command: str) -> str:
    """Return why `command` cannot stand in an annotation; empty if it can. No shell is asked whether it can read it."""
    if not command.strip():
        return "it is empty"
    if "-->" in command or "<!--" in command:
        return "it holds the mark that ends the annotation"
    if "\n" in command or "\r" in command:
        return "it has more than one line"
    if _HIDDEN.search(command):
        return "it holds characters that cannot be seen"
    return f"it is longer than {LONGEST} characters" if len(command) > LONGEST else ""


def find_edit(command: str) -> str:
    """Return what `command` would change, as far as its words tell; empty if nothing shows."""
    try:
        return next(filter(None, map(_find_simple_edit, split_commands(command))), "")
    except ValueError as error:
        return f"a part that cannot be read ({error})"


def only_looks(command: str, knows_help: Callable[[tuple[str, ...]], bool], own: frozenset[str]) -> bool:
    """Return whether every program in `command` is known to look and not to touch.

    `knows_help` tells of the words before `--help` whether that program knows the option; `own` are the project's
    top-level Python modules, which its tests run too.
    """
    try:
        commands = split_commands(command)
    except ValueError:
        return False
    return bool(commands) and all(_simple_only_looks(simple, knows_help, own) for simple in commands)


def _find_simple_edit(simple: SimpleCommand) -> str:
    written = [target for target in simple.writes if not _SCRATCH.fullmatch(target)]
    if written:
        return f"`> {written[0]}`"
    rules, (words, name) = _load_rules(), _strip_launchers(simple.words)
    arguments = words[1:]
    script = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if name in ("bash", "sh", "zsh", "dash"):
        unseen = "a script that comes down a pipe" if simple.piped or simple.inner else ""
        return find_edit(script) if "-c" in words[:-1] else unseen
    if name.startswith("python") and "-c" in words[:-1]:
        return next((f"`{call}`" for call in _find_editing_calls(script)), "")
    if name in rules.editors:
        return f"`{name}`"
    subcommand = next((word for word in arguments if not word.startswith("-")), "")
    if subcommand and subcommand in rules.editing_subcommands.get(name, ()):
        return f"`{name} {subcommand}`"
    if pattern := rules.editing_options.get(name):
        option = next((word for word in arguments if re.fullmatch(pattern, word)), "")
        if option:
            return f"`{name} {option}`"
    if name == "ruff" and arguments[:1] == ("format",):
        return "" if {"--check", "--diff"} & set(arguments) else "`ruff`"
    unless = rules.formatters.get(name)
    return f"`{name}`" if unless and not any(re.fullmatch(unless, word) for word in arguments) else ""


def _strip_launchers(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words without what only passes a command on (`npx`, `timeout 5`, `python -m`), and the program."""
    rules = _load_rules()
    while words:
        name = words[0].rpartition("/")[2]
        if name in rules.launchers or _SETTING.match(words[0]):
            words = words[1:]
        elif words[:2] in rules.launcher_pairs or (
            _PYTHON.fullmatch(name) and words[1:2] == ("-m",) and len(words) > 2
        ):
            words = words[2:]
        else:
            return words, name
    return (), ""


def _simple_only_looks(
    simple: SimpleCommand, knows_help: Callable[[tuple[str, ...]], bool], own: frozenset[str]
) -> bool:
    if simple.inner or _find_simple_edit(simple) or any(target != "/dev/null" for target in simple.writes):
        return False
    rules = _load_rules()
    if not all(re.fullmatch(rules.harmless_setting, each) for each in simple.assigned) or not simple.words:
        return False
    if len(simple.words) > 1 and _HELP.fullmatch(simple.words[-1]):
        return knows_help(simple.words[:-1])
    words, name = _strip_launchers(simple.words)
    if words != simple.words and simple.words[0] in ("npx", "uvx") and "--no-install" not in simple.words:
        return False  # what is not installed would be fetched
    arguments = words[1:]
    if name in rules.readers:
        return words[0] == name or words[0].startswith(("/usr/bin/", "/bin/"))
    if name == "cd":
        return len(arguments) == 1 and not arguments[0].startswith(("/", "~", "-")) and ".." not in arguments[0]
    if _PYTHON.fullmatch(name) and arguments[:1] == ("-c",) and len(arguments) == 2:
        return _code_only_looks(arguments[1], own)
    if name in rules.runners or (arguments and arguments[0] in rules.reading_subcommands.get(name, ())):
        return _INSTALLED.sub("", words[0]) == name and _has_harmless_options(name, arguments)
    return False


def _has_harmless_options(name: str, arguments: tuple[str, ...]) -> bool:
    """Return whether no option writes a report, loads a plug-in or fetches something."""
    if (name == "node" and arguments[:1] != ("--test",)) or (name == "tsc" and "--noEmit" not in arguments):
        return False
    if name == "git":
        return not any(word.startswith(("--output", "--ext-diff", "--textconv", "-O", "--open")) for word in arguments)
    return all(re.fullmatch(_load_rules().harmless_option, word) for word in arguments if word.startswith("-"))


def _find_editing_calls(code: str) -> Iterator[str]:
    """Yield what Python code would change or start, as far as its calls tell."""
    rules = _load_rules()
    for node in ast.walk(_parse(code) or ast.Module([], [])):
        if isinstance(node, ast.Call):
            name = _last_name(node.func)
            owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            first = 0 if isinstance(node.func, ast.Attribute) else 1
            modes = [*node.args[first : first + 1], *(k.value for k in node.keywords if k.arg == "mode")]
            # A mode that is computed may write.
            texts = [str(mode.value) if isinstance(mode, ast.Constant) else "w" for mode in modes]
            if name == "open" and any(set(text) & set("wax+") for text in texts):
                yield "open(..., to write)"
            if name in rules.editing_calls and owner in rules.call_owners.get(name, (owner,)):
                yield name


def _code_only_looks(code: str, own: frozenset[str]) -> bool:
    """Return whether code only imports harmless modules or `own` ones, calls functions that compute, and asserts."""
    tree = _parse(code)
    if tree is None or not all(isinstance(statement, _HARMLESS_STATEMENTS) for statement in tree.body):
        return False
    return all(_is_harmless(node, _load_rules().harmless_modules | own) for node in ast.walk(tree))


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _is_harmless(node: ast.AST, modules: frozenset[str]) -> bool:
    match node:
        case ast.Import():
            return all(alias.name.partition(".")[0] in modules for alias in node.names)
        case ast.ImportFrom():
            return not node.level and (node.module or "").partition(".")[0] in modules
        case ast.Attribute():
            return not node.attr.startswith("__") or node.attr in _load_rules().harmless_dunders
        case ast.Name():
            return node.id not in _load_rules().reaching_builtins
        case ast.Call():  # what is handed over may be called there
            parts = [part for e in (node.func, *node.args) for part in _CAMEL.sub("_", _last_name(e)).split("_")]
            return _load_rules().changing_words.isdisjoint(map(str.lower, parts))
    return True


def _last_name(function: ast.expr) -> str:
    """Return the last part of what is called: `write_text` of `Path("x").write_text`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
