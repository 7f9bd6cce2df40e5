"""A file that is larger than anything of its kind is refused by name, with both sizes, before it is read whole."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from aigon.checks import reports
from aigon.checks.evidence import weigh_hidden_reports, weigh_own_report, weigh_placed_reports
from aigon.checks.parsers.output import LARGEST_REPORT
from aigon.config import loading
from aigon.errors import AigonError, Exit
from aigon.files import atomic
from aigon.model.checks import Check
from aigon.spec import document, features, files
from aigon.text import documents
from aigon.text.amounts import format_size
from aigon.text.documents import parse_yaml

HUGE = 3 * 1024**3
READERS: dict[str, tuple[Callable[[bytes], object], int]] = {
    "The spec": (document.parse_spec, features.LARGEST),
    "The configuration": (lambda data: loading.parse_configuration([("config.json", data)]), loading.MAX_CONFIG_BYTES),
    "The document": (lambda data: parse_yaml(data, "mine.yaml"), documents.LARGEST_DOCUMENT),
}


@pytest.mark.parametrize("what", READERS)
def test_a_byte_too_many_is_refused_with_what_may_be(what: str) -> None:
    read, largest = READERS[what]
    with pytest.raises(AigonError) as caught:
        read(b"#" * (largest + 1))
    error = caught.value
    assert (
        error.code == Exit.USAGE and error.what == f"{what} is too large: 1.0 MiB, and 1.0 MiB is read" and error.hint
    )


def test_a_spec_of_just_the_size_is_read() -> None:
    begun = b"# A\n\n## Acceptance Criteria\n\n- [ ] a\n\n"
    assert len(document.parse_spec((begun + (b"x" * 99 + b"\n") * 11_000)[: features.LARGEST]).criteria) == 1


def huge(path: Path) -> Path:
    """A file of gigabytes that takes no room."""
    path.touch()
    os.truncate(path, HUGE)
    return path


def test_a_huge_file_is_refused_by_its_size_and_not_read(tmp_path: Path) -> None:
    tracemalloc.start()
    with pytest.raises(AigonError, match=r"The spec is too large: 3072\.0 MiB") as caught:
        files.read_spec_file(huge(tmp_path / "feature-1-a.md"), "feature-1-a.md")
    assert "feature-1-a.md" in caught.value.where
    with pytest.raises(AigonError, match="too large"):
        loading.open_work_tree(huge(tmp_path / "config.json").parent)("config.json")
    assert tracemalloc.get_traced_memory()[1] < 10 * 1024**2
    tracemalloc.stop()


def test_a_pipe_in_place_of_a_file_is_no_file_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "feature-1-a.md")
    with pytest.raises(AigonError, match="no ordinary file"):
        files.read_spec_file(tmp_path / "feature-1-a.md", "feature-1-a.md")
    with pytest.raises(OSError, match="no ordinary file"):
        atomic.read_bounded(Path("/dev/zero"), 10, "It", hint="")


def test_a_report_that_is_too_large_is_an_error_that_says_so_and_never_a_pass(tmp_path: Path) -> None:
    good = b'<testsuites><testsuite tests="1"><testcase classname="a" name="b"/></testsuite></testsuites>'
    report = tmp_path / "report.xml"
    report.write_bytes(good + b"\n" * LARGEST_REPORT)
    content = reports.read_report(report) or b""
    check = Check("tests", "tests", ("x", "{report}"), "pytest")
    for evidence in (
        weigh_own_report(check, b"1 passed", content, lambda text: text.strip()),
        weigh_hidden_reports(check, b"1 passed", [content], lambda text: text.strip(), green=True),
        weigh_placed_reports(check, b"1 passed", [good, content], lambda text: text.strip(), green=True),
    ):
        assert evidence.doubt and evidence.doubt[0] == "error" and "larger than 16 MiB" in evidence.doubt[1]


def test_sizes_are_said_as_people_say_them() -> None:
    assert [format_size(size) for size in (900, 64 * 1024, 1536 * 1024)] == ["900 bytes", "64.0 KiB", "1.5 MiB"]
