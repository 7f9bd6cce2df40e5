"""Python that reaches into the test runner, builtins, the import system or other code's frames."""

import ast
import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.analysis.folding import strings, word
from aigon.proof.analysis.origins import Origins, origins
from aigon.proof.analysis.python import Module, units
from aigon.proof.analysis.sightings import Sighting
from aigon.proof.analysis.text import line_of, without_comments

_PATCHED = re.compile(
    r"(builtins|__builtins__|unittest|pytest|_pytest|pluggy|doctest|operator|nose|nose2|hypothesis)(\.|\[\])"
    r"|(sys\.(exit|displayhook|modules|meta_path|path_hooks|breakpointhook)|os\._exit|math\.isclose|numpy\.testing)\b"
    r"|(sys|os|math|operator|builtins)\.__dict__|.*\.(__code__|__kwdefaults__)$"
)
_FRAMES = re.compile(r".*\.(f_locals|f_globals|f_builtins|f_lineno|f_trace)(\[\])?$")
_CALLED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"gc\.(get_objects|get_referrers|get_referents)$"), "looks for other code's objects"),
    (
        re.compile(r"(pytest|_pytest|pluggy)\.(hookimpl|exit|skip|xfail|main|register_assert_rewrite)"),
        "steers the test runner",
    ),
    (
        re.compile(r"(forbiddenfruit\.)?curse$|ctypes\.\w+\.from_address$|ctypes\.(memmove|memset)$"),
        "writes into the interpreter",
    ),
    (re.compile(r"ctypes\.pythonapi\.PyFrame_\w+"), "writes into other code's variables"),
    (
        re.compile(r"sys\.(meta_path|path_hooks)\.(insert|append|extend|clear|remove)$"),
        "changes how modules are imported",
    ),
    (re.compile(r"unittest\.SkipTest$|_pytest\..*"), "steers the test runner"),
)
_UPDATED = re.compile(r"(builtins|unittest|operator|math|sys)\.__dict__\.(update|setdefault|__setitem__)")
_IMPORTED_BY_TESTS = re.compile(r"test|^(builtins|operator|math|sys|pluggy|decimal|fractions|inspect|json)$")
_TRACES = re.compile(r"sys\.(settrace|setprofile)$|threading\.(settrace|setprofile)$|sys\.monitoring\.\w+$")
_WORDS = re.compile(r"PYTEST_(ADDOPTS|PLUGINS|DISABLE)|--junit-?xml|junit_family|--reporters?=|JEST_JUNIT")
_HOOK = re.compile(r"pytest_(?!plugin$|asyncio$)[a-z_]+")
_RESULTS = re.compile(r".*\b(outcome|longrepr|wasxfail|excinfo|exitstatus|testsfailed|_exitstatus|passed|failed)$")


def find_python_meddling(source: str, plugin: bool) -> Iterator[Sighting]:
    """Every place. `plugin` is whether the project was a plugin of the test runner, whose hooks are its work."""
    for module in units(source):
        known = origins(module)
        for node in module.nodes:
            seen = _changed(node, module, known) or _called(node, module, known) or _defined(node, module, plugin)
            if seen and not (plugin and "steers" in seen[0]):
                yield Sighting(module.line(node), module.text(node), *seen)


def results(source: str) -> Iterator[Sighting]:
    """Hooks of a conftest file or plugin that change results, and tests that end the process."""
    for module in units(source):
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
                yield from _rewrites(node, module)
            if isinstance(node, (ast.Name, ast.Attribute)) and module.name(node) == "os._exit":
                yield Sighting(module.line(node), module.text(node), "ends the test run past every handler")
            seen = _patched(node, module)
            if seen:
                yield Sighting(module.line(node), module.text(node), *seen)


def _rewrites(hook: ast.FunctionDef, module: Module) -> Iterator[Sighting]:
    for node in ast.walk(hook):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        named = any(isinstance(t, ast.Attribute) and _RESULTS.fullmatch(t.attr) for t in targets)
        called = isinstance(node, ast.Call) and re.search(r"\.(force_result|force_exception)$", module.name(node.func))
        if named or called or _sets_result(node, module):
            yield Sighting(module.line(node), module.text(node), f"changes results in the hook {hook.name}")
    if hook.name in ("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtest_call", "pytest_ignore_collect"):
        yield Sighting(module.line(hook), module.text(hook), "runs or leaves out tests in its own way", "note")


def _sets_result(node: ast.AST, module: Module) -> bool:
    if not (isinstance(node, ast.Call) and module.name(node.func) in ("setattr", "object.__setattr__")):
        return False
    return len(node.args) > 1 and bool(_RESULTS.fullmatch(word(node.args[1], module.values)))


def _targets(node: ast.AST) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        targets = [node.target]
    return [part for each in targets for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])]


def _changed(node: ast.AST, module: Module, known: Origins) -> tuple[str, ConcernLevel] | None:
    patched = _patched(node, module)
    if patched:
        return patched
    for target in _targets(node):
        frame = isinstance(target, (ast.Attribute, ast.Subscript)) and "stack" in known.of(target)
        if frame and _FRAMES.fullmatch(module.name(target)):
            return "changes the variables of its caller", "review"
    return None


