"""What a command must be before it is proposed, and before it is run without a person having seen it.

Three questions, from the mildest: can it stand in an annotation at all (`find_flaw`), does it edit anything
(`find_edit`), and is it known to do nothing but look (`only_looks`)? A command of which that is not known is shown and
not run.
"""

import ast
import re
from collections.abc import Callable, Iterator

from aigon.text.patterns import compile_re
from aigon.text.shell import SimpleCommand, split_commands


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LONGEST = 500
"""Characters of a proposed command: one line that a person reads before saying yes."""
_HIDDEN = compile_re(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SCRATCH = compile_re(r"/dev/(?:null|stdout|stderr|fd/\d+)|/tmp/\S+|\$\{?TMPDIR\S*|\$\{?\w+\}?")

# Programs, by whether they change something.
_EDITORS = _words(
    "rm rmdir unlink mv cp ln install touch mkdir mkfifo mknod chmod chown chgrp truncate dd tee patch ed ex vi "
    "vim nano emacs shred rsync scp sftp ssh curl wget kill killall pkill sudo su doas reboot shutdown crontab "
    "systemctl service mount umount eval source . xargs parallel docker podman kubectl terraform psql mysql "
    "redis-cli at"
)
"""They change something, or run what cannot be seen here."""
_EDITING_SUBCOMMANDS = {
    "git": "add am apply branch checkout cherry-pick clean clone commit config fetch filter-branch gc init merge mv "
    "notes pull push rebase reset restore revert rm stash switch symbolic-ref tag update-index update-ref worktree",
    "npm": "add ci i init install link publish uninstall update version exec",
    "pnpm": "add i init install link publish remove update dlx exec",
    "yarn": "add init install link publish remove up dlx",
    "bun": "add install link publish remove update x",
    "pip": "download install uninstall",
    "pip3": "download install uninstall",
    "uv": "add lock pip remove sync venv",
    "poetry": "add init install lock publish remove update",
    "cargo": "add clean fix init install new publish remove update fmt",
    "go": "clean fmt generate get install mod",
    "make": "clean install deploy publish release",
}
_EDITING_OPTIONS = {
    "sed": r"-\w*i\w*|--in-place.*",
    "perl": r"-\w*i\w*",
    "sort": r"-\w*o\w*|--output.*",
    "find": r"-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)",
    "ruff": r"--fix(?:-only)?|--unsafe-fixes|--add-noqa",
    "eslint": r"--fix(?:-dry-run)?",
    "prettier": r"-w|--write",
    "jest": r"-u|--updateSnapshot",
    "vitest": r"-u|--update",
    "pytest": r"--snapshot-update|--inline-snapshot.*|--basetemp.*",
}
_FORMATTERS = {"black": r"--check", "isort": r"--check(?:-only)?"}
"""They write unless this option is there."""
_READERS = _words(
    "true false test [ [[ ]] grep egrep fgrep wc cat head tail cut uniq tr ls stat diff cmp jq echo printf "
    "basename dirname seq expr sort find mypy pyright done fi : exit"
)
_READING_SUBCOMMANDS = {
    "git": "grep ls-files show diff log rev-parse ls-tree cat-file check-ignore",
    "ruff": "check",
    "go": "test vet",
    "cargo": "test check",
    "vitest": "run",
}
_RUNNERS = ("pytest", "unittest", "jest", "mocha", "eslint", "tsc", "node")

# Words before a program's name, and options that only choose what is run and how much is printed.
_PASS_ON = ("env", "nice", "stdbuf", "timeout", "npx", "uvx")
_PASS_ON_PAIRS = (("uv", "run"), ("poetry", "run"), ("pnpm", "exec"), ("npm", "exec"))
_SETTING = compile_re(r"-|\w*=|\d+[smhd]?$")
_PYTHON = compile_re(r"python[\d.]*")
_HARMLESS_SETTING = compile_re(
    r"(?:PYTHONPATH|PYTHONDONTWRITEBYTECODE|CI|NODE_ENV|LC_ALL|LANG|TZ|NO_COLOR)=[\w./:@+-]*"
)
_HARMLESS_OPTION = compile_re(
    r"-[qvxsl]+|-[km]|--no-header|--tb=\w+|-q+|-v+|--co|--collect-only|--run|--noEmit|--test|-t|--no-fix|--no-fix-only"
    r"|--test-name-pattern(?:=.*)?|-run|-count=1|--cached|--[\w-]*quiet|--strict"
)
_INSTALLED = compile_re(r"(?:\./)?(?:node_modules/\.bin|\.?venv/bin)/")
_HELP = compile_re(r"--help|-h|--version|-V")
_IMPORT_ONLY = compile_re(r"import \{ [\w$]+(?:, [\w$]+)* \} from '\./[\w./-]+'")
"""JavaScript that does nothing but name what a module has to export."""

# Code behind `python -c`.
_HARMLESS_MODULES = _words(
    "math cmath json re inspect unittest dataclasses typing decimal fractions datetime collections itertools "
    "functools string statistics textwrap enum abc operator numbers"
)
_HARMLESS_DUNDERS = frozenset(("__all__", "__version__", "__doc__", "__name__", "__annotations__"))
_HARMLESS_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assert, ast.Expr, ast.Pass)
_REACHING_BUILTINS = _words(
    "exec eval open compile input breakpoint globals locals vars setattr delattr getattr __import__ exit quit"
)
_CHANGING_NAME = compile_re(
    r"(?:^|_)(?:reset|delete|del|drop|remove|rm|write|save|store|send|post|put|patch|deploy|publish|install|create|make"
    r"|init|migrate|sync|push|upload|clean|clear|purge|kill|stop|start|run|main|serve|update|insert|commit|move|rename"
    r"|unlink|truncate|flush|download|fetch|request|execute|call|exec|system|spawn|popen|rmtree|mkdir|touch)(?:_|$)",
    re.IGNORECASE,
)
"""Parts of the names of functions that do more than compute."""
_CAMEL = compile_re(r"(?<=[a-z0-9])(?=[A-Z])")
_EDITING_CALLS = _words(
    "remove unlink rmtree rmdir removedirs rename replace write_text write_bytes mkdir makedirs touch symlink "
    "hardlink copy copy2 copyfile copytree move system popen run call check_call check_output Popen execv execvp "
    "chmod chown truncate urlopen urlretrieve"
)
_CALL_OWNERS = {"replace": ("os", "shutil"), "run": ("subprocess",), "call": ("subprocess",), "copy": ("shutil",)}


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
    words, name = _strip_launchers(simple.words)
    arguments = words[1:]
    script = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if name in ("bash", "sh", "zsh", "dash"):
        unseen = "a script that comes down a pipe" if simple.piped or simple.inner else ""
        return find_edit(script) if "-c" in words[:-1] else unseen
    if name.startswith("python") and "-c" in words[:-1]:
        return next((f"`{call}`" for call in _find_editing_calls(script)), "")
    if name in _EDITORS:
        return f"`{name}`"
    subcommand = next((word for word in arguments if not word.startswith("-")), "")
    if subcommand and subcommand in _EDITING_SUBCOMMANDS.get(name, "").split():
        return f"`{name} {subcommand}`"
    if name in _EDITING_OPTIONS:
        option = next((word for word in arguments if re.fullmatch(_EDITING_OPTIONS[name], word)), "")
        if option:
            return f"`{name} {option}`"
    if name == "ruff" and arguments[:1] == ("format",):
        return "" if {"--check", "--diff"} & set(arguments) else "`ruff`"
    is_formatting = name in _FORMATTERS and not any(re.fullmatch(_FORMATTERS[name], word) for word in arguments)
    return f"`{name}`" if is_formatting else ""


