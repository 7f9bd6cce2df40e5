"""What is meant literally in a criterion, as a careful reader takes it: a path, a name, a call with its arguments."""

import ast
import builtins
import re

from aigon.compile.rules.words import word_set

_PATH = re.compile(r"(?:\./)?[\w@.+-]+(?:/[\w@.+-]+)*/?")
_ENDING = re.compile(
    r"\.(?:md|rst|txt|pyi?|toml|ini|cfg|conf|[mc]?[jt]sx?|json[5cl]?|ya?ml|lock|html?|css|s[ac]ss|vue|svelte|sh|bash|go|mod"
    r"|rs|rb|java|kt|swift|php|c|h|cc|cpp|hpp|cs|sql|xml|csv|tsv|svg|png|jpe?g|gif|ico|pdf|env|service|dockerfile|proto|tf"
    r"|graphql|ipynb|wasm|zip|gz)$",
    re.IGNORECASE,
)
_WITHOUT_ENDING = ("license", "makefile", "dockerfile", "procfile", "readme", "changelog", "codeowners", "notice")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CALL = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\(.*\)", re.DOTALL)
_LITERALS = {
    "true": "True",
    "false": "False",
    "none": "None",
    "null": "None",
    "an empty list": "[]",
    "an empty string": "''",
    "an empty dict": "{}",
    "an empty tuple": "()",
}
_PLAIN_WORDS = word_set("true false none null self int str float bool list dict tuple set json yaml")


def is_path(text: str) -> bool:
    """Whether it reads as a path inside the project: with a folder, an ending, or a name that files have."""
    if not _PATH.fullmatch(text) or text.startswith(("..", "-")) or ".." in text.split("/"):
        return False
    return "/" in text or text.casefold() in _WITHOUT_ENDING or text.startswith(".") or bool(_ENDING.search(text))


def name_of(text: str) -> str:
    """The dotted name that `text` is, or calls: `calc.multiply` of `calc.multiply(a, b)`; empty for neither."""
    called = _CALL.fullmatch(text)
    name = called[1] if called else text
    return name if _NAME.fullmatch(name) and name.casefold() not in _PLAIN_WORDS else ""


def call_of(text: str) -> tuple[str, str] | None:
    """The name and the argument text of a call whose arguments are all values, as in `multiply(6, 7)`."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(tree, ast.Call) or not _NAME.fullmatch(name := ast.unparse(tree.func)):
        return None
    given = [*tree.args, *(keyword.value for keyword in tree.keywords)]
    if not all(_is_value(each) for each in given):
        return None
    return name, text.strip()[text.strip().index("(") :]


def value_of(text: str) -> str | None:
    """`text` as a Python value, written as such; None where it is none."""
    text = _LITERALS.get(text.casefold(), text)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return text if _is_value(tree) else None


def comparison_of(text: str) -> tuple[str, str, str] | None:
    """Name, arguments and value of `multiply(6, 7) == 42`."""
    left, equals, right = text.partition("==")
    call, value = call_of(left.strip()), value_of(right.strip())
    return (*call, value) if equals and call and value is not None else None


def is_import(text: str) -> bool:
    """Whether it is one absolute import statement."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return len(body) == 1 and (
        isinstance(body[0], ast.Import) or (isinstance(body[0], ast.ImportFrom) and not body[0].level)
    )


def exception_of(text: str) -> str:
    """The name of an exception of Python's own, whatever its case; empty for any other."""
    own = {name.casefold(): name for name, value in vars(builtins).items() if _is_exception(value)}
    return own.get(text.casefold(), "")


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _is_value(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
