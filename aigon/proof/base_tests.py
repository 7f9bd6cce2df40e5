"""The tree as it would be with the base's tests and checker configuration: what an agent did to them cannot help it."""

import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aigon.checks.pytest_arguments import read_pytest_request
from aigon.git import objects
from aigon.git.trusted import TrustedGit
from aigon.model.checks import Problem, TestResult
from aigon.profiles.protection import Protection, Rule
from aigon.proof import protected_keys
from aigon.proof.findings import Changed

New = tuple[str, str] | None
"""Mode and object's name that a path gets; None: it goes."""


@dataclass(frozen=True, slots=True)
class Relaid:
    """`paths` are the tests and checker configuration that the agent touched, `configuration` those that are no tests.

    `name` names the very change.

    `tree` has the base's versions only: new tests and new configuration are gone; what the checks have to be green
    on, too. In `with_new_tests` the agent's new tests stay: what commands of criteria may be about.
    """

    paths: tuple[str, ...]
    configuration: tuple[str, ...]
    name: tuple[str, ...]
    tree: str
    with_new_tests: str


def relaid(git: TrustedGit, tree: str, rows: tuple[Changed, ...], protection: Protection) -> Relaid | None:
    """The trees to look at as well; None where the agent touched neither tests nor what configures the checks."""
    ruled = [(row, rule) for row in rows if (rule := protection.relaid(row.path, new=row.base is None))]
    texts = objects.read_blobs(
        git, [e.sha for row, _ in ruled for e in (row.base, row.tree) if e and e.mode != "160000"]
    )
    touched = [(row, rule) for row, rule in ruled if not _same(row, rule, texts)]
    if not touched:
        return None
    back = {row.path: _version(git, row, rule, texts) for row, rule in touched}
    kept = {path: new for path, new in back.items() if new is not None or not _new_test(path, touched, texts)}
    without = objects.write_tree_with(git, tree, back)
    return Relaid(
        tuple(back),
        tuple(row.path for row, rule in touched if rule.part != "tests"),
        tuple(f"{row.path} {row.tree.sha if row.tree else 'gone'}" for row, _ in touched),
        without,
        objects.write_tree_with(git, tree, kept) if kept != back else without,
    )


def _texts(row: Changed, texts: Mapping[str, bytes]) -> tuple[str | None, str | None]:
    before, after = (
        texts[entry.sha].decode("utf-8", "replace") if entry and entry.sha in texts else None
        for entry in (row.base, row.tree)
    )
    return before, after


def _same(row: Changed, rule: Rule, texts: Mapping[str, bytes]) -> bool:
    """Whether nothing that the rule protects has changed: a file may hold more."""
    return bool(rule.keys) and protected_keys.have_equal_keys(*_texts(row, texts), row.path, rule.keys)


def _version(git: TrustedGit, row: Changed, rule: Rule, texts: Mapping[str, bytes]) -> New:
    """The base's version, or the tree's with the base's keys."""
    if not rule.keys or row.tree is None:
        return (row.base.mode, row.base.sha) if row.base else None
    text = protected_keys.copy_keys(*_texts(row, texts), row.path, rule.keys)
    return None if text is None else (row.tree.mode, objects.write_blob(git, text.encode("utf-8", "replace")))


def _new_test(path: str, touched: list[tuple[Changed, Rule]], texts: Mapping[str, bytes]) -> bool:
    """A test of the agent's own, or fixtures for such tests, which change nothing about how others are run."""
    row, rule = next((row, rule) for row, rule in touched if row.path == path)
    if row.base is not None:
        return False

    _, after = _texts(row, texts)
    name = path.rpartition("/")[2]
    return rule.part == "tests" if name != "conftest.py" else fixtures_only(after or "")


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
_OF_REQUEST = ("param", "addfinalizer")
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


def fixtures_only(text: str) -> bool:
    """Whether it holds docstring, imports, constants, helpers and fixtures that a test has to ask for; nothing else.

    No hooks, no autouse, no plugins, no calls or patches at module level, no fixture of pytest's own overridden. A file
    that is imported from may hold an autouse fixture, so only modules that are no test helpers may be imported from.
    """
    tree = _parsed(text)
    try:
        return tree is not None and all(_is_allowed(node) for node in tree.body) and not _reaches_out(tree)
    except RecursionError:
        return False


