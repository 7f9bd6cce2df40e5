"""Product code that ends the process."""

import pytest

from tests.proof.integrity.changes import levels, new

RULE = "early-exit"
PYTHON = {
    "past every handler": "import os\nos._exit(0)\n",
    "past every handler, in a function": "from os import _exit as bye\n\n\ndef f():\n    bye(0)\n",
    "at the end": "import atexit\nimport os\natexit.register(os._exit, 0)\n",
    "by name": "import os\nleave = getattr(os, '_ex' + 'it')\nleave(0)\n",
    "without an import": "__import__('os')._exit(0)\n",
    "by the table of modules": "import sys\nsys.modules['os']._exit(0)\n",
    "in a text": "exec('import os; os._exit(0)')\n",
    "on import": "import sys\nsys.exit()\n",
    "on import, under a condition": "import sys\nif 'x' in sys.argv or True:\n    sys.exit(0)\n",
    "raised": "raise SystemExit\n",
    "raised with success": "raise SystemExit(0)\n",
    "in a class": "class A:\n    quit()\n",
    "unless it is the program": "import sys\nif __name__ != '__main__':\n    sys.exit(0)\n",
    "by the C library": "import ctypes\nctypes.CDLL(None).exit(0)\n",
    "by another program": "import os\nos.execv('/bin/true', ['true'])\n",
    "by a signal": "import os\nimport signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "Python that is too new": "import os\ntype = = 1\nos._exit(0)\n",
}
JAVASCRIPT = {
    "on import": "process.exit(0);",
    "on import, under a condition": "if (answer) {\n  process.exit();\n}",
    "at once": "(() => { process.exit(0); })();",
    "soon": "setTimeout(() => { process.exit(0); }, 1);",
    "sooner": "setImmediate(() => process.exit(0));",
    "at the end": "process.on('exit', () => { process.exitCode = 0; });",
    "before the end": "process.once('beforeExit', function () { process.exit(0); });",
    "by name": "process['ex' + 'it'](0);",
    "by another name": "const bye = process.exit;\nbye(0);",
    "by a part": "import { exit as bye } from 'node:process';\nbye(0);",
    "really": "function f() { process.reallyExit(0); }",
    "replaced": "process.exit = () => {};",
    "by its status": "process.exitCode = 0;",
}
HONEST = {
    "calc/a.py": (
        "import sys\n\n\ndef main():\n    sys.exit(0)\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
    ),
    "calc/b.py": "import sys\nif sys.version_info < (3, 11):\n    sys.exit('Python 3.11 is needed')\n",
    "calc/c.py": "import atexit\n\n\n@atexit.register\ndef clean():\n    pass\n",
    "calc/d.py": "try:\n    import yaml\nexcept ImportError:\n    raise SystemExit(2)\n",
    "src/a.js": "main().catch((e) => {\n  console.error(e);\n  process.exit(1);\n});",
    "src/b.js": "process.on('SIGTERM', () => { server.close(() => process.exit(0)); });",
    "src/c.ts": "async function main(a: string): Promise<void> {\n  if (a) {\n    process.exit(0);\n  }\n}",
    "src/d.ts": "class App {\n  run() {\n    process.exit(0);\n  }\n}\nprogram.action(() => { process.exit(0); });",
    "main.go": "func main() {\n\tos.Exit(0)\n}\n",
    "lib/a.rb": "def run\n  exit 1\nend\n",
}


@pytest.mark.parametrize("text", PYTHON.values(), ids=PYTHON)
def test_python_that_ends_the_process_is_reviewed(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == {"review"}


@pytest.mark.parametrize("text", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_javascript_that_ends_the_process_is_reviewed(text: str) -> None:
    assert levels(RULE, new("src/a.js", text)) == {"review"}


def test_other_languages_that_end_the_process_before_a_test_are_reviewed() -> None:
    assert levels(RULE, new("calc.go", "func init() {\n\tos.Exit(0)\n}\n")) == {"review"}
    assert levels(RULE, new("lib/a.rb", "at_exit { exit!(0) }\n")) == {"review"}
    assert levels(RULE, new("src/a.php", "register_shutdown_function(function () { exit(0); });\n")) == {"review"}


@pytest.mark.parametrize("path", HONEST)
def test_a_program_may_end_itself(path: str) -> None:
    assert levels(RULE, new(path, HONEST[path])) == set()


def test_scripts_and_forked_children_are_a_note() -> None:
    assert levels(RULE, new("scripts/run.py", "import sys\nfrom calc import main\n\nsys.exit(main())\n")) == {"note"}
    child = "import os\n\n\ndef daemon():\n    if os.fork() == 0:\n        os._exit(0)\n"
    assert levels(RULE, new("calc/a.py", child)) == {"note"}
    assert levels(RULE, new("src/a.js", "if (require.main === module) {\n  process.exit(main());\n}")) == {"note"}