def _strip_launchers(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words without what only passes a command on (`npx`, `timeout 5`, `python -m`), and the program."""
    while words:
        name = words[0].rpartition("/")[2]
        if name in _PASS_ON or _SETTING.match(words[0]):
            words = words[1:]
        elif words[:2] in _PASS_ON_PAIRS or (_PYTHON.fullmatch(name) and words[1:2] == ("-m",) and len(words) > 2):
            words = words[2:]
        else:
            return words, name
    return (), ""


def _simple_only_looks(
    simple: SimpleCommand, knows_help: Callable[[tuple[str, ...]], bool], own: frozenset[str]
) -> bool:
    if simple.inner or _find_simple_edit(simple) or any(target != "/dev/null" for target in simple.writes):
        return False
    if not all(_HARMLESS_SETTING.fullmatch(each) for each in simple.assigned) or not simple.words:
        return False
    if len(simple.words) > 1 and _HELP.fullmatch(simple.words[-1]):
        return knows_help(simple.words[:-1])
    words, name = _strip_launchers(simple.words)
    if words != simple.words and simple.words[0] in ("npx", "uvx") and "--no-install" not in simple.words:
        return False  # what is not installed would be fetched
    arguments = words[1:]
    if name in _READERS:
        return words[0] == name or words[0].startswith(("/usr/bin/", "/bin/"))
    if name == "cd":
        return len(arguments) == 1 and not arguments[0].startswith(("/", "~", "-")) and ".." not in arguments[0]
    if _PYTHON.fullmatch(name) and arguments[:1] == ("-c",) and len(arguments) == 2:
        return _code_only_looks(arguments[1], own)
    if name == "node" and len(arguments) == 3 and arguments[:2] == ("--input-type=module", "-e"):
        return _IMPORT_ONLY.fullmatch(arguments[2]) is not None
    if name in _RUNNERS or (arguments and arguments[0] in _READING_SUBCOMMANDS.get(name, "").split()):
        return _INSTALLED.sub("", words[0]) == name and _has_harmless_options(name, arguments)
    return False


def _has_harmless_options(name: str, arguments: tuple[str, ...]) -> bool:
    """Return whether no option writes a report, loads a plug-in or fetches something."""
    if (name == "node" and arguments[:1] != ("--test",)) or (name == "tsc" and "--noEmit" not in arguments):
        return False
    if name == "git":
        return not any(word.startswith(("--output", "--ext-diff", "--textconv", "-O", "--open")) for word in arguments)
    return all(_HARMLESS_OPTION.fullmatch(word) for word in arguments if word.startswith("-"))


def _find_editing_calls(code: str) -> Iterator[str]:
    """Yield what Python code would change or start, as far as its calls tell."""
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
            if name in _EDITING_CALLS and (name not in _CALL_OWNERS or owner in _CALL_OWNERS[name]):
                yield name


def _code_only_looks(code: str, own: frozenset[str]) -> bool:
    """Return whether code only imports harmless modules or `own` ones, calls functions that compute, and asserts."""
    tree = _parse(code)
    if tree is None or not all(isinstance(statement, _HARMLESS_STATEMENTS) for statement in tree.body):
        return False
    return all(_is_harmless(node, _HARMLESS_MODULES | own) for node in ast.walk(tree))


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
            return not node.attr.startswith("__") or node.attr in _HARMLESS_DUNDERS
        case ast.Name():
            return node.id not in _REACHING_BUILTINS
        case ast.Call():  # what is handed over may be called there
            return not any(_CHANGING_NAME.search(_CAMEL.sub("_", _last_name(e))) for e in (node.func, *node.args))
    return True


def _last_name(function: ast.expr) -> str:
    """Return the last part of what is called: `write_text` of `Path("x").write_text`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