def _parsed(text: str) -> ast.Module | None:
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_allowed(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _is_ordinary_import(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _is_fixture_or_helper(node)
    if isinstance(node, ast.ClassDef):
        return _is_plain_class(node)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return _is_constant(node)
    if isinstance(node, ast.If):
        named = getattr(node.test, "id", getattr(node.test, "attr", ""))
        return named == "TYPE_CHECKING" and not node.orelse and all(_is_allowed(each) for each in node.body)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_ordinary_import(node: ast.Import | ast.ImportFrom) -> bool:
    modules = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    bound = [each.asname or each.name for each in node.names if each.name not in ("pytest", "pytest_asyncio")]
    if any(_FORBIDDEN_MODULES.match(module) for module in modules):
        return False
    if any(_READ_BY_PYTEST.fullmatch(name) or name == "*" for name in bound):
        return False
    if isinstance(node, ast.Import):
        return True
    if any(_REACHES.fullmatch(each.name) for each in node.names) or node.level:
        return False
    module = node.module or ""
    return module.partition(".")[0] in {*sys.stdlib_module_names, "pytest"} or not _TEST_MODULES.search(module)


def _is_fixture_or_helper(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    run_now = [*node.args.defaults, *node.args.kw_defaults, node.returns, *(a.annotation for a in arguments if a)]
    if _READ_BY_PYTEST.fullmatch(node.name) or not _are_constant(each for each in run_now if each):
        return False
    overrides = bool(node.decorator_list) and _OWN_FIXTURES.fullmatch(node.name)
    return not overrides and all(_is_plain_mark(mark) for mark in node.decorator_list)


def _is_plain_mark(mark: ast.expr) -> bool:
    """`@pytest.fixture`, with or without arguments, unless it applies to tests that do not ask for it."""
    if not _MARKS.fullmatch(ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)):
        return False
    if not isinstance(mark, ast.Call):
        return True
    given = {keyword.arg: keyword.value for keyword in mark.keywords}
    off = ast.unparse(given.pop("autouse", ast.Constant(False))) == "False"
    return off and "name" not in given and None not in given and not mark.args and _are_constant(given.values())


def _is_plain_class(node: ast.ClassDef) -> bool:
    marks = all(ast.unparse(mark).partition("(")[0].endswith("dataclass") for mark in node.decorator_list)
    made = [part for mark in node.decorator_list if isinstance(mark, ast.Call) for part in mark.keywords]
    plain = marks and not node.keywords and not _READ_BY_PYTEST.fullmatch(node.name)
    constant = _are_constant([*node.bases, *(keyword.value for keyword in made)])
    return plain and constant and all(_is_plain_member(each) for each in node.body)


def _is_plain_member(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        allowed = {"property", "staticmethod", "classmethod", "override"}
        named = all(ast.unparse(mark).rpartition(".")[2] in allowed for mark in node.decorator_list)
        return named and _are_constant([*node.args.defaults, *([node.returns] if node.returns else [])])
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return _are_constant(each for each in (node.value, getattr(node, "annotation", None)) if each)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_constant(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    named = all(isinstance(t, ast.Name) and not _READ_BY_PYTEST.fullmatch(t.id) for t in targets)
    return named and _are_constant(each for each in (node.value, getattr(node, "annotation", None)) if each)


def _are_constant(nodes: Iterable[ast.expr]) -> bool:
    """Whether nothing happens but values being made: no call except of what makes values."""
    for node in (each for root in nodes for each in ast.walk(root)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if not _PURE.fullmatch(name):
                return False
    return True


def _reaches_out(tree: ast.Module) -> bool:
    """Whether any code in it could change more than the test that asked for it."""
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}
    asked = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in _OF_REQUEST}
    return any(not _is_ordinary_import(node) for node in imports) or any(
        _is_reaching(node, names, asked) for node in ast.walk(tree)
    )


def _is_reaching(node: ast.AST, imported: set[str], asked: set[int]) -> bool:
    if isinstance(node, ast.Name):
        misused = node.id in ("request", "pytestconfig") and id(node) not in asked
        return misused or (_REACHES.fullmatch(node.id) is not None and node.id != "__file__")
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        patches = not isinstance(node.ctx, ast.Load) and _root(node) in imported
        named = isinstance(node, ast.Attribute) and _is_forbidden(node)
        return patches or named
    return isinstance(node, ast.Global)


def _is_forbidden(node: ast.Attribute) -> bool:
    if node.attr in ("compile", "exit", "skip", "xfail", "main"):
        return _root(node) in ("pytest", "sys", "builtins") and node.attr != "compile"
    return _REACHES.fullmatch(node.attr) is not None


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


MOST = 50
"""Problems listed; the rest is counted."""
FEW = 3
"""Tests of one file or class that are gone and are named one by one; more are named together."""
_SAID: Mapping[TestResult, str] = {
    "skipped": "it ran in the base and is skipped now",
    "failed": "it was in the base and fails",
    "error": "it was in the base and could not run to its end",
}
_GONE = "it was in the base and is not there any more"


def expects_report(argv: Sequence[str]) -> bool:
    """Whether a command runs pytest by its own words, so that exit 0 without a test report shows nothing."""
    return read_pytest_request(argv).runs


def lost(
    base: Mapping[str, TestResult], now: Mapping[str, TestResult], reported_on_base: bool, reported_now: bool
) -> tuple[Problem, ...]:
    """The tests that ran on the base (passed or not) and are not `passed` now; those that it skipped are exempt.

    At most MOST problems and one with the number of the others: what is gone first, then what is skipped, then what
    fails. No report now, where the base left one, is one problem.
    """
    wanted = {test: result for test, result in base.items() if result != "skipped"}
    if not reported_on_base or not wanted:
        return ()
    if not reported_now:
        said = (
            f"on the base it left a report with {_tests(len(wanted))}, and now it leaves none: nothing shows they ran"
        )
        return (Problem(said),)
    problems = [*_gone(wanted, now), *_not_passed(wanted, now)]
    return _listed(problems)


def less(base: Mapping[str, TestResult], files: Iterable[str]) -> dict[str, TestResult]:
    """`base` without the tests of these files, which someone may change (the `allow` of a spec).

    A file is a path relative to the project; where tests run in a folder of it, ids begin below that folder.
    """
    owners = tuple(f"{name}{end}" for path in files for name in _names(path) for end in ("::", "."))
    return {test: result for test, result in base.items() if not test.startswith(owners)}


def _names(path: str) -> Iterator[str]:
    """How ids can begin that are of this file: its path, or what Python makes of it, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        if below.endswith(".py"):
            yield below.removesuffix(".py").replace("/", ".")


def _gone(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    missing = sorted(test for test in wanted if test not in now)
    holders = _holders(now) if any("::" not in test for test in missing) else frozenset()
    missing = [test for test in missing if wanted[test] == "passed" or test not in holders]
    whole, number = Counter(map(_owner, missing)), Counter(map(_owner, wanted))
    together = {o: n for o, n in whole.items() if o and n == number[o] and n > FEW}
    for owner, tests in together.items():
        yield Problem(f"its {tests} tests were in the base and are not there any more", test=owner)
    yield from (Problem(_GONE, test=test) for test in missing if _owner(test) not in together)


def _holders(now: Iterable[str]) -> frozenset[str]:
    """Files, modules and classes that tests of `now` are in: what broke in place of its tests is whole again."""
    owners = {_owner(test) for test in now} - {""}
    return frozenset(".".join(owner.split(".")[:n]) for owner in owners for n in range(1, owner.count(".") + 2))


def _not_passed(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    for result, said in _SAID.items():
        yield from (Problem(said, test=test) for test in sorted(wanted) if now.get(test) == result)


def _listed(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    more = len(problems) - MOST
    rest = (Problem(f"{_tests(more)} of the base more, missing, skipped or failing"),) if more > 0 else ()
    return (*problems[:MOST], *rest)


def _owner(test: str) -> str:
    return test.partition("::")[0] if "::" in test else ""


def _tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"
