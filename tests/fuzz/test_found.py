"""The smallest example of what fuzzing found, each with what it leads to now."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.checks.endpoints.plan import parse_document
from aigon.config.loading import parse_configuration
from aigon.errors import AigonError, Exit, explain_error, usage
from aigon.files.home import ensure_home, find_home
from aigon.job.results import BaselineResults
from aigon.journal.records import Records
from aigon.journal.state_document import parse_state
from aigon.profiles.conditions import find_values
from aigon.spec.markdown import parse_frontmatter as frontmatter
from aigon.text.amounts import parse_duration
from aigon.text.documents import DocumentNode, parse_yaml
from tests.fuzz.of_documents import BOMB

DEEP = b"[" * 100_000


def refused(document: bytes) -> AigonError:
    with pytest.raises(AigonError) as caught:
        parse_yaml(document, "mine.yaml")
    assert caught.value.code == Exit.USAGE
    return caught.value


def test_brackets_without_end_in_yaml_end_no_process() -> None:
    """libyaml overflowed the C stack: a segmentation fault, and not a word. Hence a process of its own."""
    program = "from aigon.text.documents import parse_yaml; parse_yaml(b'[' * 100_000, 'mine.yaml')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nested more than 50 levels deep (mine.yaml:1)" in done.stderr


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (b"- " * 50_000, "nested more than 50 levels"),
        (b"{a: " * 25_000, "nested more than 50 levels"),
        (BOMB, "expand to more than 100,000 values"),
        (b"a: &a [*a]\n", "a value holds itself"),
        (b"9" * 5_000, "a number has 5,000 characters"),
        (b"0x" + b"f" * 5_000, "a number has 5,002 characters"),
        (b"a: 2026-02-31\n", "a value is not of its type"),
        (b"a: !!int x\n", "a value is not of its type"),
        (b"a: !!bool maybe\n", "a value is not of its type"),
        (b'a: !!int ""\n', "a value is not of its type"),
        (b"a: !!timestamp x\n", "a value is not of its type"),
    ],
    ids=lambda part: str(part)[:30],
)
def test_absurd_yaml_is_refused_with_its_reason(document: bytes, what: str) -> None:
    assert what in refused(document).what


def test_aliases_that_stand_for_little_are_read() -> None:
    found: DocumentNode = parse_yaml(b"a: &a [1, 2]\nb: *a\nc: {<<: &d {e: 1}}\nf: *d\n", "mine.yaml")
    assert found.value == {"a": [1, 2], "b": [1, 2], "c": {"e": 1}, "f": {"e": 1}}


def test_absurd_frontmatter_and_documents_of_endpoints_are_refused_too() -> None:
    with pytest.raises(AigonError, match="nested more than 50 levels"):
        frontmatter(DEEP.decode())
    for text in (DEEP.decode(), BOMB.decode(), "a: !!int x\n"):
        with pytest.raises(ValueError, match=r"nested|expand to|not of its type"):
            parse_document("a.yaml", text)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (DEEP, "nested too deeply"),
        (b'{"ralph": ' + b"9" * 5_000 + b"}", "not valid JSON"),
        (b'{"guards": {"maxCost": NaN}}', "NaN is no number"),
        (b'{"guards": {"maxCost": 2}, "guards": {}}', "the key 'guards' occurs twice"),
        (b'{"guards": {"runTime": ' + b"9" * 400 + b"}}", "guards.runTime"),
    ],
    ids=["deep", "digits", "nan", "twice", "longer than any float"],
)
def test_an_absurd_configuration_is_refused_with_its_file(content: bytes, what: str) -> None:
    with pytest.raises(AigonError) as caught:
        parse_configuration([(".aigon/config.json", content)])
    assert what in caught.value.what and caught.value.where == ".aigon/config.json"
    assert len(caught.value.hint) < 300, "a value is quoted shortened"


def test_a_time_beyond_any_float_is_no_time() -> None:
    with pytest.raises(ValueError, match="not a positive duration"):
        parse_duration(10**400)


def test_configuration_of_tools_that_is_nested_without_end_is_broken_as_any_other() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        find_values("json", DEEP, ("a",))


def test_no_escape_sequence_of_a_file_reaches_the_terminal() -> None:
    said = explain_error(
        usage("Unknown key '\x1b[31mred\x07\x9b'", where="\x1b]0;title\x07a.json", hint="line\n- [ ] two \udcff")
    )
    assert said == "Unknown key 'red'.\n  where: a.json\n  do:    line\n- [ ] two \ufffd"


@pytest.mark.parametrize("marker", [b"", b"\xff/x", b"../evil", b"/tmp/evil", b"..", b"a\0b", b"x" * 300, b"a" * 5000])
def test_a_repository_whose_id_leads_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: bytes
) -> None:
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "git" / "aigon").mkdir(parents=True)
    (tmp_path / "git" / "aigon" / "id").write_bytes(marker)
    with pytest.raises(AigonError) as caught:
        find_home(tmp_path / "git")
    assert caught.value.code == Exit.ENVIRONMENT and caught.value.hint


@pytest.mark.parametrize("name", [b"caf\xe9", b"x" * 250, "\U0001f600".encode() * 60])
def test_a_repository_in_a_folder_of_any_name_has_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    monkeypatch.setenv("AIGON_STATE_HOME", str(tmp_path / "state"))
    git = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)) / ".git"
    git.mkdir(parents=True)
    made = ensure_home(git)
    assert made.is_dir() and find_home(git) == ensure_home(git) == made


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("checks", [{"status": "pass"}]),
        ("criteria", None),
        ("stop_reason", ["a"]),
        ("rolled_back", {"number": 1}),
        ("best", {"latest": False}),
        ("waiting", {"agent": "a", "until": "soon"}),
        ("criteria_met", float("inf")),
        ("iteration", True),
    ],
)
def test_a_state_whose_values_are_of_other_types_is_refused_by_the_key(key: str, wrong: object) -> None:
    """Views took such values as they were, and broke in the middle of a sentence."""
    with pytest.raises(ValueError, match=key):
        parse_state(json.dumps({"schema_version": 1, key: wrong}).encode())


def test_a_record_that_is_nested_without_end_is_taken_for_absent(tmp_path: Path) -> None:
    (tmp_path / "candidate.json").write_bytes(DEEP)
    assert Records(tmp_path).candidate() is None
    looks = BaselineResults(tmp_path, "mine")
    (tmp_path / "key.json").write_bytes(DEEP)
    assert looks.failure("key", tmp_path, tmp_path / "log") is None
    assert looks.first("key", {"a": "b"}) == {"a": "b"} == json.loads((tmp_path / "key.json").read_bytes())
