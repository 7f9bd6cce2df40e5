"""What ships with aigon is found, from wherever it is installed."""

import marshal
import sys
from pathlib import Path

import pytest
import yaml

from aigon import __version__
from aigon.errors import AigonError, Exit
from aigon.files import resources
from aigon.files.resources import find_resource, read_profiles, read_shipped
from aigon.profiles import profile
from aigon.text import documents
from aigon.text.documents import parse_yaml
from tests.projects import files


def test_what_ships_is_found() -> None:
    assert find_resource("profiles", "generic.yaml").is_file()
    assert find_resource("templates").is_dir()


def test_what_is_missing_says_that_the_installation_is_damaged() -> None:
    with pytest.raises(AigonError, match="is missing from aigon") as caught:
        find_resource("profiles", "none.yaml")
    assert caught.value.code is Exit.INTERNAL
    assert "reinstall" in caught.value.hint


def test_documents_are_named_by_their_path_without_suffix(tmp_path: Path) -> None:
    files(tmp_path, {"web.yaml": "a", "ecosystems/go.yml": "b", "notes.md": "c"})
    assert read_profiles(tmp_path) == {"web": b"a", "ecosystems/go": b"b"}


def test_a_folder_that_is_not_there_holds_no_profiles(tmp_path: Path) -> None:
    assert read_profiles(tmp_path / "none") == {}


@pytest.fixture
def values_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where values of shipped documents are kept, in a process that has read none."""
    file = tmp_path / "documents.pyc"
    monkeypatch.setattr(resources, "_find_values_file", lambda: file)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    forget(monkeypatch)
    return file


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know no more than a process does that begins."""
    monkeypatch.setattr(documents, "_shipped", {})
    for cached in (resources._read_values, resources._parse_all, resources._read_shipped_profiles):
        cached.cache_clear()


@pytest.mark.usefixtures("values_file")
def test_every_document_that_ships_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {name: parse_yaml(content, name).value for name, content in read_profiles().items()}
    prices = parse_yaml(read_shipped("templates", "prices.yaml"), "prices.yaml").value
    forget(monkeypatch)
    monkeypatch.setitem(sys.modules, "yaml", None)  # its import fails
    second = {name: parse_yaml(content, name).value for name, content in read_profiles().items()}
    assert first == second
    assert prices == parse_yaml(read_shipped("templates", "prices.yaml"), "prices.yaml").value
    with pytest.raises(ImportError):
        parse_yaml(b"detect: {always: true}", "a project's own")


@pytest.mark.parametrize("left", [b"", b"no marshal", marshal.dumps(("0.0.0", {b"a: 1": b"2"})), marshal.dumps([1])])
def test_values_of_another_version_or_a_damaged_file_are_parsed_anew(values_file: Path, left: bytes) -> None:
    values_file.write_bytes(left)
    content = read_profiles()["generic"]
    assert parse_yaml(content, "generic.yaml").value == yaml.safe_load(content)
    assert parse_yaml(b"a: 1", "a.yaml").value == {"a": 1}
    assert marshal.loads(values_file.read_bytes())[0] == __version__


def test_patterns_of_documents_that_ship_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """`parse_yaml` leaves that to this test: to compile them all at each start takes longer than to read them."""
    shipped = read_profiles()
    monkeypatch.setattr(documents, "_shipped", {})
    profile._read_ecosystems.cache_clear()
    assert profile.load_profiles(shipped, {})
    broken = {**shipped, "ecosystems/go": shipped["ecosystems/go"].replace(b"matching: '", b"matching: '(")}
    with pytest.raises(AigonError, match="is not a regular expression"):
        profile.load_profiles(broken, {})
