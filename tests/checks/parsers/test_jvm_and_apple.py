"""Maven, Gradle, Android Lint; swift test, xcodebuild and its result bundles. What is `documented` was not captured."""

import json

import pytest

from aigon.checks.parsers.readings import merge_readings
from aigon.model.checks import Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading

CLASS = "demo.CalcTest"
MAIN = "/project/src/main/java/demo/Calc.java"
COMPILED = [(MAIN, 5), (MAIN, 9)]


def places(name: str) -> list[tuple[str, int]]:
    return [(problem.file, problem.line) for problem in reading(name).problems]


def failed(inside: str, classname: str = CLASS, name: str = "works") -> Problem:
    """The problem of a single failed test with this trace."""
    text = inside.replace("&", "&amp;").replace("<", "&lt;")
    case = f'<testcase classname="{classname}" name="{name}"><failure message="no">{text}</failure></testcase>'
    return read("junit", b"", f"<testsuite>{case}</testsuite>".encode()).problems[0]


def test_the_reports_of_surefire_have_every_test_with_its_result() -> None:
    found = reading("junit-surefire.xml")
    assert found.summary == "4/8 passed, 1 error, 2 skipped"
    assert {test: result for test, result in found.tests.items() if result != "passed"} == {
        f"{CLASS}::breaks": "error",
        f"{CLASS}::adds": "failed",
        f"{CLASS}::params{{String}}[2]": "failed",
        f"{CLASS}$Inner::inside": "failed",
        f"{CLASS}::assumes": "skipped",
        f"{CLASS}::later": "skipped",
    }
    assert found.problems[2] == Problem(
        "AssertionFailedError: sum is off ==> expected: <5> but was: <-1>",
        "demo/CalcTest.java",
        15,
        test=f"{CLASS}::adds",
    )


def test_a_failure_of_the_code_is_placed_in_the_code_and_not_in_a_library() -> None:
    assert places("junit-gradle.xml") == [("demo/Calc.java", 9), ("demo/CalcTest.java", 13)]


@pytest.mark.parametrize("name", ["junit-surefire-class.xml", "junit-gradle-class.xml"])
def test_a_class_that_could_not_be_set_up_is_a_failure_but_no_test(name: str) -> None:
    found = reading(name)
    assert found.counts is not None
    assert (found.counts.total, found.counts.failed + found.counts.errors, dict(found.tests)) == (1, 1, {})
    assert (found.problems[0].file, found.problems[0].line) == ("demo/BrokenTest.java", 8)
    assert found.problems[0].message.startswith("IllegalStateException: cannot be set up")


def test_the_last_cause_is_said_with_what_was_thrown() -> None:
    assert reading("junit-gradle-class.xml").problems[0].message.endswith("(caused by RuntimeException: the cause)")


@pytest.mark.parametrize("name", ["", "initializationError", "executionError", "classMethod"])
def test_a_skipped_or_broken_class_is_no_test(name: str) -> None:
    case = f'<testcase classname="{CLASS}" name="{name}"><skipped/></testcase>'
    found = read("junit", b"", f"<testsuite>{case}</testsuite>".encode())
    assert (found.counts, dict(found.tests)) == (TestCounts(total=1, skipped=1), {})


def test_a_test_that_passed_when_it_was_run_again_passed() -> None:
    found = reading("junit-flaky.xml")
    assert found.counts == TestCounts(total=4, passed=2, failed=1, skipped=1)
    assert (found.tests["demo.FlakyTest::flaky"], found.tests["demo.FlakyTest::always"]) == ("passed", "failed")
    assert [problem.message for problem in found.problems] == ["AssertionError: never"]


@pytest.mark.parametrize(
    ("frame", "place"),
    [
        ("\tat app//demo.CalcTest.works(CalcTest.kt:7)", ("demo/CalcTest.kt", 7)),
        ("\tat demo.CalcTest.a sentence, in Kotlin(CalcTest.kt:7)", ("demo/CalcTest.kt", 7)),
        ("\tat demo.CalcKt.lambda$main$0(Calc.kt:7)", ("demo/Calc.kt", 7)),
        ("\tat app//org.junit.Assert.fail(Assert.java:9)\n\tat a.B$C.d(B.scala:3)", ("a/B.scala", 3)),
        ("\tat com.other.Library.call(Library.java:1)\n\tat demo.X.y(X.groovy:2)", ("demo/X.groovy", 2)),
        ("\tat com.other.Library.call(Library.java:1)", ("com/other/Library.java", 1)),
        ("\tat NoPackageTest.works(NoPackageTest.java:4)", ("NoPackageTest.java", 4)),
        ("\tat java.base/java.util.List.of(List.java:9)", ("", 0)),
        ("\tat demo.CalcTest.works(Unknown Source)\n\tat demo.CalcTest.works(Native Method)", ("", 0)),
    ],
)
def test_frames_of_the_jvm_in_every_form(frame: str, place: tuple[str, int]) -> None:
    found = failed(f"java.lang.Error: no\n{frame}\n")
    assert (found.file, found.line) == place


