"""Code that lies outside of the repository."""

import pytest

from tests.proof.integrity.changes import levels, new


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nsys.path.insert(0, '/tmp/x')\nfrom product import multiply\n",
        "import sys as _sys\n_d = '/dev/shm/lib'\n_sys.path.append(_d)\n",
        "exec(open('/var/tmp/a.py').read())\n",
        "import importlib.util as u, tempfile\np = tempfile.gettempdir() + '/m'\nu.spec_from_file_location('m', p)\n",
        "from pathlib import Path\nimport runpy\nrunpy.run_path(str(Path.home() / 'm.py'))\n",
        "import os, pickle\npickle.load(open(os.path.expanduser('~/m'), 'rb'))\n",
        "import calc\ncalc.__path__.append('/home/me/elsewhere')\n",
    ],
)
def test_code_that_is_fetched_from_outside_is_reviewed(text: str) -> None:
    assert levels("outside", new("calc/a.py", text)) == {"review"}


def test_javascript_too() -> None:
    text = "const os = require('os')\nconst m = require(os.tmpdir() + '/m.js')\n"
    assert levels("outside", new("src/a.js", text)) == {"review"}


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\nplugin = importlib.import_module(name)\n",
        "LOG = '/tmp/app.log'\n",
        "from pathlib import Path\nCONFIG = Path.home() / '.config' / 'app.toml'\n",
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent))\n",
        "# sys.path.insert(0, '/tmp/x')\nx = 1\n",
        "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    print(folder)\n",
    ],
)
def test_one_of_the_two_alone_is_ordinary(text: str) -> None:
    assert levels("outside", new("calc/a.py", text)) == set()
