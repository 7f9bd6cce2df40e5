"""Objects that are equal to everything: a test that compares them passes whatever they are.

`review` for `__eq__` and its like that say yes without reading what they are compared with, for the same in other
languages, and for mocks that equal anything (`unittest.mock.ANY`, MagicMock) in product code. Comparing types alone is
ordinary for classes without state, so it counts only against Python's own types. An order that never changes is a
`note`: sentinels such as an infinity have one. `__bool__` and `__eq__` that always say no are ordinary.
"""

import ast
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edits
from aigon.proof.analysis.folding import UNKNOWN
from aigon.proof.analysis.languages import extension, is_code, is_javascript, list_product
from aigon.proof.analysis.python import Module, can_read, read_units
from aigon.proof.analysis.sightings import Sighting, find_new, report, sight
from aigon.proof.analysis.text import without_comments

RULE = "always-equal"
_WHY = (
    "Such an object passes any comparison in a test, right or wrong. "
    "Compare what makes two of them equal, or return plain values."
)
_MOCKS = ("ANY", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "NonCallableMagicMock", "sentinel")
_LEVELS: dict[str, ConcernLevel] = {
    **dict.fromkeys(("__eq__", "__contains__", "__instancecheck__", "__subclasscheck__"), "review"),
    **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__"), "note"),
}
_BUILT_IN = {"int", "float", "str", "bytes", "bool", "complex", "list", "dict", "tuple", "object", "Number", "Real"}
_YES = r"(?:true|!0|!false|1\s*===?\s*1|True|Boolean\(1\)|this\s*===?\s*this|self\s*==\s*self)"
_ELSEWHERE = (
    (
        "js",
        rf"\b(?:equals|isEqual|isEqualTo|eq|asymmetricMatch|includes|has|contains)\s*(?::\s*function\s*)?"
        rf"(?:\([^()]{{0,80}}\)|[:=]\s*\(?[\w\s,]{{0,40}}\)?)\s*(?::\s*\w+\s*)?(?:=>\s*)?"
        rf"(?:\{{\s*return\s+)?{_YES}\s*[;}},\n]",
    ),
    ("js", r"jest\.asymmetricMatcher|\bSymbol\.toPrimitive\b[^;]{0,80}?(?:return|=>)\s*(?:[\d'\"`]|true|!0)"),
    ("js", rf"\bvalueOf\s*(?:\(\s*\)|[:=]\s*\(\s*\))\s*(?:=>\s*)?(?:\{{\s*return\s+)?(?:{_YES}|\d|['\"`])"),
    (
        "java|kt|cs|scala|groovy|php|swift|dart",
        rf"\b[eE]quals\s*\([^()]{{0,80}}\)[^{{;=]{{0,60}}(?:\{{\s*return\s+|=>?\s*){_YES}",
    ),
    ("rs", r"\bfn\s+eq\s*\([^()]{0,80}\)\s*->\s*bool\s*\{\s*(?:return\s+)?true\b"),
    ("rb", r"\bdef\s+(?:==|eql\?|===|equal\?)\s*\(?[^\n]{0,40}[\n;]\s*(?:return\s+)?true\s*[\n;]\s*end"),
    ("swift", r"static\s+func\s+==\s*\([^()]{0,80}\)[^{]{0,40}\{\s*(?:return\s+)?true\b"),
    ("cpp|cc|cxx|hpp|h", r"\boperator\s*==\s*\([^()]{0,80}\)[^{;]{0,40}\{\s*return\s+true\b"),
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that brings such an object."""
    yield from report(RULE, find_new(list_product(edits), _see), _WHY)


def _see(path: str, text: str) -> Iterator[Sighting]:
    if can_read(path, text):
        for module in read_units(text):
            yield from _see_python(module)
    elif is_code(path):
        plain = without_comments(text, path)
        end = "js" if is_javascript(path) else extension(path)
        for languages, pattern in _ELSEWHERE:
            for match in re.finditer(pattern, plain) if end in languages.split("|") else ():
                yield sight(text, match.start(), "has an object that is equal to whatever it is compared with")


def _see_python(module: Module) -> Iterator[Sighting]:
    functions = {n.name: n for n in module.nodes if isinstance(n, ast.FunctionDef)}
    for node in module.nodes:
        for name, value in _list_methods(node, module):
            function = functions.get(value.id) if isinstance(value, ast.Name) else value
            if name not in _LEVELS or not isinstance(function, (ast.FunctionDef, ast.Lambda)):
                continue
            if _says_yes(function, module, may_order=_LEVELS[name] == "note"):
                says = f"defines {name}, which answers the same whatever it is compared with"
                yield module.sight(node, says, _LEVELS[name])
        if isinstance(node, (ast.Name, ast.Attribute)):
            owner, _, last = module.name(node).rpartition(".")
            if last in _MOCKS and owner in ("unittest.mock", "mock"):
                yield module.sight(node, "uses a mock, which stands for anything, in the product")


def _list_methods(node: ast.AST, module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield every way to give a class a method: name and function."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""), node.value
    elif isinstance(node, ast.Dict):
        yield from ((module.word(key), value) for key, value in zip(node.keys, node.values, strict=True))
    elif isinstance(node, ast.Call):
        yield from ((keyword.arg or "", keyword.value) for keyword in node.keywords)
        if module.name(node.func) in ("setattr", "type.__setattr__") and len(node.args) == 3:
            yield module.word(node.args[1]), node.args[2]


def _says_yes(function: ast.FunctionDef | ast.Lambda, module: Module, *, may_order: bool) -> bool:
    """Whether some answer is yes, or may be, and none depends on what is compared."""
    body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    nodes = [node for each in body for node in ast.walk(each)]
    returned = [n.value for n in nodes if isinstance(n, ast.Return)] if isinstance(function, ast.FunctionDef) else body
    answers = [each for each in returned if each is not None and getattr(each, "id", "") != "NotImplemented"]
    values = [_answer(each, module) for each in answers]
    yes = [bool(value) for value in values if value is not UNKNOWN]
    if may_order:
        return len(yes) == len(values) == len(returned) and len(set(yes)) == 1
    if len(yes) == len(returned) and all(yes) and yes and isinstance(body[-1], (ast.Return, ast.expr)):
        return True
    is_possible = any(value is UNKNOWN or value for value in values)
    return is_possible and not any(isinstance(n, ast.Raise) for n in nodes) and not _reads(function, body, module)


def _reads(function: ast.FunctionDef | ast.Lambda, body: list[ast.AST], module: Module) -> bool:
    """Whether it reads what it is given, other than to ask whether it is one of Python's own types."""
    arguments = [*function.args.posonlyargs, *function.args.args][1:]
    given = {each.arg for each in [*arguments, function.args.vararg] if each}
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and node.id in given:
            return True
        if not _is_trivial(node, module):
            todo += ast.iter_child_nodes(node)
    return False


def _is_trivial(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        same = ast.dump(node.left) == ast.dump(node.comparators[0])
        return same or module.fold(node.comparators[0]) is None
    return isinstance(node, (ast.Call, ast.BoolOp)) and _answer(node, module) is True


def _answer(node: ast.AST, module: Module) -> object:
    """Return what a comparison comes to, if that is certain: a constant, a thing compared with itself, any object."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if isinstance(op, (ast.Eq, ast.Is, ast.LtE, ast.GtE)) and ast.dump(left) == ast.dump(right):
                return True
            values = [module.fold(left), module.fold(right)]
            if isinstance(op, ast.Eq) and UNKNOWN not in values:
                return values[0] == values[1]
        case ast.Call(func=ast.Name(id="bool"), args=[first, *_]):
            return module.fold(first)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, types]):
            named = {n.id for n in ast.walk(types) if isinstance(n, ast.Name)}
            return True if named and named <= _BUILT_IN else UNKNOWN
        case ast.BoolOp(op=ast.Or(), values=values) if any(_answer(value, module) is True for value in values):
            return True
    return module.fold(node)
