"""The judge backends that can be named."""

import subprocess
import sys

import pytest

from aigon.errors import AigonError, Exit
from aigon.judge.backends import Backend, anthropic, backend, names


def test_every_backend_that_is_named_can_be_had() -> None:
    found = [backend(name) for name in names()]
    assert "anthropic" in names()
    assert all(callable(one.ready) and callable(one.ask) for one in found)


def test_a_backend_module_keeps_the_contract() -> None:
    module: Backend = anthropic
    assert backend("anthropic") is module


def test_an_unknown_backend_is_a_usage_error_that_names_the_nearest() -> None:
    with pytest.raises(AigonError) as caught:
        backend("antropic")
    assert caught.value.code is Exit.USAGE
    assert "'antropic'" in caught.value.what
    assert "Did you mean anthropic?" in caught.value.hint


@pytest.mark.parametrize("name", ["_call", "__init__", "os", ""])
def test_what_is_no_backend_cannot_be_named(name: str) -> None:
    with pytest.raises(AigonError):
        backend(name)


def test_naming_a_backend_imports_nothing_heavy() -> None:
    code = (
        "import sys; from aigon.judge.backends import backend; backend('anthropic');"
        "print([m for m in ('anthropic', 'pydantic', 'tenacity', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
