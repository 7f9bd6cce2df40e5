"""What cargo, rustc, clippy, nextest and Go print, and what a Makefile may have started."""

import time

import pytest

from aigon.model.checks import Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading

CARGO_COUNTS = TestCounts(total=20, passed=8, failed=9, skipped=3)
GO_COUNTS = TestCounts(total=19, passed=7, failed=7, skipped=1, errors=4)


@pytest.mark.parametrize("name", ["cargotest-failed.txt", "cargotest-failed-old.txt"])
def test_cargo_test_counts_every_binary_once_whatever_its_tests_print(name: str) -> None:
    """One of them prints a whole run of another `cargo test` and then fails."""
    found = reading(name)
    assert (found.counts, found.summary) == (CARGO_COUNTS, "8/17 passed, 3 skipped")
    assert not any("made_up" in test for test in found.tests)


def test_a_test_of_cargo_is_named_with_its_binary_and_a_doc_test_without_its_line() -> None:
    results = reading("cargotest-failed.txt").tests
    assert len(results) == 20
    wanted = {
        "app src/main.rs::tests::adds": "passed",
        "core_lib src/lib.rs::tests::adds": "passed",
        "core_lib src/lib.rs::tests::deep::adds": "failed",
        "core_lib src/lib.rs::tests::panics": "passed",
        "core_lib src/lib.rs::tests::later": "skipped",
        "tests/it.rs::divides": "failed",
        "tests/it.rs (2)::divides": "failed",
        "core_lib (doc)::core/src/lib.rs - add": "failed",
        "core_lib (doc)::core/src/lib.rs - add (2)": "passed",
    }
    assert {test: results[test] for test in wanted} == wanted


def test_cargo_test_says_why_and_where() -> None:
    found = {p.test.rpartition("::")[2]: (p.message, p.file, p.line) for p in reading("cargotest-failed.txt").problems}
    lib = "core/src/lib.rs"
    assert found == {
        "divides": ("assertion failed: core_lib::divide(4, 2) == 3", "core/tests/it.rs", 8),
        "adds": ("called `Option::unwrap()` on a `None` value", lib, 90),
        "cheats": ("nested", lib, 52),
        "does_not_panic": ("test did not panic as expected", lib, 69),
        "fails_by_result": ('"no such thing"', "", 0),
        "panics_otherwise": (
            "panic did not contain expected string: "
            'panic message: "attempt to divide by zero", expected substring: "never"',
            lib,
            29,
        ),
        "wrong": ("assertion `left == right` failed: one and two: left: 3, right: 4", lib, 44),
        "core/src/lib.rs - add": ("assertion `left == right` failed: left: 3, right: 4", lib, 9),
    }


def test_panics_as_they_were_told_before_rust_1_73_have_their_place() -> None:
    found = {p.test: (p.message, p.file, p.line) for p in reading("cargotest-failed-old.txt").problems}
    said = "assertion failed: `(left == right)`: left: `3`, right: `4`: one and two"
    assert found["core_lib src/lib.rs::tests::wrong"] == (said, "core/src/lib.rs", 44)
    assert found["tests/it.rs::divides"][1:] == ("app/tests/it.rs", 8)


def test_what_does_not_compile_is_an_error_with_each_place() -> None:
    found = reading("cargotest-compile.txt")
    assert (found.summary, found.counts) == ("does not compile: 3 errors", TestCounts(total=1, errors=1))
    assert [(p.file, p.line, p.rule) for p in found.problems] == [
        ("tests/it.rs", 2, "E0425"),
        ("tests/it.rs", 2, "E0425"),
        ("tests/it.rs", 4, "E0308"),
    ]


@pytest.mark.parametrize(
    ("name", "counts", "why"),
    [
        (
            "cargotest-abort.txt",
            TestCounts(total=5, passed=4, errors=1),
            "it ended after 2 of 4 tests: signal: 6, SIGABRT: process abort signal",
        ),
        ("cargotest-exit0.txt", TestCounts(total=5, passed=3, failed=1, errors=1), "it ended after 2 of 3 tests"),
    ],
)
def test_a_binary_that_ends_before_its_sum_is_an_error(name: str, counts: TestCounts, why: str) -> None:
    """`cargo test` exits 0 for one that a test ended with exit(0)."""
    found = reading(name)
    assert found.counts == counts
    assert [p.message for p in found.problems if p.test == "tests/it.rs"] == [why]