def _patched(node: ast.AST, module: Module) -> tuple[str, ConcernLevel] | None:
    for target in _targets(node):
        if isinstance(target, ast.Subscript) and module.name(target.value) == "__builtins__":
            return "changes Python's builtins", "review"
        if isinstance(target, ast.Subscript) and module.name(target.value) == "sys.modules":
            counterfeit = _IMPORTED_BY_TESTS.search(word(target.slice, module.values))
            return ("puts another module in place of one that tests use", "review") if counterfeit else None
        name = module.name(target)
        lazily = name.startswith("sys.modules[].") or not isinstance(target, (ast.Attribute, ast.Subscript))
        if not lazily and _PATCHED.match(name) and not _is_ordinary(target, module):
            return f"changes {name.removesuffix('[]')}", "review"
    if not isinstance(node, ast.Call):
        return None
    name = module.name(node.func)
    if name in ("setattr", "delattr") and len(node.args) > 1:
        patched = f"{module.name(node.args[0])}.{word(node.args[1], module.values)}"
        return (f"changes {patched}", "review") if _PATCHED.match(patched) and not patched.endswith("._") else None
    return ("changes a module of Python", "review") if _UPDATED.match(name) else None


def _is_ordinary(target: ast.expr, module: Module) -> bool:
    """`builtins._` is gettext's, and a subscript may only look like a part of what must not be changed."""
    if isinstance(target, ast.Attribute):
        return target.attr == "_"
    if not isinstance(target, ast.Subscript):
        return True
    return not _PATCHED.match(f"{module.name(target.value)}.")


def _called(node: ast.AST, module: Module, known: Origins) -> tuple[str, ConcernLevel] | None:
    if not isinstance(node, (ast.Call, ast.Attribute)):
        return None
    name = module.name(node.func if isinstance(node, ast.Call) else node)
    for pattern, says in _CALLED:
        if pattern.match(name) and (isinstance(node, ast.Call) or "hookimpl" in name):
            return says, "review"
    if isinstance(node, ast.Call) and _TRACES.match(name):
        return "watches every line that runs", "note"
    said = strings(node, module.values) if isinstance(node, ast.Call) else []
    if any(_WORDS.search(word) for word in said) and known.of(node) & {"argv", "env"}:
        return "steers the test runner by its arguments", "review"
    return None


def _defined(node: ast.AST, module: Module, plugin: bool) -> tuple[str, ConcernLevel] | None:
    if plugin:
        return None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _HOOK.fullmatch(node.name):
        return "defines a hook of pytest", "review"
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if getattr(target, "id", "") == "pytest_plugins":
            return "loads plugins into pytest", "review"
    if isinstance(node, (ast.Subscript, ast.Compare)) and any(_WORDS.search(w) for w in strings(node, module.values)):
        return "steers the test runner by its arguments", "review"
    return None


_NAMES = "(?:expect|it|test|describe|jest|vi|beforeEach|afterEach|assert)"
_USES = "uses the test runner in the product"
_LANGUAGE = "changes the language itself"
_GLOBAL = r"\b(?:globalThis|global|window)\s*(?:\.\s*|\[\s*['\"])"
_JAVASCRIPT: tuple[tuple[re.Pattern[str], str, ConcernLevel], ...] = (
    (re.compile(rf"{_GLOBAL}{_NAMES}\b['\"\]\s]*=(?!=)"), "replaces a global of the test runner", "review"),
    (
        re.compile(r"\bexpect\.extend\s*\(|\bjest\.(?:fn|mock|spyOn|setTimeout)\s*\(|\bvi\.(?:fn|mock|spyOn)\s*\("),
        _USES,
        "review",
    ),
    (
        re.compile(r"\bModule\.(?:_load|_resolveFilename|_extensions|prototype\.require|wrap)\b[^=\n]{0,40}=(?!=)"),
        "changes how modules are loaded",
        "review",
    ),
    (
        re.compile(r"\brequire\.(?:cache|extensions)\s*\[[^\]\n]{1,120}\]\s*(?:\.exports\s*)?=(?!=)"),
        "replaces a module that is loaded",
        "review",
    ),
    (
        re.compile(r"\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok|throws|fail|rejects)\s*=(?!=)"),
        "replaces an assertion",
        "review",
    ),
    (
        re.compile(r"\bObject\.(?:is|keys|entries)\s*=(?!=)|\bNumber\.isNaN\s*=(?!=)|\bJSON\.stringify\s*=(?!=)"),
        _LANGUAGE,
        "review",
    ),
    (
        re.compile(
            r"\b(?:Object|Number|Function|Boolean|Error|Promise)\.prototype\.(?!valueOf|toString|hasOwn)\w+\s*=(?!=)"
        ),
        _LANGUAGE,
        "note",
    ),
    (
        re.compile(r"\b(?:Object|Number|Function|Boolean)\.prototype\.(?:valueOf|toString|hasOwnProperty)\s*=(?!=)"),
        _LANGUAGE,
        "review",
    ),
    (
        re.compile(r"['\"`][^'\"`\n]*(?:--outputFile|JEST_JUNIT_OUTPUT|--reporters?=)"),
        "steers the test runner by its arguments",
        "review",
    ),
)
_ENTRY = re.compile(r"pytest11|['\"]?nose\.plugins|flake8\.extension['\"]?\s*=\s*\[?\s*['\"]?$")


def find_meddling(path: str, text: str) -> Iterator[Sighting]:
    """Every line."""
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        for pattern, says, level in _JAVASCRIPT:
            if pattern.search(line[:2000]):
                yield Sighting(number, line_of(text, number), says, level)
                break


def entry_points(path: str, text: str) -> Iterator[Sighting]:
    """Where a package says that pytest should load it."""
    if posixpath.basename(path) not in ("pyproject.toml", "setup.cfg", "setup.py", "entry_points.txt"):
        return
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        if _ENTRY.search(line[:2000]):
            yield Sighting(number, line_of(text, number), "makes the package a plugin of the test runner")
