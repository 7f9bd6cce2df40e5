"""A test whose assertions all are in tests that passed has not been taken away, wherever it is now."""

import textwrap

import pytest

from aigon.model.checks import TestResult
from aigon.proof.base_tests import TestFiles, find_kept_tests, find_same_functions

BASE = """
import total

def test_small():
    assert total(3, 4) == 7
    assert total(0, 1) == 1

def test_refuses():
    with pytest.raises(TypeError, match="no number"):
        total("a", 1)
"""
LOST = ("tests.test_a::test_small", "tests.test_a::test_refuses")


def kept(after: str, results: dict[str, TestResult], base: str = BASE, path: str = "tests/test_b.py") -> set[str]:
    files = TestFiles({"tests/test_a.py": textwrap.dedent(base)}, {path: textwrap.dedent(after)})
    owner = path.removesuffix(".py").replace("/", ".")
    now = {f"{owner}::{name}": result for name, result in results.items()}
    return {each.rpartition("::")[2] for each in find_kept_tests(LOST, now, files)}


def test_a_file_that_has_moved_is_kept_as_far_as_it_ran_and_passed() -> None:
    both: dict[str, TestResult] = {"test_small": "passed", "test_refuses": "passed"}
    assert kept(BASE, both) == {"test_small", "test_refuses"}
    assert kept(BASE, {"test_small": "passed", "test_refuses": "skipped"}) == {"test_small"}
    assert kept(BASE, {"test_small": "failed"}) == set()
    assert kept(BASE, both, path="tests/deeper/test_a.py") == {"test_small", "test_refuses"}


def test_a_text_that_python_cannot_write_in_an_f_string_is_compared_all_the_same() -> None:
    base = """
    import pytest

    @pytest.mark.parametrize("text", ["a\\\\b"])
    def test_keeps(text):
        assert keep(f"{text}!") == "kept"
    """
    passed: dict[str, TestResult] = {"test_keeps[a]": "passed"}
    names = ("tests.test_a::test_keeps[a]",)
    other = base.replace('"kept"', '"dropped"')
    for after, expected in ((base, set(names)), (other, set[str]())):
        files = TestFiles({"tests/test_a.py": textwrap.dedent(base)}, {"tests/test_b.py": textwrap.dedent(after)})
        now = {name.replace("test_a", "test_b"): result for name, result in zip(names, passed.values(), strict=True)}
        assert set(find_kept_tests(names, now, files)) == expected


@pytest.mark.parametrize(
    ("after", "names"),
    [
        (
            """
            @pytest.mark.parametrize(("a", "b", "c"), [(3, 4, 7), (0, 1, 1), (2, 2, 4)])
            def test_total(a, b, c):
                assert total(a, b) == c
            """,
            ["test_total[3-4-7]", "test_total[0-1-1]", "test_total[2-2-4]"],
        ),
        (
            """
            ROWS = [(3, 4, 7), pytest.param(0, 1, 1, id="one")]

            @pytest.mark.parametrize("a, b, c", ROWS)
            def test_total(a, b, c):
                result = total(a, b)
                assert result == c
            """,
            ["test_total[3-4-7]", "test_total[one]"],
        ),
        (
            """
            def test_rows():
                for row, result in [((3, 4), 7)]:
                    assert total(*row) == result
                for a, b, c in ((0, 1, 1), (5, 5, 10)):
                    assert total(a, b) == c
            """,
            ["test_rows"],
        ),
        (
            """
            class TestTotal(unittest.TestCase):
                def test_first(self):
                    self.assertEqual(total(3, 4), 7, "seven")

                def test_second(self):
                    self.assertEqual(total(0, 1), 1)
            """,
            [".TestTotal::test_first", ".TestTotal::test_second"],
        ),
    ],
)
def test_one_that_is_parametrised_looped_over_or_split_is_kept_if_all_of_it_passed(
    after: str, names: list[str]
) -> None:
    def run(ran: list[str], text: str = after) -> bool:
        files = TestFiles({"tests/test_a.py": BASE}, {"tests/test_a.py": textwrap.dedent(text)})
        now: dict[str, TestResult] = {
            f"tests.test_a{name}" if name.startswith(".") else f"tests.test_a::{name}": "passed" for name in ran
        }
        return LOST[0] in find_kept_tests(LOST, now, files)

    assert run(names)
    assert not run(names[:-1]) and not run(names, after.replace("0, 1", "0, 2"))


@pytest.mark.parametrize(
    "after",
    [
        "def test_small():\n    assert total(3, 4) == 7",
        "def test_small():\n    if False:\n        assert total(3, 4) == 7\n        assert total(0, 1) == 1",
        "def test_small():\n    return\n    assert total(3, 4) == 7\n    assert total(0, 1) == 1",
        "def test_small():\n    total = print\n    assert total(3, 4) == 7\n    assert total(0, 1) == 1",
        "def test_small():\n    for _ in things():\n        assert total(3, 4) == 7 and total(0, 1) == 1",
        "def test_small():\n    try:\n        assert total(3, 4) == 7 and total(0, 1) == 1\n    except: pass",
        "def test_small():\n    with suppress(AssertionError):\n        assert total(3, 4) == 7 and total(0, 1) == 1",
        "@pytest.mark.parametrize('a', [pytest.param(3, marks=skip)])\n"
        "def test_small(a):\n    assert total(a, 4) == 7 and total(0, 1) == 1",
        "def test_small():\n    def inner():\n        assert total(3, 4) == 7 and total(0, 1) == 1",
        "assert total(3, 4) == 7 and total(0, 1) == 1\ndef test_small():\n    pass",
        "def test_small(:",
    ],
)
def test_one_that_asks_for_less_is_not_kept(after: str) -> None:
    assert kept(after, {"test_small": "passed", "test_small[3]": "passed"}) == set()


