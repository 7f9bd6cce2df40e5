"""Code that reaches into what runs the tests: the runner, its reports, Python's builtins, the import system.

`review` in product code and in new files beside it, since none of it belongs to what a product does: patching a test
library or builtins, hooks and plugins of a runner, import hooks, counterfeit modules, arguments and variables of the
runner, looking for other people's objects through the garbage collector. Projects that were test plugins before are
left alone, and so is `builtins._`, as gettext installs it. Files that a runner or Python loads by their name
(`sitecustomize.py`, a `pytest.py` at the root) are `review` as well. In tests and conftest files, hooks are ordinary;
those that change a result are `review`.
"""

import ast
import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.profiles.protection import is_shadowing
from aigon.proof.analysis.folding import list_strings
from aigon.proof.analysis.languages import is_javascript, is_python, list_parts, list_product
from aigon.proof.analysis.origins import Origins, trace_origins
from aigon.proof.analysis.python import Module, read_units
from aigon.proof.analysis.sightings import (
    Pattern,
    Sighting,
    Verdict,
    find_new,
    match_first,
    report,
    report_file,
    scan_lines,
)
from aigon.proof.analysis.text import without_comments

RULE = "test-machinery"
_WHY = (
    "With it the tests can be made to pass without the code being right. "
    "Leave the runner, its reports and Python itself alone; what is under test takes what it needs as arguments."
)
_LOADED_BY_NAME = re.compile(
    r"(^|/)(sitecustomize|usercustomize)(\.py|/__init__\.py)$|\.pth$|\.egg-link$"
    r"|^(src/|lib/|tests?/)?(_?pytest|pluggy|unittest|nose2?|coverage|iniconfig|hypothesis|doctest|xdist|pytest_\w+)"
    r"(\.py$|/)|(^|/)(\.?venv|env|virtualenv)/(bin|Scripts|lib)/"
    r"|(^|/)node_modules/(\.bin/|jest|vitest|mocha|chai|ava|@jest/|@vitest/)"
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every file that reaches for it."""
    befores = [edit.before or "" for edit in edits.files]
    was_plugin = any(re.search(r"pytest11|^def pytest_\w+\(", text, re.MULTILINE) for text in befores)

    def see_product(path: str, text: str) -> Iterator[Sighting]:
        if is_python(path):
            yield from _see_python(text, was_plugin)
        elif is_javascript(path):
            yield from scan_lines(text, without_comments(text, path), lambda line: match_first(_JAVASCRIPT, line))

    yield from report(RULE, find_new(list_product(edits), see_product), _WHY)
    yield from report(RULE, find_new(list_parts(edits, "tests", "config"), _see_tests), _WHY)
    if not was_plugin:
        yield from report(RULE, find_new(edits.files, _see_entry_points), _WHY)
    for edit in edits.files:
        by_name = _LOADED_BY_NAME.search(edit.path) is not None
        if edit.before is None and edit.after is not None and (by_name or is_shadowing(edit.path)):
            reason = f"because of its name ({posixpath.basename(edit.path)})"
            what = f"{edit.path} is new, and Python or the test runner loads it in place of its own {reason}."
            yield report_file(RULE, "review" if by_name else "note", f"{what} {_WHY}", edit)


_PATCHED = re.compile(
    r"(builtins|__builtins__|unittest|pytest|_pytest|pluggy|doctest|operator|nose|nose2|hypothesis)(\.|\[\])"
    r"|(sys\.(exit|displayhook|modules|meta_path|path_hooks|breakpointhook)|os\._exit|math\.isclose|numpy\.testing)\b"
    r"|(sys|os|math|operator|builtins)\.__dict__|.*\.(__code__|__kwdefaults__)$"
)
_FRAMES = re.compile(r".*\.(f_locals|f_globals|f_builtins|f_lineno|f_trace)(\[\])?$")
_STEERS = "steers the test runner"
_STEERS_BY_ARGUMENTS: Verdict = ("steers the test runner by its arguments", "review")
_CALLED: tuple[tuple[str, str], ...] = (
    (r"gc\.(get_objects|get_referrers|get_referents)$", "looks for other code's objects"),
    (r"(pytest|_pytest|pluggy)\.(hookimpl|exit|skip|xfail|main|register_assert_rewrite)", _STEERS),
    (
        r"(forbiddenfruit\.)?curse$|ctypes\.\w+\.from_address$|ctypes\.(memmove|memset)$",
        "writes into the interpreter",
    ),
    (r"ctypes\.pythonapi\.PyFrame_\w+", "writes into other code's variables"),
    (r"sys\.(meta_path|path_hooks)\.(insert|append|extend|clear|remove)$", "changes how modules are imported"),
    (r"unittest\.SkipTest$|_pytest\..*", _STEERS),
)
_UPDATED = re.compile(r"(builtins|unittest|operator|math|sys)\.__dict__\.(update|setdefault|__setitem__)")
_IMPORTED_BY_TESTS = re.compile(r"test|^(builtins|operator|math|sys|pluggy|decimal|fractions|inspect|json)$")
_TRACES = re.compile(r"sys\.(settrace|setprofile)$|threading\.(settrace|setprofile)$|sys\.monitoring\.\w+$")
_ARGUMENTS = re.compile(r"PYTEST_(ADDOPTS|PLUGINS|DISABLE)|--junit-?xml|junit_family|--reporters?=|JEST_JUNIT")
_HOOK = re.compile(r"pytest_(?!plugin$|asyncio$)[a-z_]+")
_RUNNING_HOOKS = ("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtest_call", "pytest_ignore_collect")
_RESULTS = re.compile(r".*\b(outcome|longrepr|wasxfail|excinfo|exitstatus|testsfailed|_exitstatus|passed|failed)$")


def _see_python(source: str, was_plugin: bool) -> Iterator[Sighting]:
    for module in read_units(source):
        known = trace_origins(module)
        for node in module.nodes:
            verdict = _judge_change(node, module, known) or _judge_call(node, module, known)
            if verdict is None and not was_plugin:
                verdict = _judge_definition(node, module)
            if verdict and not (was_plugin and "steers" in verdict[0]):  # hooks are the work of a plugin
                yield module.sight(node, *verdict)


def _see_tests(path: str, text: str) -> Iterator[Sighting]:
    """Yield hooks of a conftest file or plugin that change results, and tests that end the process."""
    for module in read_units(text) if is_python(path) else ():
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
                says = f"changes results in the hook {node.name}"
                yield from (module.sight(each, says) for each in ast.walk(node) if _changes_result(each, module))
                if node.name in _RUNNING_HOOKS:
                    yield module.sight(node, "runs or leaves out tests in its own way", "note")
            if isinstance(node, (ast.Name, ast.Attribute)) and module.name(node) == "os._exit":
                yield module.sight(node, "ends the test run past every handler")
            if verdict := _judge_patch(node, module):
                yield module.sight(node, *verdict)


def _changes_result(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Call):
        name = module.name(node.func)
        sets = name in ("setattr", "object.__setattr__") and len(node.args) > 1
        return (sets and bool(_RESULTS.fullmatch(module.word(node.args[1])))) or bool(
            re.search(r"\.(force_result|force_exception)$", name)
        )
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(isinstance(t, ast.Attribute) and _RESULTS.fullmatch(t.attr) for t in targets)


def _list_targets(node: ast.AST) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        targets = [node.target]
    return [part for each in targets for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])]


def _judge_change(node: ast.AST, module: Module, known: Origins) -> Verdict:
    if patch := _judge_patch(node, module):
        return patch
    for target in _list_targets(node):
        frame = isinstance(target, (ast.Attribute, ast.Subscript)) and "stack" in known.find(target)
        if frame and _FRAMES.fullmatch(module.name(target)):
            return "changes the variables of its caller", "review"
    return None


def _judge_patch(node: ast.AST, module: Module) -> Verdict:
    for target in _list_targets(node):
        owner = module.name(target.value) if isinstance(target, ast.Subscript) else ""
        if isinstance(target, ast.Subscript) and owner == "__builtins__":
            return "changes Python's builtins", "review"
        if isinstance(target, ast.Subscript) and owner == "sys.modules":
            counterfeit = _IMPORTED_BY_TESTS.search(module.word(target.slice))
            return ("puts another module in place of one that tests use", "review") if counterfeit else None
        # `builtins._` is gettext's, and a subscript may only look like a part of what must not be changed.
        ordinary = not isinstance(target, (ast.Attribute, ast.Subscript)) or getattr(target, "attr", "") == "_"
        if isinstance(target, ast.Subscript):
            ordinary = not _PATCHED.match(f"{owner}.")
        name = module.name(target)
        if not ordinary and _PATCHED.match(name) and not name.startswith("sys.modules[]."):
            return f"changes {name.removesuffix('[]')}", "review"
    if not isinstance(node, ast.Call):
        return None
    name = module.name(node.func)
    if name in ("setattr", "delattr") and len(node.args) > 1:
        patched = f"{module.name(node.args[0])}.{module.word(node.args[1])}"
        return (f"changes {patched}", "review") if _PATCHED.match(patched) and not patched.endswith("._") else None
    return ("changes a module of Python", "review") if _UPDATED.match(name) else None


def _judge_call(node: ast.AST, module: Module, known: Origins) -> Verdict:
    if not isinstance(node, (ast.Call, ast.Attribute)):
        return None
    name = module.name(node.func if isinstance(node, ast.Call) else node)
    for pattern, says in _CALLED:
        if re.match(pattern, name) and (isinstance(node, ast.Call) or "hookimpl" in name):
            return says, "review"
    if not isinstance(node, ast.Call):
        return None
    if _TRACES.match(name):
        return "watches every line that runs", "note"
    steers = any(_ARGUMENTS.search(word) for word in list_strings(node, module.values))
    return _STEERS_BY_ARGUMENTS if steers and known.find(node) & {"argv", "env"} else None


def _judge_definition(node: ast.AST, module: Module) -> Verdict:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _HOOK.fullmatch(node.name):
        return "defines a hook of pytest", "review"
    if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "pytest_plugins" for target in node.targets):
        return "loads plugins into pytest", "review"
    is_question = isinstance(node, (ast.Subscript, ast.Compare))
    steers = is_question and any(_ARGUMENTS.search(word) for word in list_strings(node, module.values))
    return _STEERS_BY_ARGUMENTS if steers else None


_NAMES = "(?:expect|it|test|describe|jest|vi|beforeEach|afterEach|assert)"
_LANGUAGE = "changes the language itself"
_GLOBAL = r"\b(?:globalThis|global|window)\s*(?:\.\s*|\[\s*['\"])"
_TYPES = r"\b(?:Object|Number|Function|Boolean)\.prototype\."
_JAVASCRIPT: tuple[Pattern, ...] = (
    (rf"{_GLOBAL}{_NAMES}\b['\"\]\s]*=(?!=)", "replaces a global of the test runner", "review"),
    (
        r"\bexpect\.extend\s*\(|\bjest\.(?:fn|mock|spyOn|setTimeout)\s*\(|\bvi\.(?:fn|mock|spyOn)\s*\(",
        "uses the test runner in the product",
        "review",
    ),
    (
        r"\bModule\.(?:_load|_resolveFilename|_extensions|prototype\.require|wrap)\b[^=\n]{0,40}=(?!=)",
        "changes how modules are loaded",
        "review",
    ),
    (
        r"\brequire\.(?:cache|extensions)\s*\[[^\]\n]{1,120}\]\s*(?:\.exports\s*)?=(?!=)",
        "replaces a module that is loaded",
        "review",
    ),
    (
        r"\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok|throws|fail|rejects)\s*=(?!=)",
        "replaces an assertion",
        "review",
    ),
    (
        r"\bObject\.(?:is|keys|entries)\s*=(?!=)|\bNumber\.isNaN\s*=(?!=)|\bJSON\.stringify\s*=(?!=)",
        _LANGUAGE,
        "review",
    ),
    (
        r"\b(?:Object|Number|Function|Boolean|Error|Promise)\.prototype\.(?!valueOf|toString|hasOwn)\w+\s*=(?!=)",
        _LANGUAGE,
        "note",
    ),
    (rf"{_TYPES}(?:valueOf|toString|hasOwnProperty)\s*=(?!=)", _LANGUAGE, "review"),
    (
        r"['\"`][^'\"`\n]*(?:--outputFile|JEST_JUNIT_OUTPUT|--reporters?=)",
        "steers the test runner by its arguments",
        "review",
    ),
)
_ENTRY = re.compile(r"pytest11|['\"]?nose\.plugins|flake8\.extension['\"]?\s*=\s*\[?\s*['\"]?$")


def _see_entry_points(path: str, text: str) -> Iterator[Sighting]:
    """Yield where a package says that pytest should load it."""
    if posixpath.basename(path) in ("pyproject.toml", "setup.cfg", "setup.py", "entry_points.txt"):
        verdict: Verdict = ("makes the package a plugin of the test runner", "review")
        plain = without_comments(text, path)
        yield from scan_lines(text, plain, lambda line: verdict if _ENTRY.search(line) else None)
