"""What a command must be before it is proposed, and before it is run without a person having seen it.

Three questions, from the mildest: can it stand in an annotation at all (`flaw`), does it edit anything (`edits`), and
is it known to do nothing but look (`only_looks`)? A command of which that is not known is shown and not run.
"""

import re
from collections.abc import Callable

from aigon.compile.rules.programs import (
    ALONE,
    EDITORS,
    FLAGS,
    IS_SETTING,
    LOOKING,
    PASS_ON,
    PYTHON,
    READERS,
    RUN_IT,
    RUNNERS,
    SUBCOMMANDS,
)
from aigon.compile.rules.snippet import snippet_edits, snippet_looks
from aigon.text.shell import SimpleCommand, split_commands

LONGEST = 500
"""Characters of a proposed command: one line that a person reads before saying yes."""
_HIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SCRATCH = re.compile(r"/dev/(?:null|stdout|stderr|fd/\d+)|/tmp/\S+|\$\{?TMPDIR\S*|\$\{?\w+\}?")
_QUIET = re.compile(
    r"-[qvxsl]+|-[km]|--no-header|--tb=\w+|-q+|-v+|--co|--collect-only|--run|--noEmit|--test|-t|--no-fix|--no-fix-only"
    r"|--test-name-pattern(?:=.*)?|-run|-count=1|--cached|--[\w-]*quiet|--strict"
)
_SETTINGS = re.compile(r"(?:PYTHONPATH|PYTHONDONTWRITEBYTECODE|CI|NODE_ENV|LC_ALL|LANG|TZ|NO_COLOR)=[\w./:@+-]*")
_INSTALLED = re.compile(r"(?:\./)?(?:node_modules/\.bin|\.?venv/bin)/")
_HELP = re.compile(r"--help|-h|--version|-V")
_IMPORT_ONLY = re.compile(r"import \{ [\w$]+(?:, [\w$]+)* \} from '\./[\w./-]+'")
"""JavaScript that does nothing but name what a module has to export."""


def flaw(command: str) -> str:
    """Why `command` cannot stand in an annotation; empty when it can. A shell's opinion on it is asked elsewhere."""
    if not command.strip():
        return "it is empty"
    if "-->" in command or "<!--" in command:
        return "it holds the mark that ends the annotation"
    if "\n" in command or "\r" in command:
        return "it has more than one line"
    if _HIDDEN.search(command):
        return "it holds characters that cannot be seen"
    return f"it is longer than {LONGEST} characters" if len(command) > LONGEST else ""


def edits(command: str) -> str:
    """What `command` would change, as far as its words tell; empty for nothing that shows."""
    try:
        found = (_edit(simple) for simple in split_commands(command))
        return next((edit for edit in found if edit), "")
    except ValueError as error:
        return f"a part that cannot be read ({error})"


def only_looks(command: str, helps: Callable[[tuple[str, ...]], bool], own: frozenset[str]) -> bool:
    """Whether every program in it is known to look and not to touch.

    `helps` says of the words before `--help` whether that program knows the option; `own` are the Python modules of
    the project, which its tests run too.
    """
    try:
        simple = split_commands(command)
    except ValueError:
        return False
    return bool(simple) and all(_looks(each, helps, own) for each in simple)


def _edit(simple: SimpleCommand) -> str:
    written = [target for target in simple.writes if not _SCRATCH.fullmatch(target)]
    if written:
        return f"`> {written[0]}`"
    words, name = _bare(simple.words)
    if name in ("bash", "sh", "zsh", "dash"):
        return _shell(simple, words)
    if name.startswith("python") and "-c" in words[:-1]:
        return snippet_edits(words[words.index("-c") + 1])
    rest = words[1:]
    if name in EDITORS:
        return f"`{name}`"
    sub = next((word for word in rest if not word.startswith("-")), "")
    if sub and sub in SUBCOMMANDS.get(name, "").split():
        return f"`{name} {sub}`"
    flag = next((word for word in rest if name in FLAGS and re.fullmatch(FLAGS[name], word)), "")
    if flag:
        return f"`{name} {flag}`"
    return f"`{name}`" if _formats(name, rest) else ""


def _shell(simple: SimpleCommand, words: tuple[str, ...]) -> str:
    """A shell in the shell: its script is read as well; what comes down a pipe cannot be."""
    if "-c" in words[:-1]:
        return edits(words[words.index("-c") + 1])
    return "a script that comes down a pipe" if simple.piped or simple.inner else ""


def _formats(name: str, rest: tuple[str, ...]) -> bool:
    if name == "ruff" and rest[:1] == ("format",):
        return "--check" not in rest and "--diff" not in rest
    return name in ALONE and not any(re.fullmatch(ALONE[name], word) for word in rest)


def _bare(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The words without what only passes a command on (`npx`, `timeout 5`, `python -m`), and the program's name."""
    while words:
        name = words[0].rpartition("/")[2]
        if name in PASS_ON or IS_SETTING.match(words[0]):
            words = words[1:]
        elif words[:2] in RUN_IT or (PYTHON.fullmatch(name) and words[1:2] == ("-m",) and len(words) > 2):
            words = words[2:]
        else:
            return words, name
    return (), ""


def _looks(simple: SimpleCommand, helps: Callable[[tuple[str, ...]], bool], own: frozenset[str]) -> bool:
    if simple.inner or _edit(simple) or any(target != "/dev/null" for target in simple.writes):
        return False
    if not all(_SETTINGS.fullmatch(each) for each in simple.assigned) or not simple.words:
        return False
    if len(simple.words) > 1 and _HELP.fullmatch(simple.words[-1]):
        return helps(simple.words[:-1])
    words, name = _bare(simple.words)
    if words != simple.words and simple.words[0] in ("npx", "uvx") and "--no-install" not in simple.words:
        return False  # what is not installed would be fetched
    return _known(words, name, own)


def _known(words: tuple[str, ...], name: str, own: frozenset[str]) -> bool:
    rest = words[1:]
    if name in READERS:
        return words[0] == name or words[0].startswith(("/usr/bin/", "/bin/"))
    if name == "cd":
        return len(rest) == 1 and not rest[0].startswith(("/", "~", "-")) and ".." not in rest[0]
    if PYTHON.fullmatch(name) and rest[:1] == ("-c",) and len(rest) == 2:
        return snippet_looks(rest[1], own)
    if name == "node" and len(rest) == 3 and rest[:2] == ("--input-type=module", "-e"):
        return _IMPORT_ONLY.fullmatch(rest[2]) is not None
    if name in RUNNERS or (rest and rest[0] in LOOKING.get(name, "").split()):
        return _INSTALLED.sub("", words[0]) == name and _plain_options(name, rest)
    return False


def _plain_options(name: str, rest: tuple[str, ...]) -> bool:
    """Only options that choose what is run and how much is said: others write reports, load plugins, fetch things."""
    if name == "node" and rest[:1] != ("--test",):
        return False
    if name == "tsc" and "--noEmit" not in rest:
        return False
    if name == "git":
        return not any(word.startswith(("--output", "--ext-diff", "--textconv", "-O", "--open")) for word in rest)
    return all(_QUIET.fullmatch(word) for word in rest if word.startswith("-"))
