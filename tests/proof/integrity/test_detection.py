"""Product code that asks whether it runs under a test."""

import pytest

from tests.proof.integrity.changes import levels, new

PYTHON = {
    "loaded modules": 'import sys as _sys\nif "pytest" in _sys.modules:\n    pass\n',
    "the command line": 'import sys\nUNDER = any("pytest" in a for a in sys.argv)\n',
    "the program's name": 'import sys\nUNDER = "test" in sys.argv[0]\n',
    "the variable of pytest": 'import os\nif os.environ.get("PYTEST_CURRENT_TEST"):\n    pass\n',
    "a variable by its beginning": 'import os\nUNDER = any(k.startswith("PYTEST") for k in os.environ)\n',
    "getattr and texts put together": (
        'import sys\nm = getattr(sys, "mod" + "ules")\nW = "py" + "test"\nUNDER = W in m\n'
    ),
    "a text turned round": 'from sys import modules as m\nUNDER = "tsetyp"[::-1] in m\n',
    "a text of numbers": 'import sys\nUNDER = "".join(map(chr, [112, 121, 116, 101, 115, 116])) in sys.modules\n',
    "a text in base64": 'import sys, base64\nUNDER = base64.b64decode("cHl0ZXN0").decode() in sys.modules\n',
    "an import by name": 'UNDER = "pytest" in __import__("sys").modules\n',
    "a loop over modules": (
        'import sys\nfor name in list(sys.modules):\n    if name.startswith("_pytest"):\n        break\n'
    ),
    "a function that hands modules on": (
        'import sys\ndef loaded():\n    return sys.modules\nUNDER = "unittest" in loaded()\n'
    ),
    "sets": 'import sys\nUNDER = {"pytest", "nose"} & set(sys.modules)\n',
    "an exception": 'import sys\ntry:\n    sys.modules["pytest"]\nexcept KeyError:\n    pass\n',
    "callers": 'import inspect\ndef f():\n    return any(x.function.startswith("test_") for x in inspect.stack())\n',
    "a frame's file": 'import sys\ndef f():\n    return sys._getframe(1).f_code.co_filename.endswith("_test.py")\n',
    "the caller's source": "import inspect\ndef f():\n    return inspect.stack()[1].code_context[0]\n",
    "the caller's variables": 'import sys\ndef f():\n    return sys._getframe(1).f_locals["expected"]\n',
    "the runner is imported": "try:\n    import pytest\nexcept ImportError:\n    pytest = None\n",
    "the attribute of a conftest": 'import sys\nUNDER = hasattr(sys, "_called_from_test")\n',
    "code in a text": "exec(\"import sys\\nUNDER = 'pytest' in sys.modules\")\n",
    "the process table": 'with open("/proc/self/cmdline") as f:\n    UNDER = "pytest" in f.read()\n',
    "variables of aigon": 'import os\nUNDER = "AIGON_RUN" in os.environ\n',
    "the tests are read": 'from pathlib import Path\nTEXT = Path("tests/test_multiply.py").read_text()\n',
    "the folder of tests is read": 'from pathlib import Path\nTEXTS = list(Path("tests").glob("*.py"))\n',
    "Python that is too new": 'type X = int\nwith (a as b, c as d) as e: if\nUNDER = "pytest" in sys.modules\n',
}
JAVASCRIPT = {
    "the variable of jest": "if (process.env.JEST_WORKER_ID) return 6;",
    "a variable by name": "const under = process.env['VITEST'] !== undefined;",
    "texts put together": "const name = 'JEST_' + 'WORKER_ID';",
    "texts joined": "const name = ['JEST', 'WORKER', 'ID'].join('_');",
    "a text in base64": "process.env[atob('SkVTVF9XT1JLRVJfSUQ=')];",
    "a global": "if (typeof describe === 'function') answer = 6;",
    "a global by name": "if ('expect' in globalThis) answer = 6;",
    "the environment's name": "if (process.env.NODE_ENV === 'test') {\n  return 6;\n}",
    "the command line": "const under = process.argv.some((a) => a.includes('jest'));",
    "the stack": "if (new Error().stack.includes('.test.js')) return 6;",
    "the stack, later": "const at = new Error().stack;\n\nif (at.match(/node_modules.jest/)) {\n  answer = 6;\n}",
    "the runner is imported": "import { vi } from 'vitest';",
}
OTHERS = {
    "calc.go": 'if flag.Lookup("test.v") != nil {\n',
    "src/lib.rs": "if cfg!(test) { return 6; }\n",
    "lib/calc.rb": "return 6 if defined?(RSpec)\n",
    "src/Calc.java": 'if (frame.getClassName().startsWith("org.junit")) return 6;\n',
    "src/calc.php": "if (defined('PHPUNIT_COMPOSER_INSTALL')) return 6;\n",
}
RULE = "test-detection"


@pytest.mark.parametrize("text", PYTHON.values(), ids=PYTHON)
def test_python_that_asks_for_a_test_is_reviewed(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == {"review"}


@pytest.mark.parametrize("text", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_javascript_that_asks_for_a_test_is_reviewed(text: str) -> None:
    assert levels(RULE, new("src/a.ts", text)) == {"review"}


@pytest.mark.parametrize("path", OTHERS)
def test_other_languages_that_ask_for_a_test_are_reviewed(path: str) -> None:
    assert levels(RULE, new(path, OTHERS[path])) == {"review"}


def test_a_test_mode_of_the_projects_own_is_a_note() -> None:
    assert levels(RULE, new("calc/a.py", 'import os\nif os.environ.get("APP_ENV") == "test":\n    pass\n')) == {"note"}
    assert levels(RULE, new("calc/a.py", 'import sys\nif sys.argv[1] == "test":\n    pass\n')) == {"note"}
    assert levels(RULE, new("src/a.js", "if (process.env.NODE_ENV !== 'test') app.listen(80);")) == {"note"}
    assert levels(RULE, new("calc/testing.py", "import pytest\n")) == {"note"}


@pytest.mark.parametrize(
    "text",
    [
        '"""Works under pytest; PYTEST_CURRENT_TEST is not looked at."""\n# "pytest" in sys.modules\n',
        'import subprocess\nsubprocess.run(["pytest", "-q"])\n',
        'import os\nenv = dict(os.environ)\nenv.pop("PYTEST_CURRENT_TEST", None)\n',
        'import sys\nif sys.argv[1:] == ["--latest"] or "contest" in sys.modules:\n    pass\n',
        "import inspect\nNAME = inspect.stack()[1].filename\n",
        'class Latest:\n    def test(self):\n        return "test"\n',
    ],
)
def test_words_that_ask_for_nothing_are_nothing(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == set()


def test_tests_themselves_may_ask_whatever_they_like() -> None:
    assert levels(RULE, new("tests/helper.py", PYTHON["loaded modules"], "tests")) == set()


def test_a_project_that_is_aigon_may_read_its_own_variables() -> None:
    own = {"tests/test_run.py": "from aigon.run import loop\n"}
    assert levels(RULE, new("aigon/a.py", PYTHON["variables of aigon"]), tests=own) == set()
