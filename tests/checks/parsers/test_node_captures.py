"""What current versions of Node's tools wrote: jest 30, vitest 4, mocha 12, node 20 and 24, Playwright 1.65, AVA 7,
tape 5, node-tap 21, bun 1.4, Biome 2.6, Prettier 3.10, npm 11, pnpm 10, Yarn 1.22, and Perl's prove."""

import pytest

from aigon.model.checks import ParsedOutput, Problem, TestCounts
from tests.checks.parsers.captured import captured, read


def reading(parser: str, output: str = "", report: str = "") -> ParsedOutput:
    """As aigon hands them over: with the project's own path taken away."""
    texts = [captured(name).replace(b"/project/", b"") if name else None for name in (output, report)]
    return read(parser, texts[0] or b"", texts[1])


def places(found: ParsedOutput) -> dict[str, str]:
    """File and line of each problem, by the name of its test."""
    return {each.test: f"{each.file}:{each.line}" for each in found.problems}


def messages(found: ParsedOutput) -> dict[str, str]:
    return {each.test: each.message for each in found.problems}


JEST = {
    "sum.test.js::sum > wrong": "sum.test.js:5",
    "sum.test.js::sum > deep > each 1 2": "sum.test.js:10",
    "sum.test.js::sum > times out": "sum.test.js:13",
    "snap.test.js::snap": "snap.test.js:1",
    "snap.test.js::new snap": "snap.test.js:2",
    "hook.test.js::in hook file": "hook.test.js:1",
    "bad.test.js": "bad.test.js:1",
    "syntax.test.js": "syntax.test.js:2",
    "empty.test.js": "empty.test.js:0",
}


@pytest.mark.parametrize("found", [("", "jest-mixed.json"), ("jest-mixed.txt", "")], ids=["json", "text"])
def test_jest_names_snapshots_timeouts_and_files_that_do_not_load(found: tuple[str, str]) -> None:
    result = reading("jest", *found)
    assert result.counts == TestCounts(total=14, passed=3, failed=6, skipped=2, errors=3)
    assert places(result) == JEST
    assert messages(result)["syntax.test.js"] == "Unexpected token"


def test_only_a_report_says_which_tests_there_were() -> None:
    tests = reading("jest", report="jest-mixed.json").tests
    assert (len(tests), tests["sum.test.js::sum > later"], tests["sum.test.js::sum > adds"]) == (
        11,
        "skipped",
        "passed",
    )
    assert reading("jest", "jest-mixed.txt").tests == {}


def test_jest_with_projects_names_files_without_them() -> None:
    output = b"FAIL  web  src/a.test.js (5.1 s)\n  \xe2\x97\x8f x\n\n    boom\n\nTests:       1 failed, 1 total\n"
    assert [p.test for p in read("jest", output).problems] == ["src/a.test.js::x"]


VITEST = {
    "empty.test.ts": "empty.test.ts:0",
    "hook.test.ts": "hook.test.ts:2",
    "snap.test.ts": "snap.test.ts:0",
    "snap.test.ts::snap": "snap.test.ts:2",
    "snap.test.ts::new snap": "snap.test.ts:3",
    "sum.test.ts::sum > wrong": "sum.test.ts:6",
    "sum.test.ts::sum > deep > each 1 2": "sum.test.ts:11",
    "sum.test.ts::sum > times out": "sum.test.ts:14",
    "syntax.test.ts": "syntax.test.ts:3",
    "": "unhandled.test.ts:2",
}


def test_vitest_text_counts_errors_that_no_test_caught_and_not_what_a_test_printed() -> None:
    result = reading("vitest", "vitest-mixed.txt")
    assert result.counts == TestCounts(total=19, passed=6, failed=5, skipped=3, errors=5)
    assert places(result) == VITEST
    assert messages(result)["syntax.test.ts"] == "[PARSE_ERROR] Unexpected token"


def test_vitest_report_and_output_together_say_more_than_either() -> None:
    alone, both = (reading("vitest", name, "vitest-mixed.json") for name in ("", "vitest-mixed.txt"))
    assert alone.counts == both.counts == TestCounts(total=18, passed=6, failed=5, skipped=3, errors=4)
    assert places(both) == VITEST
    timeout = "sum.test.ts::sum > times out"
    assert (messages(alone)[timeout], messages(both)[timeout]) == (
        "Error: STACK_TRACE_ERROR",
        "Error: Test timed out in 50ms.",
    )
    assert messages(both)[""] == "Uncaught Exception: Error: late"


