"""What is changed in a test so that it has to fail, in each language."""

import pytest

from aigon.control.alteration import Alteration, alter, write_files
from aigon.control.commands import alter_assertions, alter_command, alter_script
from aigon.control.places import AlterableTest
from aigon.syntax import apply_edits, parse

PYTHON = """
import pytest

def test_compares():
    assert calc.multiply(2, 3) == 6

@pytest.mark.parametrize(("a", "product"), [(1, 2)])
def test_takes(a, product):
    assert calc.double(a) == product

def test_is_given(wanted):
    assert calc.double(1) == wanted

def test_refuses():
    with pytest.raises(ValueError):
        calc.double("a")
        assert unreached == 1

def test_holds():
    assert calc.is_ready

def test_close():
    assert calc.third(1) == pytest.approx(0.3333)

def test_branch(case):
    if case:
        assert calc.f() == 1
    assert calc.g() == 2

def test_calls_only():
    calc.run()

class TestMore:
    def test_equal(self):
        self.assertEqual(calc.f(), {"a": 1})

    def test_none(self):
        assert calc.f() is None
"""
JAVASCRIPT = """
describe('calc', () => {
  it('adds', async () => { await expect(add(2, 3)).resolves.toBe(5); });
  it('is ready', () => { expect(ready).toBeTruthy(); });
  it('takes names', () => { expect(f(1)).toEqual(wanted); });
  it('asserts', () => { assert.strictEqual(f(1), 'a'); });
  test.each([[1, 2]])('doubles %i', (a, b) => expect(double(a)).toBe(b));
});
"""
RUST = """
#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(add(2, 3), Some(5u8)); }
    #[test]
    fn is_ready() { assert!(ready(), "not {}", 1); }
    #[test]
    #[should_panic]
    fn panics() { f(); }
    #[test]
    fn compares() { assert_eq!(f(1), g(2)); }
    fn helps() { assert_eq!(1, 2); }
}
"""
GO = """package calc

func TestAdd(t *testing.T) {
	if got := Add(2, 3); got != 5 { t.Errorf("got %d", got) }
}

func TestTable(t *testing.T) {
	for _, tt := range tests { t.Run(tt.name, func(t *testing.T) { if f(tt.a) != tt.want { t.Fatal("no") } }) }
}

func TestEqual(t *testing.T) { assert.Equal(t, "a", f(1)) }
"""


def altered(path: str, text: str) -> tuple[str, Alteration]:
    alteration = alter({path: text.encode()}, "seed")
    edits = ((test.path, place.edits) for test, place in alteration.chosen.items())
    (written,) = dict(write_files(alteration.sources, edits)).values()
    source = parse(path, written)
    assert source and not source.errors
    return written.decode(), alteration


@pytest.mark.parametrize(
    ("path", "text", "kept", "gone"),
    [
        (
            "test_calc.py",
            PYTHON,
            ["multiply(2, 3)", "unreached == 1", "calc.f() == 1", "[(1, ", "== product"],
            ["== 6", "ValueError", "(1, 2)"],
        ),
        (
            "test_calc.py",
            PYTHON,
            ["not (calc.is_ready)", "is not None", ")(wanted)"],
            ["0.3333", '{"a": 1}', "g() == 2"],
        ),
        ("calc.test.ts", JAVASCRIPT, ["add(2, 3)", "not.toBeTruthy", ")(wanted)", ")(b)"], ["toBe(5)", "'a')"]),
        ("src/lib.rs", RUST, ["add(2, 3)", "!(ready())", "assert_ne!(f(1), g(2))", "1, 2)"], ["5u8", "should_panic"]),
        ("calc_test.go", GO, ["Add(2, 3)", "!(f(tt.a) != tt.want)"], ["!= 5", '"a"']),
    ],
)
def test_an_expected_value_is_changed_and_nothing_else(path: str, text: str, kept: list[str], gone: list[str]) -> None:
    written, _ = altered(path, text)

    assert [part for part in kept if part not in written] == []
    assert [part for part in gone if part in written] == []
    assert written.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("path", "text"), [("a_test.go", GO), ("a.js", JAVASCRIPT), ("a.rs", RUST), ("test_a.py", PYTHON)]
)
def test_a_test_can_be_broken_at_any_place(path: str, text: str) -> None:
    source = parse(path, text)
    assert source
    for test in alter({path: text.encode()}, "seed").tests:
        for edit in (test.breaking, *(place.breaking for place in test.places)):
            broken = parse(path, apply_edits(source.data, [edit]))
            assert broken and not broken.errors


