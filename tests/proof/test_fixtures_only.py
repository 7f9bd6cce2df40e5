"""A conftest.py that only offers fixtures, told from one that changes how tests run."""

import pytest

from aigon.proof.fixtures import fixtures_only

HARMLESS = {
    "empty": "",
    "docstring": '"""Shared fixtures."""\n',
    "a fixture": "import pytest\n\n@pytest.fixture\ndef basket():\n    return [1, 2]\n",
    "a fixture that yields": (
        "import pytest\nfrom calc import Calculator\n\n@pytest.fixture(scope='session', params=[1, 2])\n"
        "def machine(request, tmp_path):\n    made = Calculator(request.param)\n    yield made\n    made.close()\n"
    ),
    "constants": (
        "from pathlib import Path\nfrom datetime import timedelta\nHERE = Path(__file__).parent\nWAIT: float = 1.5\n"
        "DATA = HERE / 'data'\nLATER = timedelta(days=1)\nNAMES = ['a', 'b']\n"
    ),
    "flask": (
        "import pytest\nfrom app import create_app\nfrom app.models import db as database\n\n@pytest.fixture\n"
        "def app():\n    app = create_app()\n    app.config.update(TESTING=True)\n    with app.app_context():\n"
        "        database.session.rollback()\n        yield app\n\n@pytest.fixture\ndef client(app):\n"
        "    return app.test_client()\n"
    ),
    "a helper and a class": (
        "import dataclasses\nimport pytest\n\n@dataclasses.dataclass\nclass Clock:\n    now: float = 0.0\n"
        "    def tick(self):\n        self.now += 1\n\ndef _made(now: float = 0.0) -> Clock:\n"
        "    return Clock(now)\n\n"
        "@pytest.fixture()\ndef clock():\n    return _made()\n"
    ),
    "patches for the test that asks": (
        "import pytest\n\n@pytest.fixture\ndef offline(monkeypatch):\n    monkeypatch.setenv('OFFLINE', '1')\n"
    ),
    "imports for types": (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nimport pytest\nif TYPE_CHECKING:\n"
        "    from collections.abc import Iterator\n\n@pytest.fixture\ndef one() -> Iterator[int]:\n    yield 1\n"
    ),
}

FIXTURE = "import pytest\n\n@pytest.fixture\ndef one():\n    "
HARMFUL = {
    "a hook": "def pytest_runtest_makereport(item, call):\n    pass\n",
    "a hook that is imported": "from calc.plugin import pytest_runtest_makereport\n",
    "a hook under another name": "from calc import anything as pytest_configure\n",
    "a hook that is assigned": "pytest_collection_modifyitems = lambda items: items.clear()\n",
    "an autouse fixture": "import pytest\n\n@pytest.fixture(autouse=True)\ndef one():\n    pass\n",
    "an autouse fixture by keywords": "import pytest\n\n@pytest.fixture(**{'autouse': True})\ndef one():\n    pass\n",
    "an autouse fixture that is imported": "from tests.helpers import everything\n",
    "everything of a module": "from calc import *\n",
    "a relative import": "from .more import one\n",
    "plugins": "pytest_plugins = ['calc.plugin']\n",
    "files left out": "collect_ignore = ['test_multiply.py']\n",
    "files left out by pattern": "collect_ignore_glob = ['test_*.py']\n",
    "a patch": "import calc\ncalc.multiply = lambda a, b: a * b\n",
    "a patch of builtins": "import builtins\nbuiltins.len = lambda x: 0\n",
    "a call": "import sys\nsys.path.insert(0, 'fake')\n",
    "a call in a constant": "import calc\nDONE = calc.install()\n",
    "a call in a default": "import calc\ndef helper(x=calc.install()):\n    pass\n",
    "a call in an annotation": "import calc\ndef helper(x: calc.install()):\n    pass\n",
    "a call in a class": "import calc\nclass A:\n    x = calc.install()\n",
    "a call as a decorator": "import calc\n@calc.install\ndef helper():\n    pass\n",
    "a loop": "for x in range(3):\n    pass\n",
    "a metaclass": "import calc\nclass A(metaclass=calc.Meta):\n    pass\n",
    "a patch inside a fixture": "import calc\n" + FIXTURE + "calc.multiply = print\n",
    "setattr inside a fixture": FIXTURE + "setattr(object, 'x', 1)\n",
    "the end of the process": "import os\n" + FIXTURE + "os._exit(0)\n",
    "the end of the process, imported": "from os import _exit as bye\n" + FIXTURE + "bye(0)\n",
    "the runner's session": FIXTURE.replace("()", "(request)") + "request.session.testsfailed = 0\n",
    "the runner by another name": "import pytest\n\n@pytest.fixture\ndef one(request):\n    r = request\n    r.node\n",
    "modules that are replaced": "import sys\n" + FIXTURE + "sys.modules['calc'] = None\n",
    "the runner's insides": "import _pytest.runner\n",
    "code in a text": FIXTURE + "exec('import os')\n",
    "an own fixture of pytest": "import pytest\n\n@pytest.fixture\ndef capsys():\n    return None\n",
    "a fixture under another name": "import pytest\n\n@pytest.fixture(name='tmp_path')\ndef one():\n    return None\n",
    "a patch for everybody": FIXTURE + "pytest.MonkeyPatch().setattr('calc.multiply', print)\n",
    "module set-up": "def setup_module(module):\n    pass\n",
    "attributes by name": "def __getattr__(name):\n    return print\n",
    "no Python": "def one(:\n",
    "too deep": "x = " + "(" * 5000,
    "deep names": "@a" + ".a" * 700 + "\ndef one():\n    pass\n",
    "too long": "#" * 300_000,
    "a NUL": "x = 1\0",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_a_conftest_that_offers_fixtures_and_no_more_is_recognised(text: str) -> None:
    assert fixtures_only(text)


@pytest.mark.parametrize("text", HARMFUL.values(), ids=HARMFUL)
def test_whatever_could_change_other_tests_is_not_taken_for_fixtures(text: str) -> None:
    assert not fixtures_only(text)
