"""Which of the files that commands read on the base decide, and which are the product's."""

import subprocess
from collections.abc import Iterator

import pytest

from aigon.files.resources import read_profiles
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.observation import Observation, Reads
from aigon.profiles.profile import load_free_files, load_protections
from aigon.profiles.protection import Protection
from aigon.proof.findings import Changed
from aigon.proof.inputs import find_inputs, list_inputs
from tests.projects import files

PROTECTION = Protection(load_protections(read_profiles(), {}), free=load_free_files(read_profiles(), {}))
CALC = {
    "calc/__init__.py": "def add(a, b):\n    return a + b\n",
    "tests/test_add.py": "import calc\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
    "pyproject.toml": '[project]\nname = "calc"\n',
}
JS = {
    "calc.js": "exports.add = (a, b) => a + b\n",
    "package.json": '{"name": "calc", "scripts": {"test": "node --test", "accept": "node accept"}}',
    "test/add.test.js": "const calc = require('../calc.js')\n",
}
GO = {
    "go.mod": "module example.com/calc\n\ngo 1.19\n",
    "calc.go": "package calc\n",
    "calc_test.go": 'package calc\n\nimport (\n\t"testing"\n\n\t"example.com/calc/internal/want"\n)\n',
}
C = {
    "calc.h": "int add(int a, int b);\n",
    "calc.c": '#include "calc.h"\nint add(int a, int b) { return a + b; }\n',
    "Makefile": "test: check_calc\n\t./check_calc\n",
}
CASES: dict[str, tuple[dict[str, str], str, bool]] = {
    "a golden file": (
        {**CALC, "golden/a.json": "[]", "tests/test_g.py": "open('golden/a.json')"}, "golden/a.json", True,
    ),
    "a golden file that no text names": ({**CALC, "expected/out": "1"}, "expected/out", True),
    "a case beside tests of JavaScript": ({**JS, "cases/1.yaml": "a: 1"}, "cases/1.yaml", True),
    "data that the product names": (
        {**CALC, "rates/eu.csv": "1", "calc/r.py": "open('rates/eu.csv')"}, "rates/eu.csv", False,
    ),
    "data of a folder that the product names": (
        {**CALC, "pages/a.html": "", "calc/r.py": 'load("pages")'}, "pages/a.html", False,
    ),
    "data in the package": ({**CALC, "calc/data/words.txt": "a"}, "calc/data/words.txt", False),
    "data in the package that only a test names": (
        {**CALC, "calc/data/w.txt": "a", "tests/test_w.py": "open('calc/data/w.txt')"}, "calc/data/w.txt", True,
    ),
    "prose": ({**CALC, "README.md": "# Calc", "tests/test_r.py": "open('README.md')"}, "README.md", False),
    "what builds": ({**C, "CMakeLists.txt": "project(calc)"}, "CMakeLists.txt", False),
    "a helper of tests in Go": ({**GO, "internal/want/want.go": 'import "testing"\n'}, "internal/want/want.go", True),
    "an oracle in Go": ({**GO, "internal/want/want.go": "package want\n"}, "internal/want/want.go", True),
    "a helper of tests in Go in a module of its own": (
        {
            **GO,
            "calc_test.go": 'package calc\n\nimport w "example.com/want"\n',
            "third/want/go.mod": "module example.com/want\n",
            "third/want/want.go": 'import "testing"\n',
        },
        "third/want/want.go",
        True,
    ),
    "a package of Go with tests of its own": (
        {**GO, "internal/want/want.go": "", "internal/want/want_test.go": 'import "testing"\n'},
        "internal/want/want.go",
        False,
    ),
    "a package that the product imports in Go": (
        {**GO, "calc.go": 'import "example.com/calc/internal/want"\n', "internal/want/want.go": 'import "testing"\n'},
        "internal/want/want.go",
        False,
    ),
    "a package that only tests elsewhere import in Go": (
        {
            "go.mod": "module example.com/calc\n",
            "sum/sum.go": "package sum\n",
            "tests/sum_test.go": 'package tests\n\nimport "example.com/calc/sum"\n',
        },
        "sum/sum.go",
        False,
    ),
    "a helper that asserts": (
        {
            **CALC,
            "calc/testing.py": "import calc\n\ndef check(a, b, c):\n    assert calc.add(a, b) == c\n",
            "tests/test_c.py": "from calc.testing import check\n\ndef test_c():\n    check(1, 2, 3)\n",
        },
        "calc/testing.py",
        True,
    ),
    "a module with an assertion of its own": (
        {
            **CALC,
            "calc/more.py": "import calc\n\ndef twice(a):\n    assert a\n    return calc.add(a, a)\n",
            "tests/test_c.py": "from calc.more import twice\n\ndef test_c():\n    assert twice(1) == 2\n",
        },
        "calc/more.py",
        False,
    ),
    "a helper that says yes or no": (
        {
            **CALC,
            "calc/testing.py": "import calc\n\ndef is_sum(a, b, c):\n    return calc.add(a, b) == c\n",
            "tests/test_c.py": "from calc.testing import is_sum\n\ndef test_c():\n    assert is_sum(1, 2, 3)\n",
        },
        "calc/testing.py",
        True,
    ),
    "a predicate of the product": (
        {
            **CALC,
            "calc/even.py": "def is_even(a):\n    return a % 2 == 0\n",
            "tests/test_c.py": "from calc.even import is_even\n\ndef test_c():\n    assert is_even(2)\n",
        },
        "calc/even.py",
        False,
    ),
    "a helper of JavaScript that gets what the product returned": (
        {
            **JS,
            "lib/expecting.js": "exports.same = (a, b) => { if (a !== b) throw new Error(a) }\n",
            "test/add.test.js": "const { same } = require('../lib/expecting.js')\n"
            "const calc = require('../calc.js')\ntest('adds', () => same(calc.add(1, 2), 3))\n",
        },
        "lib/expecting.js",
        True,
    ),
    "a module of JavaScript that throws": (
        {
            **JS,
            "check.js": "exports.valid = (a) => { if (!a) throw new TypeError('no') }\n",
            "test/c.test.js": "const { valid } = require('../check.js')\ntest('c', () => valid(1))\n",
        },
        "check.js",
        False,
    ),
    "the only module": (CALC, "calc/__init__.py", False),
    "a module that others import": (
        {**CALC, "calc/low.py": "x = 1\n", "calc/high.py": "from .low import x\n"}, "calc/low.py", False,
    ),
    "an oracle apart from the product": (
        {
            **CALC,
            "oracle.py": "def add(a, b):\n    return a + b\n",
            "tests/test_o.py": "import calc, oracle\n\ndef test_o():\n    assert calc.add(1, 2) == oracle.add(1, 2)\n",
        },
        "oracle.py",
        True,
    ),
    "a second module of a flat project": (
        {**CALC, "words.py": "def cut(a):\n    return a\n", "tests/test_w.py": "import words\n"}, "words.py", False,
    ),
    "a module that is run as a check": (
        {**CALC, "checks/x.py": "import calc\nassert calc.add(1, 2) == 3\n"}, "checks/x.py", True,
    ),
    "a folder that Node runs": (
        {**JS, "accept/index.js": "const c = require('../calc.js')\nif (c.add(1, 2) !== 3) process.exit(1)\n"},
        "accept/index.js",
        True,
    ),
    "what that folder's program requires": (
        {
            **JS,
            "accept/index.js": "require('./same')(1)\n",
            "accept/same.js": "const c = require('../calc.js'), assert = require('assert')\nassert(c)\n",
        },
        "accept/same.js",
        True,
    ),
    "the module that tests of JavaScript require": (JS, "calc.js", False),
    "the index that a package has without a word": (
        {
            "package.json": '{"name": "slug"}',
            "index.js": "const x = require('./low.js')\n",
            "low.js": "exports.a = 1\n",
            "test.js": "import slug from '.'\nassert(slug('a'))\n",
        },
        "index.js",
        False,
    ),
    "a test at the root that no list names": (
        {"package.json": '{"name": "slug"}', "index.js": "exports.a = 1\n", "test.js": "assert(require('.').a)\n"},
        "test.js",
        True,
    ),
    "a declared entry": (
        {
            **CALC,
            "calc/cli.py": "import calc\n",
            "pyproject.toml": '[project]\nname = "c"\nscripts = {c = "calc.cli:main"}',
        },
        "calc/cli.py",
        False,
    ),
    "the source of a program that package.json declares as it is built": (
        {
            "package.json": '{"name": "c", "type": "module", "bin": {"c": "dist/cli.js"}}',
            "build.mjs": "import { cpSync } from 'node:fs'\ncpSync('src', 'dist', { recursive: true })\n",
            "src/index.js": "export const add = (a, b) => a + b\n",
            "src/cli.js": "import { add } from './index.js'\nconsole.log(add(1, 2))\n",
        },
        "src/cli.js",
        False,
    ),
    "a program that a test starts": (
        {**CALC, "tool.py": "import calc\n", "tests/test_t.py": "run(['python', 'tool.py'])\n"}, "tool.py", False,
    ),
    "a program that uses nothing of the project": ({"main.py": "print(1)\n"}, "main.py", False),
    "a test program of C": (
        {**C, "check_calc.c": '#include "calc.h"\nint main(void) {\n  if (add(2, 3) != 5) return 1;\n  return 0;\n}\n'},
        "check_calc.c",
        True,
    ),
    "a header that only test programs include": (
        {
            **C,
            "check.h": "#define CHECK(got, wanted) if ((got) != (wanted)) return 1\n",
            "check_calc.c": '#include "calc.h"\n#include "check.h"\nint main(void) { CHECK(add(2, 3), 5); }\n',
        },
        "check.h",
        True,
    ),
    "a table of cases in a header": (
        {
            **C,
            "cases.h": "static const int CASES[][3] = {{2, 3, 5}};\n",
            "check_calc.c": '#include "calc.h"\n#include "cases.h"\nint main(void) {\n'
            "  if (add(CASES[0][0], CASES[0][1]) != CASES[0][2]) return 1;\n}\n",
        },
        "cases.h",
        True,
    ),
    "a header of the product": (C, "calc.h", False),
    "the product's program of C": (
        {**C, "main.c": '#include "calc.h"\nint main(int c, char **v) { return add(c, 1) == 0; }\n'}, "main.c", False,
    ),
    "a script that compares": (
        {**CALC, "accept.sh": "[ \"$(python3 -c 'import calc; print(calc.add(1, 2))')\" = 3 ]\n"}, "accept.sh", True,
    ),
    "a script that starts the product": (
        {**CALC, "run.sh": "exec python3 -c 'import calc; calc.main()'\n"}, "run.sh", False,
    ),
    "a source of C": ({**C, "main.c": '#include "calc.h"\nint main(void) { return add(1, 2); }\n'}, "calc.c", False),
    "an example of Rust that asserts": (
        {"src/lib.rs": "pub fn x() {}", "examples/a.rs": "fn main() { assert!(calc::x()); }"}, "examples/a.rs", True,
    ),
    "an example of Rust that shows": (
        {"src/lib.rs": "pub fn x() {}", "examples/a.rs": "fn main() { calc::x(); }"}, "examples/a.rs", False,
    ),
    "a source of Rust": ({"src/lib.rs": "mod deep;", "src/deep.rs": "pub fn x() {}"}, "src/deep.rs", False),
    "a module of Rust for tests": (
        {"src/lib.rs": "#[cfg(test)]\nmod checks;\n", "src/checks.rs": "#[test]\nfn x() {}\n"}, "src/checks.rs", True,
    ),
}  # fmt: skip