@pytest.mark.parametrize(
    ("parser", "line"),
    [
        ("jest", 'Jest: "global" coverage threshold for lines (90%) not met: 50%'),
        ("vitest", "ERROR: Coverage for lines (50%) does not meet global threshold (90%)"),
        ("nodetest", "Error: 50.00% line coverage does not meet threshold of 90%."),
    ],
)
def test_a_missed_coverage_threshold_is_why_a_green_run_is_red(parser: str, line: str) -> None:
    case = b'"assertionResults": [{"status": "passed", "title": "x"}]'
    green = b'{"numTotalTests": 1, "testResults": [{"name": "a", "status": "passed", ' + case + b"}]}"
    report = b'<testsuites><testcase name="x" classname="test"/></testsuites>' if parser == "nodetest" else green
    found = read(parser, line.encode() + b"\n", report)
    assert (found.summary, [p.rule for p in found.problems]) == ("1/1 passed", ["coverage"])


NODE_TEST = {
    "in hook file": ("test/hook.test.js:2", "hook broke"),
    "wrong": ("test/sum.test.js:8", "Expected values to be strictly equal: 2 !== 3"),
    "each 1": ("test/sum.test.js:14", "Expected values to be strictly deep-equal: + actual - expected"),
    "times out": ("test/sum.test.js:16", "test timed out after 50ms"),
    "child wrong # 1": ("test/sum.test.js:20", "multi"),
    "test/bad.test.js": (
        "test/bad.test.js:1",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'test/missing.js' imported from test/bad.test.js",
    ),
    "test/syntax.test.js": ("test/syntax.test.js:3", "SyntaxError: Unexpected token ';'"),
    "test/unhandled.test.js": ("test/unhandled.test.js:1", "test failed"),
}


@pytest.mark.parametrize("form", ["spec", "tap"])
def test_node_test_text_says_why_a_file_did_not_load_and_ignores_printed_words(form: str) -> None:
    result = reading("nodetest", f"nodetest-mixed-{form}.txt")
    assert result.counts == TestCounts(total=18, passed=6, failed=8, skipped=3, errors=1)
    found = {each.test.rpartition("::")[2]: (f"{each.file}:{each.line}", each.message) for each in result.problems}
    assert found.keys() == NODE_TEST.keys()
    for name, (place, said) in NODE_TEST.items():
        assert found[name][0] == place
        assert found[name][1].endswith(said)


@pytest.mark.parametrize("report", ["nodetest-mixed.xml", "nodetest-mixed-20.xml"])
def test_node_test_report_is_completed_by_the_output_and_a_todo_fails_nobody(report: str) -> None:
    alone, result = (reading("nodetest", output, report) for output in ("", "nodetest-mixed-spec.txt"))
    assert result.counts == alone.counts == TestCounts(total=17, passed=6, failed=8, skipped=3)
    assert result.tests["sum::todo that fails"] == "skipped"
    said = {each.test.rpartition("::")[2]: (f"{each.file}:{each.line}", each.message) for each in result.problems}
    assert said["test/syntax.test.js"] == NODE_TEST["test/syntax.test.js"]
    assert said["times out"][0] == "test/sum.test.js:16"
    assert said["in hook file"][1] == "Error: hook broke"


def test_both_forms_of_mocha_name_hooks_and_what_was_expected() -> None:
    text, report = reading("mocha", "mocha-mixed.txt"), reading("mocha", report="mocha-mixed.json")
    assert text.counts == report.counts == TestCounts(total=11, passed=2, failed=7, skipped=2)
    assert [p.message.removeprefix("Uncaught ") for p in text.problems] == [p.message for p in report.problems]
    assert text.problems[0].message == "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3"
    assert [p.line for p in text.problems] == [p.line for p in report.problems] == [4, 0, 0, 10, 7, 12, 13]
    assert report.tests["test/sum.js::sum wrong"] == "failed"
    assert not any("hook for" in name for name in report.tests)