def test_a_message_over_several_lines_is_said_on_one() -> None:
    found = failed(
        "org.opentest4j.AssertionFailedError: \nexpected: 1\n but was: 2\n\tat demo.CalcTest.a(CalcTest.java:3)"
    )
    assert found.message == "AssertionFailedError: expected: 1 but was: 2"


def test_objects_in_names_of_tests_are_the_same_in_every_run() -> None:
    def names(address: str) -> set[str]:
        case = f'<testcase classname="{CLASS}" name="sums(demo.Money@{address}, a@b.cafe1)"/>'
        return set(read("junit", b"", f"<testsuite>{case}</testsuite>".encode()).tests)

    assert names("1b2c3d4e") == names("7a8b9c0d") == {f"{CLASS}::sums(demo.Money@, a@b.cafe1)"}


def test_reports_of_modules_are_put_together() -> None:
    parts = [read("maven", b"-", captured(name)) for name in ("junit-surefire.xml", "junit-flaky.xml")]
    assert merge_readings(parts).counts == TestCounts(total=14, passed=6, failed=4, skipped=3, errors=1)


@pytest.mark.parametrize("parser", ["maven", "gradle"])
def test_builds_of_the_jvm_read_reports_of_tests_and_of_linters(parser: str) -> None:
    assert read(parser, b"", captured("junit-surefire.xml")) == reading("junit-surefire.xml")
    assert read(parser, b"", captured("checkstyle-failed.xml")).summary == "2 problems"
    assert read(parser, b"", captured("androidlint-documented.xml")).summary == "2 problems"
    for other in (b"", b"<html/>", captured("junit-surefire.xml")[:900]):
        assert not read(parser, b"BUILD SUCCESSFUL\n[INFO] BUILD SUCCESS\n", other).understood


@pytest.mark.parametrize("name", ["maven-compile.txt", "gradle-compile.txt"])
def test_the_compilers_errors_are_what_a_failed_build_says(name: str) -> None:
    assert (reading(name).summary, reading(name).counts, places(name)) == ("2 errors", None, COMPILED)


def test_what_maven_prints_of_tests_is_its_own_total_and_not_a_tests() -> None:
    assert b"Tests run: 99" in captured("maven-failed.txt")
    found = reading("maven-failed.txt")
    assert found.counts == TestCounts(total=11, passed=4, failed=3, skipped=2, errors=2)
    assert [problem.test for problem in found.problems] == [
        "CalcTest$Inner.inside", "CalcTest.adds", "CalcTest.params", "BrokenTest.before", "CalcTest.breaks",
    ]  # fmt: skip
    assert dict(found.tests) == {}


def test_a_flake_of_maven_is_no_failure() -> None:
    found = reading("maven-flaky.txt")
    assert found.counts == TestCounts(total=5, passed=2, failed=1, skipped=1, errors=1)
    assert {problem.test for problem in found.problems} == {"FlakyTest.always", "BrokenTest.before"}


def test_totals_of_several_modules_are_added() -> None:
    module = "[INFO] --- surefire:3.2.5:test (default-test) @ {} ---\n"
    module += "[INFO] Results:\n[INFO] \n[INFO] Tests run: {}, Failures: 0, Errors: 0, Skipped: 1\n"
    text = module.format("a", 3) + module.format("b", 4) + "[INFO] BUILD SUCCESS\n"
    assert read("maven", text.encode()).summary == "5/5 passed, 2 skipped"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "[ERROR] file:///project/src/A.kt:[3,5] Unresolved reference: x",
            Problem("Unresolved reference: x", "/project/src/A.kt", 3),
        ),
        ("[WARNING] src/A.java:[3,5] [removal] old", Problem("[removal] old", "src/A.java", 3, severity="warning")),
        (
            "[ERROR] Failed to execute goal com.a:b-plugin:1:check (x) on project demo: Bad things -> [Help 1]",
            Problem("(x) on project demo: Bad things"),
        ),
        ("[ERROR] src/A.java:4:5: No. [MagicNumber]", Problem("No.", "src/A.java", 4, "MagicNumber")),
        (
            "The following files had format violations:\n    src/A.java\n        @@ -1 +1 @@",
            Problem("File would be reformatted", "src/A.java", 0, "unformatted"),
        ),
    ],
)
def test_what_else_stops_maven(line: str, problem: Problem) -> None:
    found = read("maven", f"[INFO] Scanning for projects...\n{line}\n[INFO] BUILD FAILURE\n".encode())
    assert found.problems == (problem,)