def test_results_by_name_are_told_only_where_all_of_them_were_seen() -> None:
    assert len(reading("cargotest-passed.txt").tests) == 3
    for name in ("cargotest-quiet.txt", "cargotest-single.txt"):
        assert reading(name).counts is not None
        assert reading(name).tests == {}
    without_headers = captured("cargotest-passed.txt").replace(b"Running", b"running")
    assert read("cargotest", without_headers).counts == TestCounts(total=3, passed=3)
    assert read("cargotest", without_headers).tests == {}


def test_a_line_too_many_is_no_test_that_passed() -> None:
    forged = captured("cargotest-passed.txt").replace(b"test adds ... ok\n", b"test adds ... ok\ntest gone ... ok\n")
    assert read("cargotest", forged).counts == TestCounts(total=3, passed=3)
    assert read("cargotest", forged).tests == {}


def test_benches_and_a_time_limit_count_too() -> None:
    text = (
        b"     Running benches/sum.rs (target/release/deps/sum-0123456789abcdef)\n\nrunning 3 tests\n"
        b"test a ... bench:       1,234 ns/iter (+/- 5)\ntest b ... ok <0.001s>\ntest c ... ignored\n\n"
        b"test result: ok. 1 passed; 0 failed; 1 ignored; 1 measured; 7 filtered out; finished in 0.01s\n"
    )
    found = read("cargotest", text)
    assert found.counts == TestCounts(total=3, passed=2, skipped=1)
    assert found.tests == {"benches/sum.rs::a": "passed", "benches/sum.rs::b": "passed", "benches/sum.rs::c": "skipped"}


def test_no_tests_are_none_and_no_examples_are_no_report() -> None:
    none = captured("cargotest-none.txt")
    assert (read("cargotest", none).summary, read("cargotest", none).counts) == ("no tests collected", TestCounts())
    assert (read("cargodoc", none).summary, read("cargodoc", none).counts) == ("no doc-tests", None)
    assert read("cargodoc", captured("cargotest-passed.txt")).counts == TestCounts(total=3, passed=3)