GOLDEN = {**CALC, "golden/a.json": "[]"}
NAMING = {**GOLDEN, "golden/b.json": "[]", "tests/test_g.py": "open('data/a.json')"}
SETTINGS = {**CALC, "settings.yaml": "a: 1"}
PROJECTS = [*(contents for contents, _, _ in CASES.values()), GOLDEN, NAMING, SETTINGS]
Bases = tuple[TrustedGit, str]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bases]:
    """A repository and its one commit: each project is a folder of it, and its tree a base."""
    root = tmp_path_factory.mktemp("inputs") / "project"
    for number, contents in enumerate(PROJECTS):
        files(root / str(number), contents)
    who = (("config", "user.name", "a"), ("config", "user.email", "a@example.com"))
    for words in (("init", "-q"), *who, ("add", "-A", "-f"), ("commit", "-qm", "base")):
        subprocess.run(["git", *words], cwd=root, check=True)
    with Checkout.open(root) as checkout:
        yield TrustedGit(checkout, root.parent / "own"), checkout.head or ""


def is_input(
    bases: Bases,
    contents: dict[str, str],
    path: str,
    observed: Observation | None = None,
    protection: Protection = PROTECTION,
) -> bool:
    """Whether a change of `path` is one of an input; unless `observed` says otherwise, one command reads everything."""
    git, head = bases
    base = f"{head}:{PROJECTS.index(contents)}"
    observed = observed or Observation("access times", {"tests": Reads(tuple(sorted(contents)), ("golden",))})
    rows = [Changed(path, objects.list_entries(git, base).get(path), None)]
    return path in find_inputs(git, base, rows, observed, protection)


