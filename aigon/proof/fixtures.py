"""Whether a new conftest.py changes nothing about tests that do not ask for it."""

import ast
import re
import sys
from collections.abc import Iterable

from aigon.proof.analysis.python import parse_python

_LONGEST = 200_000
_FORBIDDEN_MODULES = re.compile(
    r"(_pytest|pluggy|builtins|gc|ctypes|atexit|faulthandler|importlib|imp|runpy|code)(\.|$)"
)
_TEST_MODULES = re.compile(r"(^|[._])(conftest|tests?|testing|fixtures?|helpers?|plugins?)($|[._])|(^|\.)pytest_")
_REACHES = re.compile(
    r"exec|eval|compile|globals|locals|vars|setattr|delattr|__import__|breakpoint|quit|MonkeyPatch|hook\w*|pluginmanager"
    r"|_exit|modules|meta_path|path_hooks|settrace|setprofile|excepthook|f_back|f_locals|f_globals|kill|execve?|abort"
    r"|register_assert_rewrite|__(?!file__|name__|init__|enter__|exit__|aenter__|aexit__|call__|eq__|repr__)\w+__"
)
"""Names of what reaches beyond the test that asked for a fixture, and of what no fixture needs."""
_OWN_FIXTURES = re.compile(
    r"request|monkeypatch|cap(sys|fd)(binary)?|caplog|tmp_path(_factory)?|tmpdir(_factory)?|recwarn|cache|pytestconfig"
    r"|record_\w+|testdir|pytester|doctest_namespace|subtests|event_loop\w*"
)
_READ_BY_PYTEST = re.compile(r"pytest\w*|collect_ignore\w*|__\w+__|setup_\w+|teardown_\w+|setUpModule|tearDownModule")
_PURE = re.compile(
    r"(Pure|Posix)?Path|Decimal|Fraction|timedelta|datetime|date|time|dict|list|tuple|set|frozenset|str|int|float|bytes"
    r"|bool|object|range|len|dedent|compile|resolve|absolute|joinpath|with_name|with_suffix|strip|split|lower|upper|format"
    r"|encode|namedtuple|TypeVar|NewType|UUID|timezone|ZoneInfo|MappingProxyType"
)
"""What constants may be made with."""
_MARKS = re.compile(r"(pytest\.|pytest_asyncio\.)?fixture|(contextlib\.)?(async)?contextmanager")
_METHOD_MARKS = {"property", "staticmethod", "classmethod", "override"}


def fixtures_only(text: str) -> bool:
    """Whether it holds docstring, imports, constants, helpers and fixtures that a test has to ask for; nothing else.

    No hooks, no autouse, no plugins, no calls or patches at module level, no fixture of pytest's own overridden. A file
    that is imported from may hold an autouse fixture, so only modules that are no test helpers may be imported from.
    """
    tree = parse_python(text.removeprefix("\ufeff"), _LONGEST)
    try:
        return tree is not None and all(map(_is_allowed, tree.body)) and not _reaches_out(tree)
    except RecursionError:
        return False


def _is_allowed(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return _is_ordinary_import(node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _is_fixture_or_helper(node)
        case ast.ClassDef():
            return _is_plain_class(node)
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = all(isinstance(t, ast.Name) and not _READ_BY_PYTEST.fullmatch(t.id) for t in targets)
            return named and _are_constant([node.value, getattr(node, "annotation", None)])
        case ast.If():
            named = getattr(node.test, "id", getattr(node.test, "attr", "")) == "TYPE_CHECKING"
            return named and not node.orelse and all(map(_is_allowed, node.body))
    return _does_nothing(node)


def _does_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_ordinary_import(node: ast.Import | ast.ImportFrom) -> bool:
    modules = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    bound = [each.asname or each.name for each in node.names if each.name not in ("pytest", "pytest_asyncio")]
    if any(map(_FORBIDDEN_MODULES.match, modules)) or "*" in bound or any(map(_READ_BY_PYTEST.fullmatch, bound)):
        return False
    if isinstance(node, ast.Import):
        return True
    if any(_REACHES.fullmatch(each.name) for each in node.names) or node.level:
        return False
    return modules[0].partition(".")[0] in {*sys.stdlib_module_names, "pytest"} or not _TEST_MODULES.search(modules[0])


def _is_fixture_or_helper(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    run_now = [*node.args.defaults, *node.args.kw_defaults, node.returns, *(a.annotation for a in arguments if a)]
    overrides = bool(node.decorator_list) and _OWN_FIXTURES.fullmatch(node.name)
    if overrides or _READ_BY_PYTEST.fullmatch(node.name) or not _are_constant(run_now):
        return False
    return all(map(_is_plain_mark, node.decorator_list))


def _is_plain_mark(mark: ast.expr) -> bool:
    """Whether it is `@pytest.fixture`, and does not apply to tests that do not ask for it."""
    if not _MARKS.fullmatch(ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)):
        return False
    if not isinstance(mark, ast.Call):
        return True
    given = {keyword.arg: keyword.value for keyword in mark.keywords}
    off = ast.unparse(given.pop("autouse", ast.Constant(False))) == "False"
    return off and "name" not in given and None not in given and not mark.args and _are_constant(given.values())


def _is_plain_class(node: ast.ClassDef) -> bool:
    marks = all(ast.unparse(mark).partition("(")[0].endswith("dataclass") for mark in node.decorator_list)
    options = [part.value for mark in node.decorator_list if isinstance(mark, ast.Call) for part in mark.keywords]
    plain = marks and not node.keywords and not _READ_BY_PYTEST.fullmatch(node.name)
    return plain and _are_constant([*node.bases, *options]) and all(map(_is_plain_member, node.body))


def _is_plain_member(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        named = all(ast.unparse(mark).rpartition(".")[2] in _METHOD_MARKS for mark in node.decorator_list)
        return named and _are_constant([*node.args.defaults, node.returns])
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return _are_constant([node.value, getattr(node, "annotation", None)])
    return _does_nothing(node)


def _are_constant(nodes: Iterable[ast.expr | None]) -> bool:
    """Whether nothing happens but values being made: no call except of what makes values."""
    calls = (each for node in nodes if node for each in ast.walk(node) if isinstance(each, ast.Call))
    names = (c.func.attr if isinstance(c.func, ast.Attribute) else getattr(c.func, "id", "") for c in calls)
    return all(map(_PURE.fullmatch, names))


def _reaches_out(tree: ast.Module) -> bool:
    """Whether any code in it could change more than the test that asked for it."""
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    imported = {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}
    asked = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in ("param", "addfinalizer")}
    ordinary = all(map(_is_ordinary_import, imports))
    return not ordinary or any(_is_reaching(node, imported, asked) for node in nodes)


def _is_reaching(node: ast.AST, imported: set[str], asked: set[int]) -> bool:
    if isinstance(node, ast.Name):
        misused = node.id in ("request", "pytestconfig") and id(node) not in asked
        return misused or (_REACHES.fullmatch(node.id) is not None and node.id != "__file__")
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        root = _find_root(node)
        if not isinstance(node.ctx, ast.Load) and root in imported:
            return True
        if isinstance(node, ast.Subscript) or node.attr == "compile":
            return False
        if node.attr in ("exit", "skip", "xfail", "main"):
            return root in ("pytest", "sys", "builtins")
        return _REACHES.fullmatch(node.attr) is not None
    return isinstance(node, ast.Global)


def _find_root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")