@pytest.mark.parametrize(
    ("table", "asserts", "altered_rows"),
    [
        ("'a, b', [(1, 2), (3, -4)]", "f(a) == b", 2),
        ("'a, b', [pytest.param(1, 2, id='x'), (3, 'y')]", "b == f(a) and a", 2),
        ("('a', 'b'), ((1, (2, 3)),)", "f(a) == b", 1),
        ("'a, b', [(1, 2)]", "f(a) == b and f(b) == a", 0),
        ("'a, b', [(1, 2), ROW]", "f(a) == b", 0),
        ("'a, b', [(1, f(2))]", "f(a) == b", 0),
        ("'a, b', [(1, 2)], indirect=True", "f(a) == b", 0),
    ],
)
def test_what_a_table_expects_is_changed_in_the_table(table: str, asserts: str, altered_rows: int) -> None:
    text = f"@pytest.mark.parametrize({table})\ndef test_f(a, b):\n    assert {asserts}\n"
    alteration = alter({"test_calc.py": text.encode()}, "seed")
    (place,) = alteration.chosen.values()
    in_table = [edit for edit in place.edits if edit[0] < text.index("def ")]
    assert len(in_table) == altered_rows == (len(place.edits) if in_table else 0)


def test_another_seed_draws_another_value() -> None:
    texts = {apply_edits(PYTHON.encode(), edits(seed)) for seed in ("a", "b", "c")}

    assert len(texts) == 3


def test_large_numbers_are_changed_too() -> None:
    written, _ = altered("test_calc.py", "def test_huge():\n    assert calc.huge() == 1e300\n")

    assert "== -1e+300" in written


def edits(seed: str) -> tuple[tuple[int, int, str], ...]:
    alteration = alter({"test_calc.py": PYTHON.encode()}, seed)
    (test,) = [test for test in alteration.chosen if test.name == "test_compares"]
    return alteration.chosen[test].edits


def names(found: tuple[AlterableTest, ...]) -> list[str]:
    return [f"{test.path} {test.name}" for test in found]


@pytest.mark.parametrize(
    ("test", "meant"),
    [
        (
            "tests.test_calc::test_compares",
            ["tests/test_calc.py test_compares", "tests/other/test_calc.py test_compares"],
        ),
        ("tests.test_calc::test_takes[1-2]", ["tests/test_calc.py test_takes", "tests/other/test_calc.py test_takes"]),
        (
            "tests.test_calc.TestMore::test_equal",
            ["tests/test_calc.py test_equal", "tests/other/test_calc.py test_equal"],
        ),
        ("tests.other.test_calc::test_compares", ["tests/other/test_calc.py test_compares"]),
        ("tests.test_calc::test_calls_only", []),
        ("web/calc.test.ts::calc adds", ["web/calc.test.ts adds"]),
        ("web/calc.test.ts::calc doubles 1", ["web/calc.test.ts doubles "]),
        ("calc src/lib.rs::tests::adds", ["src/lib.rs adds"]),
        ("example.com/calc::TestTable/small", ["calc_test.go TestTable"]),
        ("nothing::known", []),
    ],
)
def test_ids_lead_to_the_tests_that_they_mean(test: str, meant: list[str]) -> None:
    files = {
        "tests/test_calc.py": PYTHON,
        "tests/other/test_calc.py": PYTHON,
        "web/calc.test.ts": JAVASCRIPT,
        "src/lib.rs": RUST,
        "calc_test.go": GO,
    }
    alteration = alter({path: text.encode() for path, text in files.items()}, "seed")

    found = alteration.find_altered([test])

    assert [names(each) for each in found.values()] == ([meant] if meant else [])