def test_a_build_that_went_well_has_nothing_to_say() -> None:
    assert (reading("maven-built.txt").understood, reading("maven-built.txt").problems) == (True, ())
    found = read("gradle", b"> Task :compileJava\n\nBUILD SUCCESSFUL in 1s\n")
    assert (found.understood, found.summary, found.problems) == (True, "", ())


@pytest.mark.parametrize("parser", ["maven", "gradle", "xcodebuild", "swifttest", "xcresult"])
def test_what_another_tool_prints_is_not_understood(parser: str) -> None:
    assert not read(parser, b"bash: gradlew: No such file or directory\n").understood
    assert not read(parser, b"[ERROR] something\nno problems found\n").understood


def test_failed_tests_in_gradles_text_serve_where_there_is_no_report() -> None:
    assert [(p.test, p.file, p.line) for p in reading("gradle-failed.txt").problems] == [
        ("demo.CalcTest > breaks", "CalcTest.java", 23),
        ("demo.CalcTest > adds", "CalcTest.java", 13),
        ("demo.BrokenTest > classMethod", "BrokenTest.java", 8),
    ]


def test_kotlins_errors_and_spotless_in_one_build() -> None:
    found = reading("gradle-documented-kotlin.txt")
    assert [(p.file, p.line, p.severity) for p in found.problems] == [
        ("/project/app/src/main/kotlin/demo/Calc.kt", 5, "error"),
        ("/project/app/src/main/kotlin/demo/Calc.kt", 9, "warning"),
        ("/project/app/src/main/kotlin/demo/Old.kt", 12, "error"),
        ("src/main/kotlin/demo/Lib.kt", 0, "error"),
    ]


def test_what_went_wrong_is_said_where_no_compiler_says_it() -> None:
    text = b"\nFAILURE: Build failed.\n\n* What went wrong:\nTask 'lintDebug' not found.\n\nBUILD FAILED in 1s\n"
    assert read("gradle", text).problems == (Problem("Task 'lintDebug' not found."),)


def test_checkstyle_in_gradles_report_and_in_its_text() -> None:
    expected = [(MAIN, 4), (MAIN, 8)]
    assert places("gradle-checkstyle.xml") == places("gradle-checkstyle.txt") == expected
    assert reading("gradle-checkstyle.txt").problems[0].rule == "MissingJavadocMethod"


def test_android_lint_has_its_first_place_only_and_its_severity() -> None:
    assert [(p.file, p.line, p.rule, p.severity) for p in reading("androidlint-documented.xml").problems] == [
        ("/project/app/src/main/java/demo/Where.kt", 21, "MissingPermission", "error"),
        ("/project/app/src/main/res/values/strings.xml", 4, "UnusedResources", "warning"),
    ]


def test_both_libraries_of_swift_are_counted_in_one_output() -> None:
    found = reading("swifttest-documented-macos.txt")
    assert found.counts == TestCounts(total=8, passed=3, failed=3, skipped=2)
    assert [(p.test, p.file, p.line) for p in found.problems] == [
        ("DemoTests.CalcTests.testAdds", "/project/Tests/DemoTests/CalcTests.swift", 8),
        ("adds()", "SumsTests.swift", 9),
        ("even(n:)", "SumsTests.swift", 20),
    ]
    assert dict(found.tests) == {}


def test_the_xml_of_swift_testing_behind_the_text_gives_names() -> None:
    found = read("swifttest", b"", captured("swifttest-documented-report.txt"))
    assert found.counts == reading("swifttest-documented-macos.txt").counts
    assert found.tests["DemoTests.CalcTests.testLater"] == found.tests["DemoTests.Sums::later()"] == "skipped"
    assert [p.test for p in found.problems][1:] == ["DemoTests.Sums::adds()", "DemoTests.Sums::even(n:)"]


def test_an_xml_that_was_cut_leaves_the_text() -> None:
    cut = captured("swifttest-documented-report.txt").partition(b"  <testsuite")[0]
    found = read("swifttest", b"", cut)
    assert (found.counts, found.tests["adds()"]) == (TestCounts(total=8, passed=3, failed=3, skipped=2), "failed")