def test_mocha_that_cannot_load_a_file_says_which() -> None:
    output = b"\n Exception during run: test/a.js:3\nconst a = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n"
    found = read("mocha", output)
    assert (found.understood, found.problems) == (
        False,
        (Problem("SyntaxError: Unexpected token ';'", "test/a.js", 3),),
    )


def test_playwright_counts_flaky_tests_as_passed_with_a_warning() -> None:
    result = reading("playwright", report="playwright-mixed.json")
    assert result.counts == TestCounts(total=12, passed=3, failed=7, skipped=2)
    wrong = "tests/sum.spec.ts::sum > wrong [one]"
    assert (places(result)[wrong], result.tests[wrong]) == ("tests/sum.spec.ts:4", "failed")
    [flaky] = [p for p in result.problems if p.severity == "warning"]
    assert (flaky.rule, flaky.test, result.tests[flaky.test]) == (
        "flaky",
        "tests/sum.spec.ts::sum > deep > flaky [one]",
        "passed",
    )
    assert messages(result)["tests/two.spec.ts::unexpected pass [two]"] == "Expected to fail, but passed."


@pytest.mark.parametrize("form", ["list", "line"])
def test_what_playwright_prints_counts_the_same_whatever_a_test_prints(form: str) -> None:
    result, report = (
        reading("playwright", f"playwright-{form}.txt"),
        reading("playwright", report="playwright-mixed.json"),
    )
    assert (result.counts, len(result.problems)) == (report.counts, len(report.problems))
    # The text also names the step in which a test failed.
    assert {(p.file, p.line, p.severity) for p in result.problems} == {
        (p.file, p.line, p.severity) for p in report.problems
    }


def test_playwright_with_a_file_that_does_not_load_ran_nothing() -> None:
    assert reading("playwright", report="playwright-syntax.json").counts == TestCounts(total=1, errors=1)
    assert reading("playwright", report="playwright-syntax.json").problems[0].line == 2


@pytest.mark.parametrize(
    ("parser", "output", "report"),
    [
        ("playwright", "", "playwright-none.json"),
        ("playwright", "playwright-none.txt", ""),
        ("mocha", "", "mocha-none.json"),
        ("tap", "tap-tape-none.txt", ""),
    ],
)
def test_no_tests_are_said_to_be_none(parser: str, output: str, report: str) -> None:
    result = reading(parser, output, report)
    assert (result.summary, result.counts, result.problems) == ("no tests collected", TestCounts(), ())


def test_tape_is_counted_by_its_assertions() -> None:
    result = reading("tap", "tap-tape.txt")
    assert result.counts == TestCounts(total=10, passed=3, failed=5, skipped=2)
    assert result.problems[0] == Problem("expected 3, actual 2", "sum.js", 5, test="a comment > is three")
    assert result.problems[2].message == "expected 2, actual 1"


def test_tap_that_ends_without_its_plan_is_an_error_with_its_cause() -> None:
    result = reading("tap", "tap-tape-crash.txt")
    assert result.counts == TestCounts(total=2, passed=1, errors=1)
    assert result.problems == (Problem("Error: boom", "boom.js", 1),)


def test_tap_of_node_tap_names_nested_tests_and_their_lines() -> None:
    result = reading("tap", "tap-node-tap.txt")
    assert result.counts == TestCounts(total=11, passed=4, failed=5, skipped=2)
    assert places(result) == {
        "test/sum.js > sum > wrong": "test/sum.js:4",
        "test/sum.js > sum > deep > should be equivalent": "test/sum.js:5",
        "test/sum.js > throws > boom": "test/sum.js:8",
        "test/sum.js > plan > test count(1) != plan(2)": "test/sum.js:11",
        "test/syntax.js": "test/syntax.js:1",
    }
    assert messages(result)["test/syntax.js"] == "SyntaxError: Unexpected token ';'"
    report = reading("tap", report="tap-node-tap-report.txt")
    assert report.counts == result.counts
    assert report.tests["test/sum.js > sum > adds"] == "passed"


def test_tap_that_is_given_up_says_why() -> None:
    result = reading("tap", "tap-node-tap-bail.txt")
    assert result.counts is not None and result.counts.passed == 0 and result.counts.errors
    assert result.problems == (Problem("Bail out! no server"),)


def test_tap_of_node_test_is_counted_by_its_leaves() -> None:
    result = reading("tap", "nodetest-mixed-tap.txt")
    assert "sum > deep > each 1" in places(result) and "sum > deep" not in places(result)
    assert result.counts == TestCounts(total=17, passed=6, failed=8, skipped=3)


