"""Find which source refers to which file: imports by module or path, and names in its text. Nothing is run."""

import ast
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from aigon.languages import is_python
from aigon.proof.analysis.python import parse_python
from aigon.syntax import Node, Source, parse
from aigon.text.patterns import compile_re

_LONGEST = 500_000
"""Characters of a source that are read."""
_IMPORTING = compile_re(
    r"(?m)(?:\b(?:import|require\w*|include\w*|from|use|using|source|load)\b|#\s*include)[^\n;]{0,1000}?[\"'<(]\s*[\"'<]?([\w@./+-]+)"
    r"|^[ \t]*(?:pub\s+)?mod\s+(\w+)\s*;|^[ \t]*(?:\.|source)[ \t]+[\"']?([\w./${}-]+)"
)
"""What other languages than Python import: the quoted word after one of these, a module of Rust, a file of a shell."""
_ASSERTS = compile_re(r"(?i)\bassert\w*|\bexpect\s*\(|\bAssertionError\b|\b(?:t|self)\.(?:fail|error)\w*\(")
_INLINE = compile_re(r"(?s)\s-[ce]\s+(?P<quote>['\"])(?P<code>.*?)(?P=quote)")
_COMPARES = compile_re(r"\[\s.*\s(?:==?|!=|-eq|-ne)\s|\btest\s.*\s(?:==?|-eq)\s|\bgrep\s+-\w*q|\b(?:diff|cmp)\s")
_PYTHON_ASSERTS = ("unittest", "pytest", "hypothesis", "testing")
_NAMES = ("Name", "identifier", "shorthand_property_identifier_pattern")
_CALLS, _LITERALS = ("Call", "call_expression"), ("Constant", "number", "string", "true", "false")
_READ = ("python", "javascript", "typescript", "tsx")
_INDEX = ("index", "__init__", "__main__", "mod")
"""Files by which a folder is imported."""


def imports(path: str, text: str, target: str) -> bool:
    """Return whether the source `text` at `path` imports the file `target`."""
    stem = _name_module(target)
    may_name = stem.rpartition("/")[2] in text or _is_index(target)  # `import x from '.'` names no file
    return may_name and any(name == stem or stem.endswith(f"/{name}") for name in list_imports(path, text) if name)


def compares(text: str, target: str) -> bool:
    """Return whether a shell script compares something, and runs code in its own words that imports `target`."""
    code = [match["code"] for match in _INLINE.finditer(text)] if _COMPARES.search(text) else []
    return any(imports(path, each, target) for each in code for path in ("code.py", "code.js"))


def mentions(text: str, target: str) -> bool:
    """Return whether a text names a file: by its name, or by the folder that it lies in."""
    folder, _, name = target.rpartition("/")
    parent = re.escape(folder.rpartition("/")[2])
    by_folder = rf"|[\"'/]{parent}[\"'/]|\b{parent}/" if folder else ""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]){by_folder}", text) is not None


def asserts(path: str, text: str) -> bool:
    """Return whether a source can fail a test by itself: it asserts, or raises what assertions raise."""
    tree = _parse(path, text)
    if tree is None:
        return _ASSERTS.search(text) is not None
    return any(_is_assertion(node) for node in ast.walk(tree))


def _is_assertion(node: ast.AST) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        return any(part in _PYTHON_ASSERTS for module in modules for part in module.split("."))
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Name) and node.id == "AssertionError")


class Uses(Struct, frozen=True):
    """The use that a test makes of what it imports from a file.

    `looks_at`: at a value that it returns, but for whether that is true; `asks`: whether it is true; `hands`: it gets
    what other code returned, together with a literal.
    """

    looks_at: bool = False
    asks: bool = False
    hands: bool = False


def find_uses(path: str, text: str, target: str) -> Uses | None:
    """Return how a test uses `target`; None for a language that is not read, and if it uses nothing."""
    source = parse(path, text)
    if source is None or source.language not in _READ:
        return None
    bound, declared = _find_bound(source, target)
    nodes = list(source.root.walk())
    asked = {id(_find_root(call)): call for node in nodes if (call := _find_question(source, node))}
    effects = {id(_find_root(call)): call for node in nodes for call in _list_effects(node)}
    names = [n for n in nodes if n.kind in _NAMES[:2] and id(n) not in declared and source.text(n) in bound]
    used = [call for node in names if (call := effects.get(id(node)) or asked.get(id(node)))]
    asks = any(id(node) in asked for node in names)
    return Uses(len(used) < len(names), asks, any(map(_is_handed, used))) if names else None