@pytest.mark.parametrize("case", CASES)
def test_a_file_decides_or_is_the_product_s(bases: Bases, case: str) -> None:
    contents, path, decides = CASES[case]
    assert is_input(bases, contents, path) is decides


def test_what_nobody_read_counts_only_if_a_test_names_it(bases: Bases) -> None:
    assert is_input(bases, NAMING, "golden/a.json", Observation())
    assert not is_input(bases, NAMING, "golden/b.json", Observation())


def test_what_a_command_without_a_program_reads_is_its_subject(bases: Bases) -> None:
    observed = Observation("strace", {"criterion: grep a": Reads(("settings.yaml",))})
    assert not is_input(bases, SETTINGS, "settings.yaml", observed)


def test_the_spec_may_allow_a_change(bases: Bases) -> None:
    allowing = Protection(PROTECTION.rules, ("golden/",), free=PROTECTION.free)
    assert is_input(bases, GOLDEN, "golden/a.json")
    assert not is_input(bases, GOLDEN, "golden/a.json", protection=allowing)


def test_a_new_entry_of_a_listed_folder_counts_among_inputs(bases: Bases) -> None:
    assert is_input(bases, GOLDEN, "golden/new.json") and not is_input(bases, GOLDEN, "other/new.json")


def test_inputs_are_listed_by_the_command_that_read_them(bases: Bases) -> None:
    git, head = bases
    base = f"{head}:{PROJECTS.index(GOLDEN)}"
    observed = Observation("strace", {"tests": Reads(tuple(sorted(GOLDEN))), "other": Reads(("calc/__init__.py",))})
    assert list_inputs(git, base, observed, PROTECTION) == {"tests": ("golden/a.json",)}
    allowing = Protection(PROTECTION.rules, ("golden/",), free=PROTECTION.free)
    assert list_inputs(git, base, observed, allowing) == {}
