import time
import tracemalloc

import pytest

from aigon.model.checks import Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading

BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;">
<!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;">]>
<testsuites><testcase name="x"><failure message="&g;">&g;</failure></testcase></testsuites>"""


def case(inside: str, attributes: str = 'classname="a.b" name="c"') -> bytes:
    return f"<testsuite><testcase {attributes}>{inside}</testcase></testsuite>".encode()


def test_failures_errors_and_skips_are_told_apart() -> None:
    found = read("junit", b"", captured("pytest-failed.xml"))
    assert found.counts == TestCounts(total=10, passed=3, failed=4, skipped=2, errors=1)
    assert found.summary == "3/8 passed, 1 error, 2 skipped"


def test_a_problem_names_test_message_file_and_line() -> None:
    first = read("junit", b"", captured("pytest-failed.xml")).problems[0]
    assert first == Problem("AssertionError: sum is off", "test_calc.py", 8, test="test_calc.TestAdd::test_wrong")


def test_a_file_that_pytest_could_not_collect_says_why() -> None:
    found = read("junit", b"", captured("pytest-collection.xml"))
    assert [p.message for p in found.problems] == ["ModuleNotFoundError: No module named 'nothing_like_this'"]
    assert found.counts == TestCounts(total=1, errors=1)


def test_test_cases_directly_under_testsuites_are_counted() -> None:
    found = read("junit", b"", captured("nodetest-failed.xml"))
    assert found.counts == TestCounts(total=6, passed=1, failed=3, skipped=2)
    assert [p.test for p in found.problems] == ["/project/bad.test.js", "sum::wrong", "throws"]


@pytest.mark.parametrize("name", ["pytest-none.xml", "nodetest-none.xml"])
def test_a_report_without_tests_says_so(name: str) -> None:
    found = read("junit", b"", captured(name))
    assert (found.summary, found.counts, found.understood) == ("no tests collected", TestCounts(), True)


def test_a_run_in_which_everything_is_skipped_passed_nothing() -> None:
    found = read("junit", b"", case("<skipped/>"))
    assert (found.summary, found.counts) == ("0/0 passed, 1 skipped", TestCounts(total=1, skipped=1))


def test_a_failure_outweighs_a_skip_and_two_failures_are_one_failed_test() -> None:
    found = read("junit", b"", case('<skipped/><failure message="one"/><failure message="two"/>'))
    assert found.counts == TestCounts(total=1, failed=1)
    assert [p.message for p in found.problems] == ["one"]


def test_file_and_line_of_the_element_serve_where_the_text_names_none() -> None:
    found = read("junit", b"", case('<failure message="no"/>', 'file="a/b.js" line="7" name="c"'))
    assert found.problems == (Problem("no", "a/b.js", 7, test="a/b.js::c"),)


def test_what_a_library_raises_is_placed_where_the_project_calls_it() -> None:
    detail = "tests/test_log.py:46: \n/usr/lib/python3.11/unittest/mock.py:950: AssertionError"
    failure = f'<failure message="AssertionError: no such call">{detail}</failure>'
    (problem,) = read("junit", b"", case(failure)).problems
    assert (problem.file, problem.line) == ("tests/test_log.py", 46)


def test_entities_that_expand_without_end_are_refused_at_once() -> None:
    tracemalloc.start()
    began = time.process_time()
    found = read("junit", b"", BOMB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.understood, found.counts, found.problems) == (False, None, ())
    assert time.process_time() - began < 1
    assert peak < 1_000_000


def test_an_external_entity_is_refused_in_any_encoding() -> None:
    head, body = '<?xml version="1.0" encoding="utf-16"?>', '<testsuite><testcase name="a"/></testsuite>'
    declared = head + '<!DOCTYPE a SYSTEM "file:///etc/passwd">' + body
    assert not read("junit", b"", declared.encode("utf-16")).understood
    assert read("junit", b"", (head + body).encode("utf-16")).counts == TestCounts(total=1, passed=1)


def test_a_message_may_speak_of_a_doctype() -> None:
    found = read("junit", b"", case("<failure><![CDATA[expected <!DOCTYPE html>]]></failure>"))
    assert [p.message for p in found.problems] == ["expected <!DOCTYPE html>"]


@pytest.mark.parametrize("cut", [200, 700, 1500])
def test_a_cut_report_has_no_counts_that_could_be_taken_for_the_whole(cut: int) -> None:
    found = read("junit", b"", captured("pytest-failed.xml")[:cut])
    assert (found.counts, found.understood) == (None, False)


def test_a_report_above_the_limit_has_no_counts_either() -> None:
    many = b"<testsuites>" + b'<testcase name="%s"/>' % (b"a" * 1000) * 20_000 + b"</testsuites>"
    found = read("junit", b"", many)
    assert (found.counts, found.understood) == (None, False)


def test_other_xml_is_no_report() -> None:
    assert not read("junit", b"", b"<html><testcase name='a'/></html>").understood


def test_ten_thousand_failures_are_all_counted_and_200_kept() -> None:
    many = "".join(f'<testcase name="t{n}"><failure message="m{n}"/></testcase>' for n in range(10_000))
    found = read("junit", b"", f"<testsuites>{many}</testsuites>".encode())
    assert found.counts == TestCounts(total=10_000, failed=10_000)
    assert len(found.problems) == 200


def test_without_a_report_the_output_itself_may_be_one() -> None:
    assert read("junit", captured("nodetest-failed.xml")).counts == reading("nodetest-failed.xml").counts