@pytest.mark.parametrize("name", ["cargotest-passed.txt", "gotest-failed-events.txt"])
def test_output_without_its_middle_is_not_counted(name: str) -> None:
    parser, data = name.partition("-")[0], captured(name)
    middle = data.index(b"\n", len(data) // 2) + 1
    found = read(parser, data[:middle] + b"[... 9999 bytes left out ...]\n" + data[middle:])
    assert (found.understood, found.counts, found.tests) == (False, None, {})


def test_cargo_build_tells_errors_from_warnings() -> None:
    assert reading("cargo-errors.txt").summary == "3 errors"
    found = reading("cargo-warnings.txt")
    assert (found.summary, found.problems) == (
        "1 warning",
        (Problem("unused variable: `unused`", "src/lib.rs", 2, "unused_variables", "warning"),),
    )
    finished = b"    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.05s\n"
    assert read("cargo", finished).summary == "clean"
    manifest = b"error: no matching package named `serde` found\nlocation searched: crates.io index\n"
    assert not read("cargo", manifest).understood
    assert read("cargo", manifest).problems


CLIPPY = [
    ("src/lib.rs", 2, "unused_variables", "warning"),
    ("src/lib.rs", 3, "clippy::needless_return", "warning"),
    ("src/lib.rs", 1, "clippy::ptr_arg", "warning"),
]


def test_clippy_reports_a_file_of_two_targets_once() -> None:
    found = reading("clippy-json.txt")
    assert (found.summary, found.counts) == ("4 problems", None)
    assert [(p.file, p.line, p.rule, p.severity) for p in found.problems] == [
        *CLIPPY,
        ("src/lib.rs", 7, "clippy::eq_op", "error"),
    ]
    assert {p.severity for p in reading("clippy-denied-json.txt").problems} == {"error"}


def test_clippy_for_people_names_lints_where_it_does() -> None:
    found = [(p.file, p.line, p.rule, p.severity) for p in reading("clippy-warnings-human.txt").problems]
    assert found == [*CLIPPY, ("tests/it.rs", 2, "unused_variables", "warning")]


def test_clippy_without_anything_to_say_is_clean_and_other_words_are_not() -> None:
    assert read("clippy", b'{"reason":"build-finished","success":true}\n').summary == "clean"
    assert not read("clippy", b"error: no such command: `clippy`\n").understood


def test_a_problem_inside_a_macro_of_elsewhere_is_where_the_macro_is_called() -> None:
    call = b'{"file_name":"src/a.rs","line_start":7,"is_primary":false,"expansion":null}'
    span = (
        b'{"file_name":"/x/core/src/macros/mod.rs","line_start":50,"is_primary":true,"expansion":{"span":'
        + call
        + b"}}"
    )
    row = b'{"reason":"compiler-message","message":{"level":"error","message":"m","code":{"code":"E1"},"spans":[' + span
    assert read("clippy", row + b"]}}\n").problems == (Problem("m", "src/a.rs", 7, "E1"),)


def test_rustfmt_names_each_place_once() -> None:
    found = reading("rustfmt-diff.txt")
    assert (found.summary, [(p.file, p.line) for p in found.problems]) == (
        "2 problems",
        [("/project/src/lib.rs", 13), ("/project/tests/it.rs", 1)],
    )
    assert read("rustfmt", b"Diff in src/main.rs at line 3:\n x\n-y\n").problems[0].line == 3
    assert read("rustfmt", b"").summary == "clean"
    assert not read("rustfmt", b"error: no such command: `fmt`\n").understood


def test_nextest_takes_the_last_try_and_no_line_that_a_test_printed() -> None:
    found = reading("nextest-documented-failed.txt")
    assert found.counts == TestCounts(total=8, passed=3, failed=2, skipped=2, errors=1)
    assert dict(found.tests) == {
        "demo::tests::adds": "passed",
        "demo::tests::wrong": "failed",
        "demo::it::shaky": "passed",
        "demo::it::aborts": "failed",
        "demo::it::sleeps": "error",
        "demo::it::adds": "passed",
    }
    said = "assertion `left == right` failed: one and two: left: 3, right: 4"
    assert found.problems == (
        Problem(said, "src/lib.rs", 44, test="demo::tests::wrong"),
        Problem("SIGABRT", test="demo::it::aborts"),
        Problem("timed out", test="demo::it::sleeps"),
    )


def test_nextest_reports_the_same_names_as_junit() -> None:
    found = reading("nextest-documented-failed.xml")
    assert found.counts == TestCounts(total=3, passed=2, failed=1)
    assert found.problems[0].test == "demo::tests::wrong"
    assert (found.problems[0].file, found.problems[0].line) == ("src/lib.rs", 44)
    assert dict(found.tests) == {
        "demo::tests::wrong": "failed",
        "demo::it::adds": "passed",
        "demo::it::shaky": "passed",
    }


def test_nextest_without_tests_and_without_a_build() -> None:
    assert reading("nextest-documented-none.txt").summary == "no tests collected"
    assert read("nextest", captured("cargotest-compile.txt")).summary == "does not compile: 3 errors"
    assert not read("nextest", captured("cargotest-passed.txt")).understood


@pytest.mark.parametrize("name", ["gotest-failed-events.txt", "gotest-failed-events-old.txt", "gotest-verbose.txt"])
def test_go_counts_the_same_from_events_and_from_verbose_text(name: str) -> None:
    """One test prints results of tests that there are not, in text and as an event; one forgets the end of a line."""
    found = reading(name)
    assert (found.counts, found.summary) == (GO_COUNTS, "7/18 passed, 4 errors, 1 skipped")
    assert not any("MadeUp" in test for test in found.tests)


@pytest.mark.parametrize("name", ["gotest-failed-events.txt", "gotest-failed-events-old.txt"])
def test_a_test_of_go_is_named_with_its_package(name: str) -> None:
    results = reading(name).tests
    assert len(results) == 16
    assert results["example.com/m/sum::TestTable/wrong_one"] == "failed"
    assert results["example.com/m/sum::TestTable/small"] == "passed"
    assert results["example.com/m/sum::TestPrints"] == "passed"
    assert results["example.com/m/sum::FuzzAdd/seed#0"] == "passed"
    assert results["example.com/m/sum::TestSkips"] == "skipped"
    assert results["example.com/m/slow::TestSlow"] == "error"


@pytest.mark.parametrize("name", ["gotest-failed-events.txt", "gotest-verbose.txt", "gotest-failed.txt"])
def test_go_says_why_and_where(name: str) -> None:
    found = {p.test.removeprefix("example.com/m/"): (p.message, p.file, p.line) for p in reading(name).problems}
    assert found.pop("") == ('fmt.Printf format %d has arg "text" of wrong type string', "vetbad/v_test.go", 8)
    assert found.pop("slow::TestSlow" if "slow::TestSlow" in found else "slow") == (
        "test timed out after 3s",
        "slow/s_test.go",
        9,
    )
    assert found == {
        "mainfail": ("no database", "", 0),
        "panics::TestPanics": ("assignment to entry in nil map", "panics/p_test.go", 9),
        "sum::TestTable/wrong_one": ("Add(1, 2) = 3 want 4", "sum_test.go", 21),
        "sum::TestCheats": ("nested", "sum_test.go", 31),
        "sum::FuzzAdd/seed#1": ("seven", "sum_test.go", 55),
        "sum::ExampleAdd_wrong": ("got: 3 want: 4", "", 0),
    }


def test_go_without_v_names_what_failed_and_counts_no_tests() -> None:
    found = reading("gotest-failed.txt")
    assert (found.understood, found.counts, found.summary) == (True, None, "6 packages failed")
    passed = b"?   \texample.com/m/a\t[no test files]\nok  \texample.com/m/b\t0.01s\nok  \texample.com/m/c\t(cached)\n"
    assert (read("gotest", passed).counts, read("gotest", passed).summary) == (None, "2 packages passed")


@pytest.mark.parametrize("name", ["gotest-unbuilt-events.txt", "gotest-unbuilt.txt"])
def test_packages_of_go_that_cannot_be_built_are_errors(name: str) -> None:
    places = {(p.file, p.line): p.message.partition(":")[0] for p in reading(name).problems if not p.test}
    assert places == {
        ("", 0): "import cycle not allowed",
        ("miss/m.go", 3): "cannot find module providing package example.com/other/lib",
        ("syntax/s.go", 2): "syntax error",
    }


def test_a_test_that_ends_the_process_or_never_ends_is_an_error() -> None:
    found = reading("gotest-unbuilt-events.txt")
    assert found.counts == TestCounts(total=11, passed=5, failed=1, errors=5)
    ended = {p.test: (p.message, p.file, p.line) for p in found.problems if p.test}
    assert ended == {
        "example.com/m2/exit::TestExit": ("unexpected call to os.Exit(0) during test", "exit/e_test.go", 4),
        "example.com/m2/leak::TestA": ("in goroutine", "leak/l_test.go", 3),
    }


@pytest.mark.parametrize("name", ["gotest-race-events.txt", "gotest-race.txt"])
def test_a_race_is_where_the_detector_saw_it(name: str) -> None:
    (race,) = reading(name).problems
    assert (race.message, race.file, race.line) == ("race detected during execution of test", "race/r_test.go", 6)


def test_of_testify_only_the_error_is_told() -> None:
    lines = (
        "    a_test.go:9: \n        \tError Trace:\t/project/a_test.go:9\n        \tError:      \tNot equal: \n"
        "        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestA\n"
    )
    text = f"--- FAIL: TestA (0.00s)\n{lines}FAIL\nFAIL\texample.com/m\t0.01s\n".encode()
    assert read("gotest", text).problems == (
        Problem("Not equal: expected: 1 actual : 2", "a_test.go", 9, test="example.com/m::TestA"),
    )


def test_where_no_package_has_tests_none_were_collected() -> None:
    text = b"?   \texample.com/m/a\t[no test files]\nok  \texample.com/m/b\t0.01s [no tests to run]\n"
    assert (read("gotest", text).summary, read("gotest", text).counts) == ("no tests collected", TestCounts())
    event = b'{"Time":"T","Action":"skip","Package":"example.com/m/a","Elapsed":0}\n'
    assert (read("gotest", event).summary, read("gotest", event).counts) == ("no tests collected", TestCounts())


@pytest.mark.parametrize(
    ("name", "summary", "places"),
    [
        ("govet-failed.txt", "2 problems", [("bad/bad_test.go", 6), ("vetbad/v_test.go", 8)]),
        ("govet-unloaded.txt", "2 problems", [("miss/m.go", 3), ("", 0)]),
        ("gobuild-failed.txt", "1 error", [("bad/h.go", 2)]),
        ("gobuild-nomodule.txt", "1 error", [("", 0)]),
        (
            "gofmt-found.txt",
            "4 problems",
            [("ok/o_test.go", 0), ("leak/l_test.go", 0), ("syntax/s_test.go", 0), ("syntax/s.go", 2)],
        ),
        ("golangci-documented-report.json", "2 problems", [("cmd/main.go", 12), ("sum/sum.go", 3)]),
        ("golangci-documented-text.txt", "2 problems", [("cmd/main.go", 12), ("sum/sum.go", 3)]),
        ("golangci-documented-clean.json", "clean", []),
    ],
)
def test_go_tools_name_places(name: str, summary: str, places: list[tuple[str, int]]) -> None:
    found = reading(name)
    assert (found.summary, found.counts) == (summary, None)
    assert [(p.file, p.line) for p in found.problems] == places


def test_golangci_names_linters_and_says_why_it_could_not_start() -> None:
    assert [(p.rule, p.severity) for p in reading("golangci-documented-report.json").problems] == [
        ("errcheck", "error"),
        ("revive", "warning"),
    ]
    found = reading("golangci-documented-load.txt")
    assert not found.understood
    assert found.problems[0].message.startswith("can't load config: unsupported version")
    assert read("golangci", b"0 issues.\n").summary == "clean"


@pytest.mark.parametrize(
    "name",
    [
        "cargotest-failed.txt",
        "nextest-documented-failed.txt",
        "gotest-verbose.txt",
        "gotest-failed-events.txt",
        "pytest-failed.txt",
        "jest-failed.txt",
        "vitest-failed.txt",
        "nodetest-tap.txt",
        "nodetest-mixed-tap.txt",
        "ava-mixed.txt",
        "bun-mixed.txt",
        "tap-prove.txt",
        "gradle-failed.txt",
        "mocha-failed.txt",
        "maven-failed.txt",
        "minitest-failed.txt",
        "phpunit-failed.txt",
        "rspec-failed.txt",
    ],
)
def test_a_make_target_is_read_as_the_one_runner_behind_it(name: str) -> None:
    wrapped = b"cc -o a a.c\n" + captured(name) + b"make: *** [Makefile:2: test] Error 1\n"
    found, own = read("any", wrapped), reading(name)
    assert (found.counts, found.summary, found.problems) == (own.counts, own.summary, own.problems)
    assert found.tests == {}


@pytest.mark.parametrize(
    "output",
    [
        captured("cargotest-passed.txt") + captured("jest-passed.txt"),
        captured("pytest-passed.txt") * 2,
        captured("cargotest-passed.txt") + b".\n" + b"-" * 70 + b"\nRan 1 test in 0.001s\n\nOK\n",
        captured("gotest-verbose.txt") + captured("pytest-failed.txt"),
        b"gcc -c a.c\nall good, 3 tests passed\n",
        b"Ran 3 things\nOK\n",
        b"test result: fine. 3 passed\n",
        b"",
    ],
)
def test_what_could_be_counted_in_two_ways_is_not_counted(output: bytes) -> None:
    found = read("any", output)
    assert (found.understood, found.counts, found.summary) == (False, None, "")


def test_a_build_tool_counts_for_nothing_beside_a_runner_that_it_started() -> None:
    found = read("any", captured("jest-failed.txt") + captured("gradle-failed.txt"))
    assert found == read("any", captured("jest-failed.txt"))


def test_a_target_that_does_not_compile_has_places_and_no_counts() -> None:
    found = read("any", captured("cargotest-compile.txt"))
    assert (found.understood, found.counts, len(found.problems)) == (False, None, 3)


def test_of_two_runners_the_failures_are_still_named() -> None:
    found = read("any", captured("gotest-verbose.txt") + captured("pytest-failed.txt"))
    named = {p.test for p in found.problems}
    assert "example.com/m/sum::TestCheats" in named
    assert any(test.endswith(".py") or "::test_" in test for test in named)


@pytest.mark.parametrize(
    ("output", "nothing"),
    [
        (b"make: 'test' is up to date.\n", True),
        (b"make: Nothing to be done for 'test'.\n", True),
        ("make: Für das Ziel „test“ ist nichts zu tun.\n".encode(), True),
        (b"make: Entering directory '/project'\n./run\nmake: Leaving directory '/project'\n", False),
        (b"make: Entering directory '/project'\nmake: Leaving directory '/project'\n", False),
        (b"make[1]: Nothing to be done for 'all'.\n", False),
        (b"./run-quietly\nmake: 'test' is up to date.\n", False),
        (b"make: *** No rule to make target 'test'.  Stop.\n", False),
    ],
)
def test_make_that_had_nothing_to_do_ran_no_test(output: bytes, nothing: bool) -> None:
    """It exits 0 where a folder is called like the target, or the target has no recipe."""
    found = read("any", output)
    assert (found.counts == TestCounts()) == nothing
    assert found.summary.startswith("nothing ran: make: ") == nothing


FLOODS = {
    "cargotest": [
        b"running 1 test\n",
        b"     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)\nrunning 2 tests\ntest a ... ok\n",
        b"failures:\n\n---- a stdout ----\nthread 'a' panicked at 'x', ', ', \n",
        b"running 9 tests\nfailures:\n---- a stdout ----\n",
        b"error[E0425]: x\n\n",
    ],
    "nextest": [
        b"        FAIL [   0.004s] demo a\n    thread 'a' panicked at a.rs:1:1:\n",
        b"        PASS [   0.004s] \n",
    ],
    "clippy": [b'{"reason":"compiler-message","message":{"level":"error","spans":[]}}\n', b'{"reason":\n'],
    "cargo": [b"error: x\n" + b"y\n" * 11, b"warning: unused\n --> a.rs:1:1\n"],
    "gotest": [
        b'{"Action":"run","Package":"a","Test":"T"}\n{"Action":"fail","Package":"a"}\n',
        b'{"Action":"output","Package":"a","Test":"T","Output":"a.go:1: x"}\n',
        b"=== RUN   TestA\n--- FAIL: TestA (0.00s)\n",
        b"--- FAIL: TestA (0.00s)\n    a_test.go:1: x\nFAIL\ta\t0.1s\n",
        b"package a\n\timports b\n",
    ],
    "golangci": [b"a.go:1:1: x (y)\n", b"a.go:1:1: " + b"x (" * 1300 + b"\n"],
    "any": [b"test result: \n", b"FAIL\t\n", b'{"Action":"run","Package":"a","Test":"T"}\n', b" 1 passed in 1s\n"],
}


@pytest.mark.parametrize(("parser", "piece"), [(name, piece) for name, pieces in FLOODS.items() for piece in pieces])
def test_a_flood_is_read_in_time(parser: str, piece: bytes) -> None:
    size = 256 * 1024
    began = time.process_time()
    found = read(parser, piece * (size // len(piece)))
    assert time.process_time() - began < 3
    assert len(found.problems) <= 200


def test_many_different_tests_and_packages_are_read_in_time() -> None:
    events = b"".join(
        b'{"Action":"run","Package":"p%d","Test":"T%d"}\n{"Action":"fail","Package":"p%d"}\n' % (n, n, n)
        for n in range(15_000)
    )
    began = time.process_time()
    assert read("gotest", events).counts == TestCounts(total=15_000, errors=15_000)
    assert time.process_time() - began < 5