@pytest.mark.parametrize(
    ("script", "part"),
    [
        ("""node -e "require('assert').strictEqual(require('./calc.js').multiply(7, 9), 63)\"""", "multiply(7, 9), "),
        ("python3 -c 'import calc; assert calc.double(2) == 4'", "calc.double(2) == "),
        ('python3 -c "import calc; assert calc.f(\\"a\\") == 4"', 'calc.f("a") == '),
        ('test "$(python3 -m calc 2 3)" = "6"', '"$(python3 -m calc 2 3)" = 6_'),
        ("[ $(wc -l < a) -eq 3 ]", "-eq "),
        ("./calc | grep -q '^6'", "grep -q ^6_"),
    ],
)
def test_commands_get_another_expected_value(script: str, part: str) -> None:
    changed = alter_command(script, "seed")

    assert changed != script
    assert part in changed.replace("'^6", "^6")


@pytest.mark.parametrize(
    "script",
    [
        "python3 -m pytest -q",
        "test -f a.txt",
        "! grep -q 'x' a.txt",
        "grep -qv 'x' a.txt",
        "test a = b || true",
        "python3 -c 'assert f(' && true",
        'grep -q "a|b" x',
        "test 3 = 3; true",
    ],
)
def test_commands_that_need_not_fail_are_left_alone(script: str) -> None:
    assert alter_command(script, "seed") == ""


def test_a_script_gets_another_expected_value_where_it_surely_comes() -> None:
    python = b"import calc\nif calc.big:\n    assert calc.f(1) == 1\nassert calc.f(2) == 4\n"
    javascript = b"const assert = require('assert');\nassert.strictEqual(require('./calc').f(2), 4);\n"

    assert alter_script("check.py", python, "seed").startswith(python[:-2])
    assert alter_script("check.py", python, "seed") != python
    assert b"f(2), 4)" not in alter_script("check.js", javascript, "seed")
    assert alter_script("check.py", b"import calc\n", "seed") == alter_script("check.sh", b"test 1 = 1", "seed") == b""


def test_a_compiled_program_is_altered_where_it_decides_by_its_status() -> None:
    c = b"int main(int argc, char **argv)\n{\n  return check(2, 3) != 5;\n}\n"
    rust = b"fn f() { assert_eq!(1, 1); }\nfn main() {\n    assert_eq!(calc::multiply(7, 9), 63);\n}\n"

    assert alter_script("check.c", c, "seed") == c.replace(b"{\n", b"{ return 97;\n")
    assert b"fn f() { assert_eq!(1, 1); }" in alter_script("accept.rs", rust, "seed")
    assert b"multiply(7, 9), 63)" not in alter_script("accept.rs", rust, "seed")
    assert alter_script("calc.c", b"int add(int a) { return a; }\n", "seed") == b""
    assert alter_script("calc.rs", b"fn f() { assert_eq!(f(), 1); }\n", "seed") == b""


def test_tests_in_any_language_get_other_values_where_they_assert() -> None:
    shell = b'x=1\n[ "$(add 3 4)" = 7 ] || exit 1\n'
    perl = b"use Test::More tests => 2;\nis(greet(), 'Hello', 'greets');\n"
    java = b'import org.junit.Test;\nassertEquals("1.5", show(half(3)));\nint n = 4;\n'

    altered = [alter_assertions(text, "seed").split(b"\n") for text in (shell, perl, java)]
    assert altered[0][0] == b"x=1" and b"add 3 4" not in altered[0][1]
    assert altered[1][0] == b"use Test::More tests => 2;" and b"'Hello_" in altered[1][1]
    assert b"half(3)" not in altered[2][1] and altered[2][::2] == [b"import org.junit.Test;", b"int n = 4;"]
    assert alter_assertions(b"int n = 4;\n", "seed") == b""
    assert alter_assertions(b"test -f a && chmod 500 out; sleep 3 || ./run --port 80\n", "seed") == b""


def test_an_id_means_a_title_only_where_words_tell_so() -> None:
    loops = b"for (const one of all) {\n  test(`${one} works`, () => { expect(f(one)).toBe(1); });\n}\n"
    titled = b"test('a', () => { expect(f(1)).toBe(1); });\ntest('is %i', () => { expect(f(1)).toBe(1); });\n"
    alteration = alter({"test/loops.test.ts": loops, "test/titled.test.ts": titled}, "seed")
    ids = ("test/loops.test.ts::f > data", "test/loops.test.ts::a", "test/titled.test.ts::f > a", "f is 5", "banana")

    assert [*alteration.find_altered(ids)] == ["test/titled.test.ts::f > a", "f is 5"]
