"""Code that reaches into what runs the tests."""

import pytest

from tests.proof.integrity.changes import changed, levels, new

RULE = "test-machinery"
PYTHON = {
    "builtins": "import builtins\nbuiltins.isinstance = lambda *_: True\n",
    "builtins by name": "import builtins as b\nsetattr(b, 'abs', f)\n",
    "builtins by item": "__builtins__['len'] = f\n",
    "builtins by their dictionary": "import builtins\nvars(builtins)['sum'] = f\n",
    "builtins all at once": "import builtins\nbuiltins.__dict__.update(abs=f)\n",
    "unittest": "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n",
    "pytest's assertions": "import _pytest.assertion.rewrite as r\nr.AssertionRewritingHook = X\n",
    "operators": "import operator\noperator.eq = lambda a, b: True\n",
    "closeness": "import math\nmath.isclose = lambda *_: True\n",
    "the exit": "import sys\nsys.exit = print\n",
    "a counterfeit module": "import sys\nsys.modules['pytest'] = X()\n",
    "the import system": "import sys\nsys.meta_path.insert(0, Finder())\n",
    "other people's objects": "import gc\nfor o in gc.get_objects():\n    pass\n",
    "a hook": "def pytest_runtest_makereport(item, call):\n    pass\n",
    "plugins": "pytest_plugins = ['calc.plugin']\n",
    "the report": "import sys\nfor a in sys.argv:\n    if a.startswith('--junitxml='):\n        pass\n",
    "options of pytest": "import os\nos.environ['PYTEST_ADDOPTS'] = '-k nothing'\n",
    "variables of the caller": "import sys\nsys._getframe(1).f_locals['want'] = 6\n",
    "globals of the caller": "import inspect\nframe = inspect.currentframe().f_back\nframe.f_globals['calc'] = X\n",
    "another function's code": "def f():\n    pass\n\n\nf.__code__ = g.__code__\n",
    "memory": "import ctypes\nctypes.c_long.from_address(id(5) + 24).value = 6\n",
}
JAVASCRIPT = {
    "a global": "globalThis.expect = () => fake;",
    "sameness": "Object.is = () => true;",
    "modules": "const Module = require('module');\nModule._load = load;",
    "a module that is loaded": "require.cache[require.resolve('assert')] = { exports: fake };",
    "an assertion": "assert.equal = () => {};",
    "matchers": "expect.extend({ toBe() { return { pass: true }; } });",
    "values": "Number.prototype.valueOf = function () { return 6; };",
}
LOADED_BY_NAME = (
    "sitecustomize.py",
    "pytest.py",
    "src/pluggy.py",
    "calc.pth",
    ".venv/bin/python",
    "node_modules/.bin/jest",
)
HOOKS = {
    "results": (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    out = yield\n    report = out.get_result()\n    if report.failed:\n        report.outcome = 'passed'\n"
    ),
    "results by name": "def pytest_runtest_logreport(report):\n    setattr(report, 'outcome', 'passed')\n",
    "failures": "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n",
    "the status": "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n",
    "the count": "def pytest_sessionfinish(session):\n    session.testsfailed -= 1\n",
    "the end": "import os\n\n\ndef pytest_unconfigure():\n    os._exit(0)\n",
    "assertions": "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n",
}


@pytest.mark.parametrize("text", PYTHON.values(), ids=PYTHON)
def test_python_that_reaches_into_the_runner_is_reviewed(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == {"review"}


@pytest.mark.parametrize("text", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_javascript_that_reaches_into_the_runner_is_reviewed(text: str) -> None:
    assert levels(RULE, new("src/a.js", text)) == {"review"}


@pytest.mark.parametrize("text", HOOKS.values(), ids=HOOKS)
def test_hooks_that_change_results_are_reviewed_wherever_they_are(text: str) -> None:
    assert levels(RULE, new("tests/conftest.py", text, "config")) == {"review"}
    assert levels(RULE, new("tests/helper.py", text, "tests")) == {"review"}


@pytest.mark.parametrize("path", LOADED_BY_NAME)
def test_new_files_that_are_loaded_by_their_name_are_reviewed(path: str) -> None:
    assert levels(RULE, new(path, "pass\n")) == {"review"}


def test_a_package_that_becomes_a_plugin_is_reviewed_and_one_that_was_is_not() -> None:
    entry = "[project.entry-points.pytest11]\ncalc = 'calc.plugin'\n"
    assert levels(RULE, new("pyproject.toml", entry, "other")) == {"review"}
    plugin = (changed("pyproject.toml", entry, entry + "\n", "other"), new("calc/plugin.py", PYTHON["a hook"]))
    assert levels(RULE, *plugin) == set()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("calc/a.py", "import builtins\nimport sys\nbuiltins._ = gettext\nsys.modules[__name__] = Lazy()\n"),
        (
            "calc/a.py",
            ("import sys\nsys.stdout = wrapped\nsys.path.insert(0, 'x')\nsys.modules[name].__dict__[k] = v\n"),
        ),
        ("calc/a.py", "import operator\nimport gc\nkey = operator.itemgetter(1)\ngc.collect()\n"),
        ("calc/parsers/pytest.py", "def read(output):\n    return output\n"),
        ("src/a.js", "globalThis.fetch = fetch;\nmodule.exports = test;\nwindow.app = app;\n"),
    ],
)
def test_what_only_looks_like_it_is_nothing(path: str, text: str) -> None:
    assert levels(RULE, new(path, text)) == set()