def _find_bound(source: Source, target: str) -> tuple[set[str], set[int]]:
    """Return the names bound to something of `target`, and the nodes that declare them."""
    if (tree := _parse(source.path, source.data.decode("utf-8", "replace"))) is not None:
        return {name for name, module in _list_bound(source.path, tree) if _is_module(module, target)}, set()
    bound, declared = set[str](), set[int]()
    for node in source.root.walk():
        if node.kind in ("variable_declarator", "import_statement"):
            found = re.search(r"(?:require\(|from|import)\s*[\"']([^\"'\n]+)", source.text(node))
            if found and _is_module(_name_module(_join(posixpath.dirname(source.path), found[1])), target):
                names = [each for each in node.walk() if each.kind in _NAMES]
                bound |= {source.text(each) for each in names} - {"require"}
                declared |= {id(each) for each in names}
    return bound, declared


def _list_effects(node: Node) -> Iterator[Node]:
    """Yield the calls that are a statement of their own, all that a function does, or entered by `with`."""
    expressions: list[Node | None] = []
    if node.kind in ("Expr", "expression_statement"):
        expressions = [node.children[0]]
    elif node.kind == "arrow_function":
        expressions = [node.get("body")]
    elif node.kind == "withitem":
        expressions = [node.get("context_expr")]
    for each in expressions:
        call = each.children[-1] if each and each.kind in ("Await", "await_expression") else each
        if call and call.kind in _CALLS:
            yield call


def _find_question(source: Source, node: Node) -> Node | None:
    """Return the call that an assertion of Python only asks whether it comes to true."""
    asked = node.get("test") if node.kind == "Assert" else None
    if node.kind == "Call" and source.text(node.children[0]).endswith((".assertTrue", ".assertFalse")):
        asked = node.get("args")
    if asked and asked.kind == "UnaryOp" and asked.children[0].kind == "not":
        asked = asked.get("operand")
    return asked if asked and asked.kind == "Call" else None


def _is_handed(call: Node) -> bool:
    given = call.list("args") or tuple(each for place in call.list("arguments") for each in place.children)
    kinds = {each.kind for each in given}
    return not kinds.isdisjoint(_CALLS) and not kinds.isdisjoint(_LITERALS)


def _find_root(call: Node) -> Node:
    node = call.get("func", "function") or call
    while node.kind in ("Attribute", "member_expression") and (inner := node.get("value", "object")):
        node = inner
    return node


def _list_bound(path: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each imported name with the module that it comes from or is, as a path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.asname or each.name.partition(".")[0], each.name.replace(".", "/")
        elif isinstance(node, ast.ImportFrom):
            module = _resolve(path, node)
            for each in node.names:
                yield each.asname or each.name, module
                yield each.asname or each.name, f"{module}/{each.name}".removeprefix("/")


def _resolve(path: str, node: ast.ImportFrom) -> str:
    """Return the module as a path; a relative one from the folder of the file."""
    module = (node.module or "").replace(".", "/")
    if not node.level:
        return module
    folder = posixpath.dirname(path).split("/")
    return "/".join([*folder[: len(folder) - node.level + 1], *filter(None, [module])]).removeprefix("/")


def _is_module(module: str, target: str) -> bool:
    stem = _name_module(target)
    return bool(module) and (module == stem or stem.endswith(f"/{module}"))


@lru_cache(maxsize=256)
def _parse(path: str, text: str) -> ast.Module | None:
    """Return the tree of a Python source; None for another, and for one that cannot be read."""
    return parse_python(text, _LONGEST) if is_python(path) else None


@lru_cache(maxsize=4096)
def list_imports(path: str, text: str) -> tuple[str, ...]:
    """Return what a source imports, as paths without suffix."""
    tree = _parse(path, text)
    if tree:
        found = {module for _, module in _list_bound(path, tree)}
        # `import a.b` runs a/__init__.py, too.
        return tuple({"/".join(parts[:n]) for parts in (m.split("/") for m in found) for n in range(1, len(parts) + 1)})
    here = posixpath.dirname(path)
    words = (word for groups in _IMPORTING.findall(text[:_LONGEST]) for word in groups if word)
    return tuple({_name_module(_join(here, word)) for word in words})


def _join(here: str, word: str) -> str:
    if not word.startswith("."):
        return word
    path = posixpath.normpath(posixpath.join(here, word))
    return "index" if path == "." else path


def _is_index(path: str) -> bool:
    return posixpath.basename(path).partition(".")[0] in _INDEX


def _name_module(path: str) -> str:
    """Return a path without suffix; that of the folder for a file by which the folder is imported."""
    stem = posixpath.splitext(path)[0].removesuffix(".d")
    folder, _, name = stem.rpartition("/")
    return folder if name in _INDEX and folder else stem
