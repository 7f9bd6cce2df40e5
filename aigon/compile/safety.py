"""Decide whether a command may be proposed: it fits an annotation (`find_flaw`) and edits nothing (`find_edit`)."""

import ast
import re
from collections.abc import Iterator, Mapping
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
Words = frozenset[str]


class CommandRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about commands from templates/safe_commands.yaml, which says what each list is."""

    editors: Words
    editing_subcommands: Mapping[str, Words]
    editing_options: Mapping[str, str]
    formatters: Mapping[str, str]
    launchers: Words
    launcher_pairs: frozenset[tuple[str, ...]]
    editing_calls: Words
    call_owners: Mapping[str, Words]


@cache
def _load_rules() -> CommandRules:
    return convert(parse_yaml(read_shipped("templates", "safe_commands.yaml"), "").value, CommandRules)


def find_flaw(command: str) -> str:
    """Return why `command` cannot be an annotation; empty if it can. No shell is asked whether it can read it."""
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


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _last_name(function: ast.expr) -> str:
    """Return the last part of what is called: `write_text` of `Path("x").write_text`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
