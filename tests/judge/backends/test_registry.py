"""The judge backends that can be named."""

import subprocess
import sys

import pytest

from aigon.errors import AigonError, Exit
from aigon.judge.backends import BACKENDS, Backend, anthropic, find_backend


def test_every_backend_that_is_named_can_be_had() -> None:
    found = [find_backend(name) for name in BACKENDS.names()]
    assert "anthropic" in BACKENDS.names()
    assert all(callable(one.explain_unready) and callable(one.ask) for one in found)


def test_a_backend_module_keeps_the_contract() -> None:
    module: Backend = anthropic
    assert find_backend("anthropic") is module


def test_an_unknown_backend_is_a_usage_error_that_names_the_nearest() -> None:
    with pytest.raises(AigonError) as caught:
        find_backend("antropic")
    assert caught.value.code is Exit.USAGE
    assert "'antropic'" in caught.value.what
    assert "Did you mean 'anthropic'?" in caught.value.hint


@pytest.mark.parametrize("name", ["_call", "__init__", "os", ""])
def test_what_is_no_backend_cannot_be_named(name: str) -> None:
    with pytest.raises(AigonError):
        find_backend(name)


def test_naming_a_backend_imports_nothing_heavy() -> None:
    code = (
        "import sys; from aigon.judge.backends import find_backend; find_backend('anthropic');"
        "print([m for m in ('anthropic', 'pydantic', 'tenacity', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