def test_tap_of_perl_has_places_in_comments_and_todo_fails_nobody() -> None:
    result = reading("tap", "tap-testmore.txt")
    assert result.counts == TestCounts(total=5, passed=1, failed=2, skipped=2)
    assert result.problems == (
        Problem("got: '2', expected: '3'", "t/a.t", 3, test="wrong"),
        Problem("got: 'a', expected: 'b'", "t/a.t", 6, test="deep > inner"),
    )


@pytest.mark.parametrize("form", ["", "-verbose"])
def test_prove_sums_up_files_and_says_which_are_unsound(form: str) -> None:
    result = reading("tap", f"tap-prove{form}.txt")
    assert result.counts == TestCounts(total=8, passed=3, failed=2, skipped=1, errors=2)
    assert places(result) == {
        "t/a.t::wrong": "t/a.t:3",
        "t/a.t::inner": "t/a.t:6",
        "t/a.t::deep": "t/a.t:6",
        "t/b.t": "t/b.t:0",
        "t/syntax.t": "t/syntax.t:0",
    }
    assert messages(result)["t/b.t"] == "Bad plan. You planned 3 tests but ran 1."
    assert reading("tap", "tap-prove-green.txt").counts == TestCounts(total=1, passed=1)


@pytest.mark.parametrize(
    ("text", "counts", "said"),
    [
        ("1..3\nok 1\nok 2\n", TestCounts(total=3, passed=2, errors=1), "planned 3 tests, ran 2"),
        ("TAP version 14\n1..1\nok 1\nok 2\n", TestCounts(total=3, passed=2, errors=1), "planned 1 tests, ran 2"),
        ("1..2\nok 1 - a\nBail out!\n", TestCounts(total=2, passed=1, errors=1), "Bail out!"),
        ("TAP version 13\n1..2\nnot ok 1 - a # TODO b\nok 2 - c # SKIP d\n", TestCounts(total=2, skipped=2), ""),
        ("1..1\nok 1 - a {\n    1..2\n    ok 1 - b\n    not ok 2 - c\n}\n",
         TestCounts(total=2, passed=1, failed=1), "c"),
        ("1..1\n    not ok 1 - b\n    1..1\nok 1 - a # TODO\n", TestCounts(total=1, skipped=1), ""),
        ("1..0 # SKIP no network\n", TestCounts(), ""),
        ("TAP version 13\n1..1\nok 1 - a # not a directive \\# TODO\n", TestCounts(total=1, passed=1), ""),
    ],
)  # fmt: skip
def test_tap_as_its_specification_has_it(text: str, counts: TestCounts, said: str) -> None:
    result = read("tap", text.encode())
    assert (result.counts, "".join(p.message for p in result.problems)) == (counts, said)


def test_what_a_test_prints_is_no_point_where_the_producer_counts_itself() -> None:
    result = reading("tap", "tap-ava.txt")
    assert result.counts == TestCounts(total=16, passed=3, failed=11, skipped=2)


def test_ava_counts_uncaught_errors_and_has_places() -> None:
    result = reading("ava", "ava-mixed.txt")
    assert result.counts == TestCounts(total=10, passed=1, failed=4, skipped=2, errors=3)
    assert Problem("is three", "test.js", 3, test="test › wrong") in result.problems
    assert Problem("SyntaxError: Unexpected token ';'", "syntax.test.js", test="syntax.test.js") in result.problems
    assert not reading("ava", "ava-none.txt").understood


def test_bun_counts_a_file_that_does_not_load_once() -> None:
    text, report = reading("bun", "bun-mixed.txt"), reading("bun", "bun-mixed.txt", "bun-mixed.xml")
    assert text.counts == TestCounts(total=5, passed=1, failed=1, skipped=2, errors=1)
    assert report.counts == TestCounts(total=4, passed=1, failed=1, skipped=2)
    said = "expect(received).toBe(expected): Expected 3, Received 2"
    for result, name in ((text, "sum.test.ts::sum > wrong"), (report, "sum::wrong")):
        assert result.problems == (
            Problem(said, "sum.test.ts", 2, test=name),
            Problem("Unexpected ;", "syn.test.ts", 1),
        )