def test_a_test_that_crashed_is_an_error_where_it_crashed() -> None:
    found = reading("swifttest-documented-linux.txt")
    assert found.counts == TestCounts(total=2, failed=1, errors=1)
    assert found.problems[1] == Problem(
        "Fatal error: Unexpectedly found nil while unwrapping an Optional value",
        "DemoTests/CalcTests.swift",
        14,
        test="CalcTests.testCrashes",
    )


def test_swift_without_a_test_says_so() -> None:
    empty = "Test Suite 'All tests' started at now.\n\t Executed 0 tests, with 0 failures (0 unexpected) in 0 (0) s\n"
    testing = "◇ Test run started.\n✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.\n"
    assert read("swifttest", (empty + testing).encode()).summary == "no tests collected"


@pytest.mark.parametrize("symbol", ["✔", "√", "\U0010105b"])
def test_every_platforms_symbols_are_known(symbol: str) -> None:
    lines = f"{symbol} Test run started.\n{symbol}  Test a() started.\n{symbol}  Test a() passed after 0.001 seconds.\n"
    assert read("swifttest", lines.encode()).counts == TestCounts(total=1, passed=1)


def test_tests_that_xcodebuild_runs_in_parallel_are_counted() -> None:
    line = "Test case '-[AppTests.CalcTests {}]' {} on 'iPhone 16 - App (70810)' (0.8 seconds)\n"
    text = (
        "Test suite 'CalcTests' started on 'iPhone'\n" + line.format("testA", "passed") + line.format("testB", "failed")
    )
    assert read("swifttest", text.encode()).summary == "1/2 passed"


@pytest.mark.parametrize("name", ["swifttest-documented-compile.txt", "xcodebuild-documented-failed.txt"])
def test_swifts_compiler_errors_have_a_place(name: str) -> None:
    found = reading(name)
    assert found.counts is None
    assert found.problems[0].line > 0
    assert found.problems[0].file.endswith(".swift")
    assert found.problems[0].message.startswith("cannot find ")
    assert not any(p.message == "failed with exit code 1 (use -v to see invocation)" for p in found.problems)


def test_xcodebuild_that_could_not_begin_says_why() -> None:
    for parser in ("xcodebuild", "xcresult"):
        found = read(parser, captured("xcodebuild-documented-scheme.txt"))
        assert found.problems[0].message.startswith('The project named "App" does not contain a scheme named "Nothing"')


def test_a_result_bundle_has_every_test_case_once() -> None:
    found = reading("xcresult-documented.json")
    assert found.counts == TestCounts(total=7, passed=2, failed=2, skipped=2, errors=1)
    assert dict(found.tests) == {
        "AppTests/CalcTests/testAdds()": "failed",
        "AppTests/CalcTests/testDivides()": "passed",
        "AppTests/CalcTests/testKnown()": "skipped",
        "AppTests/CalcTests/testLater()": "skipped",
        "AppTests/CalcTests/testRetried()": "passed",
        "AppTests/Sums/even(n:)": "failed",
    }


def test_failures_in_a_result_bundle_have_a_place_wherever_it_stands() -> None:
    assert [(p.test, p.file, p.line) for p in reading("xcresult-documented.json").problems] == [
        ("AppTests/CalcTests/testAdds()", "CalcTests.swift", 8),
        ("AppTests/CalcTests/testAdds()", "CalcTests.swift", 9),
        ("AppTests/Sums/even(n:)", "SumsTests.swift", 20),
        ("AppUITests", "", 0),
    ]


@pytest.mark.parametrize("result", ["unknown", "", 3, None])
def test_a_test_case_without_a_known_result_did_not_end(result: object) -> None:
    node = {"nodeType": "Test Case", "name": "a()", "result": result, "children": [{"nodeType": 3}, 4, None]}
    found = read("xcresult", b"", json.dumps({"testNodes": [node, "no node"]}).encode())
    assert found.counts == TestCounts(total=1, errors=1)


def test_a_bundle_without_tests_says_so_and_other_json_is_none() -> None:
    assert read("xcresult", b"", b'{"testNodes": []}').summary == "no tests collected"
    for other in (b"{}", b"[]", b"", captured("xcresult-documented.json")[:900]):
        assert not read("xcresult", b"Test Suite 'All tests' passed\n", other).understood


def test_a_bundle_of_any_depth_is_read() -> None:
    node: dict[str, object] = {"nodeType": "Test Case", "name": "deep", "result": "Failed"}
    for _ in range(300):
        node = {"nodeType": "Test Suite", "children": [node]}
    assert read("xcresult", b"", json.dumps({"testNodes": [node]}).encode()).counts == TestCounts()