def test_a_test_that_grows_beyond_measure_ends_the_reading() -> None:
    grows = "def test_small():\n    a = total(3, 4)\n" + "    a = total(a, a)\n" * 200 + "    assert a == 7\n"
    assert kept(grows, {"test_small": "passed"}) == set()
    assert kept(grows, {"test_small": "passed"}, base=grows) == {"test_small"}


JS = """
import {{ add }} from "{}/sum.js"; // where it is
describe("sums", () => {{
  test("adds", async () => {{ assert.strictEqual(add(2, 3), {}); }});
}});
"""
RUST = "#[test]\nfn adds() {{ assert_eq!(add(2, 3), {}); }}\n"
GO = 'package sum\n\nfunc TestAdds(t *testing.T) {{\n\tif Add(2, 3) != {} {{\n\t\tt.Fatal("no")\n\t}}\n}}\n'


@pytest.mark.parametrize(
    ("old", "new", "before", "same", "weaker", "lost", "now"),
    [
        (
            "web/sum.test.js",
            "web/test/sum.test.ts",
            JS.format(".", 5),
            JS.format("..", 5).replace("// where", "// here"),
            JS.format("..", 6),
            "web/sum.test.js::sums > adds",
            "web/test/sum.test.ts::adds",
        ),
        (
            "src/sum_test.rs",
            "tests/sum.rs",
            RUST.format(5),
            "use demo::add;\n\n" + RUST.format(5),
            RUST.format(6),
            "demo src/lib.rs::sum_test::adds",
            "demo tests/sum.rs::adds",
        ),
        ("a/sum_test.go", "b/sum_test.go", GO.format(5), GO.format(5), GO.format(6), "m/a::TestAdds", "m/b::TestAdds"),
    ],
)
def test_in_other_languages_a_test_that_moved_word_for_word_is_kept(
    old: str, new: str, before: str, same: str, weaker: str, lost: str, now: str
) -> None:
    def find(after: str, result: TestResult = "passed", now: str = now) -> frozenset[str]:
        return find_kept_tests([lost], {now: result}, TestFiles({old: before}, {new: after}))

    assert find(same) == find(same.replace("dds", "dds_two"), now=f"{now}_two") == {lost}
    assert find(weaker) == find(same, "skipped") == find("") == frozenset()


def test_a_function_with_other_parameters_is_the_same_if_all_of_them_passed() -> None:
    lost = ("a::test_x", "a::test_y[1]", "a::test_z[1]", "a::test_gone", "a.T::test_x")
    files = TestFiles({}, {})
    now: dict[str, TestResult] = {
        "a::test_x[1-yes]": "passed",
        "a::test_x[2-no]": "passed",
        "a::test_y": "passed",
        "a::test_z[1-yes]": "passed",
        "a::test_z[2-no]": "skipped",
        "a::test_gone_not[1]": "passed",
    }
    assert find_same_functions(lost, now, files) == {"a::test_x", "a::test_y[1]"}


def test_subtests_of_go_may_have_other_names_if_all_of_them_passed() -> None:
    lost = ("m/a::TestX/small", "m/a::TestY/small", "m/a::TestZ/small", "m/b::TestX/small")
    now: dict[str, TestResult] = {
        "m/a::TestX": "passed",
        "m/a::TestX/tiny": "passed",
        "m/a::TestY": "passed",
        "m/a::TestY/tiny": "skipped",
        "m/a::TestZoo/small": "passed",
    }
    assert find_same_functions(lost, now, TestFiles({}, {})) == {"m/a::TestX/small"}


def test_rows_of_a_titled_test_may_be_others_if_all_of_them_passed() -> None:
    text = """
    test.each([["one", 1], ["two", 2]])("doubles %s", (_, n) => { expect(double(n)).toBe(n + n); });
    test("GET /one", () => { expect(get("/one")).toBe(1); });
    """
    files = TestFiles({"web/a.test.js": text}, {"web/a.test.js": text.replace('"one"', '"the first"')})
    lost = ("web/a.test.js::doubles one", "web/a.test.js::GET /one")
    now: dict[str, TestResult] = {
        "web/a.test.js::doubles the first": "passed",
        "web/a.test.js::doubles two": "passed",
        "web/a.test.js::GET /two": "passed",
    }
    assert find_same_functions(lost, now, files) == {lost[0]}
    assert find_same_functions(lost, {**now, "web/a.test.js::doubles two": "failed"}, files) == frozenset()