@pytest.mark.parametrize(("manager", "total"), [("npm", 4), ("pnpm", 4), ("bun", 4), ("y1", 2)])
def test_the_packages_of_a_workspace_are_read_each_by_its_own_runner(manager: str, total: int) -> None:
    result = reading("node", f"node-workspace-{manager}.txt")
    assert result.counts == TestCounts(total=total, passed=total // 2, failed=total // 2)
    assert {p.message for p in result.problems} == ({"bad", "Error: worse"} if total == 4 else {"bad"})


@pytest.mark.parametrize(
    "output", [b"", b"\n", b"Done in 0s 5ms\n", b'None of the selected packages has a "test" script\n']
)
def test_a_workspace_in_which_nothing_ran_collected_nothing(output: bytes) -> None:
    assert read("node", output).counts == TestCounts()
    assert read("node", output + b"> app@1.0.0 test\n> node check.js\n").counts is None


@pytest.mark.parametrize(
    "name",
    [
        ("jest", "jest-mixed.txt"),
        ("vitest", "vitest-mixed.txt"),
        ("nodetest", "nodetest-mixed-spec.txt"),
        ("mocha", "mocha-mixed.txt"),
        ("tap", "tap-tape.txt"),
        ("tap", "tap-node-tap.txt"),
        ("ava", "ava-mixed.txt"),
        ("bun", "bun-mixed.txt"),
        ("playwright", "playwright-list.txt"),
    ],
)
def test_an_opaque_script_is_read_as_the_runner_behind_it(name: tuple[str, str]) -> None:
    assert reading("node", name[1]) == reading(*name)


def test_biome_has_rules_and_lines_and_shows_warnings_as_such() -> None:
    result = reading("biome", "biome-check.txt")
    assert result.summary == "9 problems"
    assert (
        Problem(
            "Using == may be unsafe if you are relying on type coercion.",
            "src/a.js",
            2,
            "lint/suspicious/noDoubleEquals",
        )
        in result.problems
    )
    assert Problem("File would be reformatted", "src/a.js", rule="format") in result.problems
    assert [p.severity for p in result.problems].count("warning") == 2
    assert (reading("biome", "biome-lint.txt").summary, reading("biome", "biome-format.txt").summary) == (
        "4 problems",
        "6 problems",
    )
    assert read("biome", b"Checked 3 files in 8ms. No fixes applied.\n").summary == "clean"


def test_prettier_names_files_and_where_it_cannot_read_one() -> None:
    result = reading("prettier", "prettier-mixed.txt")
    assert [(p.file, p.line, p.message) for p in result.problems][-2:] == [
        ("src/a.js", 0, "File would be reformatted"),
        ("src/syntax.js", 1, "SyntaxError: Unexpected token"),
    ]
    assert (result.summary, reading("prettier", "prettier-clean.txt").summary) == ("5 problems", "clean")


def test_an_opaque_lint_script_is_read_as_all_linters_in_it() -> None:
    parts = ("eslint-stylish.txt", "biome-lint.txt", "prettier-mixed.txt", "tsc-errors.txt")
    result = read("nodelint", b"\n> app@1.0.0 lint\n> x\n\n" + b"\n".join(map(captured, parts)))
    assert {p.rule for p in result.problems} >= {"eqeqeq", "lint/suspicious/noDoubleEquals", "unformatted", "TS2322"}
    standard = b"standard: Use JavaScript Standard Style\n  src/a.js:3:1: Extra semicolon. (semi)\n"
    assert read("nodelint", standard).problems == (Problem("Extra semicolon.", "src/a.js", 3, "semi"),)
    assert read("nodelint", b"\n> app@1.0.0 lint\n> eslint .\n\n").summary == "clean"
    assert not read("nodelint", b"sh: 1: eslint: not found\n").understood


def test_a_report_that_is_none_is_not_clean() -> None:
    assert not read("eslint", b"", b"nothing of the kind").understood


def test_vitest_1_names_no_outermost_title() -> None:
    case = b'{"ancestorTitles": ["", "sum"], "title": "x", "status": "passed"}'
    report = b'{"numTotalTests": 1, "testResults": [{"name": "a.test.ts", "assertionResults": [' + case + b"]}]}"
    assert read("vitest", b"", report).tests == {"a.test.ts::sum > x": "passed"}
