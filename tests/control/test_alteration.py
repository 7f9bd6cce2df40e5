"""What is changed in a test so that it has to fail, in each language."""

import re

import pytest

from aigon.control.alteration import Alteration, alter, write_files
from aigon.control.places import AlterableTest, Draw
from aigon.control.programs import alter_assertions, alter_command, alter_script, list_changed_functions
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
        (
            "calc.test.ts",
            JAVASCRIPT,
            ["add(2, 3)", "expect((ready, void 0)).toBeTruthy", ")(wanted)", "toBe(b)"],
            ["toBe(5)", "'a')", "[1, 2]"],
        ),
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
        ("'a, b', [(1, 2)]", "f(b) == a and f(a) == b", 1),
        ("'a, b', [(1, 2)]", "f(b) == 3 or f(a) == b", 0),
        ("'a, b', [(1, 2), ROW]", "f(a) == b", 0),
        ("'a, b', [(1, f(2))]", "f(a) == b", 0),
        ("'a, b', [(1, 2)], indirect=True", "f(a) == b", 0),
    ],
)
def test_what_parameters_expect_is_changed_in_their_table(table: str, asserts: str, altered_rows: int) -> None:
    text = f"@pytest.mark.parametrize({table})\ndef test_f(a, b):\n    assert {asserts}\n"
    alteration = alter({"test_calc.py": text.encode()}, "seed")
    (place,) = alteration.chosen.values()
    in_table = [edit for edit in place.edits if edit[0] < text.index("def ")]
    assert len(in_table) == altered_rows == (len(place.edits) if in_table else 0)


def find_altered_values(path: str, text: str) -> list[str]:
    """The values that stand elsewhere in the one test of a file."""
    (place,) = alter({path: text.encode()}, "seed").chosen.values()
    return [text[start:end] for start, end, _ in sorted(place.edits) if start < end]


PYTHON_TEST = "def test_f():\n    {}\n    assert {}\n"


@pytest.mark.parametrize(
    ("before", "asserts", "values"),
    [
        ("want = 42", "f(1) == want", ["42"]),
        ("want: int = 42; other = 3", "f(other) == want, f'not {want}'", ["42"]),
        ("a, want = 1, 42", "f(a) == pytest.approx(want)", ["42"]),
        ("for a, want in [(1, 2), (3, 4)]:\n     ", "f(a) == want", ["2", "4"]),
        ("for a, (b, want) in ((1, (2, 3)),):\n     ", "f(a, b) == want", ["3"]),
        ("for a, want in {'x': 1, 'y': 2}.items():\n     ", "f(a) == want", ["1", "2"]),
        ("for case in [{'a': 1, 'want': 2}]:\n     ", "f(case['a']) == case['want']", ["2"]),
        ("for case in [(1, 2)]:\n     ", "f(case[0]) == case[1]", ["2"]),
        ("for case in [Case(1, want=2)]:\n     ", "f(case.a) == case.want", ["2"]),
        ("cases = [(1, 2)]\n    for a, want in cases:\n     ", "f(a) == want", ["2"]),
        ("want = 42; run(want)", "f(1) == want", []),
        ("want = 42", "want == f(want)", []),
        ("want = 42; want += 1", "f(1) == want", []),
        ("want = compute(42)", "f(1) == want", []),
        ("for a, want in [(1, 2), ROW]:\n     ", "f(a) == want", []),
        ("for a, want in [make(1, 2)]:\n     ", "f(a) == want", []),
        ("for a, want in [*ROWS, (1, 2)]:\n     ", "f(a) == want", []),
        ("cases = [(1, 2)]; run(cases)\n    for a, want in cases:\n     ", "f(a) == want", []),
        ("for case in [(1, 2)]:\n     run(case)\n     ", "f(case[0]) == case[1]", []),
    ],
)
def test_an_expected_value_is_changed_where_it_is_defined(before: str, asserts: str, values: list[str]) -> None:
    text = PYTHON_TEST.format(before, asserts)
    found = find_altered_values("test_f.py", text.replace("     \n    ", "     "))
    assert found == values


DEFINED = """
test_f.py
WANT = «5»
def test_f():
    assert f() == WANT

test_f.py
WANT = 5
def test_f():
    assert f() == WANT
run(WANT)

f.test.js
it('x', () => { const want = «'b'»; expect(f('a')).toBe(want); });

f.test.js
test.each([[1, «2»], [3, «4»]])('f %i', (a, want) => { expect(f(a)).toBe(want); });

f.test.ts
it.each([{ a: 1, want: «2» }])('f $a', ({ a, want }) => { expect(f(a)).toBe(want); });

f.test.ts
it.for([[1, «2»]])('f', ([a, want]: number[]) => { expect(f(a)).toBe(want); });

f.test.js
it.each`a | want
${1} | ${«2»}
${3} | ${«4»}`('f', ({ a, want }) => expect(f(a)).toBe(want));

f.test.js
const cases = [[1, «2»]];
test.each(cases)('f', (a, want) => { expect(f(a)).toBe(want); });

f.test.js
for (const { a, want } of [{ a: 1, want: «2» }]) {
  it(`f ${a} ${want}`, () => expect(f(a)).toBe(want));
}

f.test.ts
([[1, «2»]] as const).forEach(([a, want]) => {
  it('f', () => { expect(f(a)).toBe(want); });
});

f.test.js
it('f', () => {
  for (const [a, want] of Object.entries({ x: «2» })) { assert.equal(f(a), want); }
});

f.test.js
it('f', () => { const want = 2; run(want); expect(f(1)).toBe(want); });

f.test.js
const want = 2;
it('f', () => expect(f(1)).toBe(want));
run(want);

f_test.go
package f
func TestF(t *testing.T) {
    want := «3»
    if got := f(1); got != want { t.Errorf("%d, not %d", got, want) }
}

f_test.go
package f
func TestF(t *testing.T) {
    tests := []struct{ a, want int }{{1, «2»}, {a: 3, want: «4»}}
    for _, tt := range tests {
        tt := tt
        if f(tt.a) != tt.want { t.Fatal(tt.want) }
    }
}

f_test.go
package f
func TestF(t *testing.T) {
    for a, want := range map[string]int{"x": «2»} {
        if got := f(a); got != want { t.Fatal(got) }
    }
}

f_test.go
package f
type row struct { a int; want int }
func TestF(t *testing.T) {
    for name, tt := range map[string]row{"x": {1, «2»}} {
        t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, f(tt.a)) })
    }
}

f_test.go
package f
func TestF(t *testing.T) {
    want := []int{«1», 2}
    if got := f(1); !reflect.DeepEqual(got, want) { t.Fatal(got) }
}

f_test.go
package f
func TestF(t *testing.T) {
    for _, tt := range []struct { a, want int }{{1, 2}} {
        if g(tt) != tt.want { t.Fatal(tt.want) }
    }
}

lib.rs
#[test]
fn f() { let want = Some(«5u8»); assert_eq!(f(1), want); }

lib.rs
#[test]
fn f() {
    for (a, want) in [(1, «2»), (3, -«4»)] { assert_eq!(f(a), want, "{want}"); }
}

lib.rs
#[test]
fn f() { for &(a, want) in vec![(1, «"x"»)].iter() { assert_eq!(f(a), want); } }

lib.rs
#[test]
fn f() {
    let cases = [Case { a: 1, want: «2» }];
    for case in &cases { assert_eq!(f(case.a), case.want); }
}

lib.rs
#[rstest]
#[case(1, «2»)]
#[case::more(3, -«4»)]
fn f(#[case] a: i8, #[case] want: i8) { assert_eq!(f(a), want); }

lib.rs
#[test]
fn f() { let want = 5; run(&want); «assert_eq»!(f(1), want); }
"""
"""Test files, each with its path; the values that are changed stand in marks."""


@pytest.mark.parametrize("marked", DEFINED.strip().split("\n\n"))
def test_an_expected_value_is_changed_where_it_is_defined_in_any_language(marked: str) -> None:
    path, _, text = marked.partition("\n")

    assert find_altered_values(path, re.sub("[«»]", "", text)) == re.findall("«(.*?)»", text)


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
    assert alter_script("check.py", b"import calc\n", "seed") == alter_script("check.sh", b"sh run.sh", "seed") == b""


def test_a_compiled_program_is_altered_where_it_decides_by_its_status() -> None:
    c = b"int main(int argc, char **argv)\n{\n  return check(2, 3) != 5;\n}\n"
    rust = b"fn f() { assert_eq!(1, 1); }\nfn main() {\n    assert_eq!(calc::multiply(7, 9), 63);\n}\n"

    assert b"check(2, 3) != 5" not in alter_script("check.c", c, "seed")
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


def test_what_gives_its_argument_back_does_not_hold_for_altered_numbers() -> None:
    altered = alter_assertions(b"assert(same(5) == 5);\n", "seed")
    first, second = re.findall(rb"\d+", altered)
    assert first != second


def test_the_lines_that_call_a_changed_function_are_altered_without_the_others() -> None:
    base, now = b"sub add { $_[0] }\n1;\n", b"sub add { $_[0] }\nsub times { 0 }\n1;\n"
    test = b"is(add(3), 3);\nmy $got = times(3, 4);\nis($got, 12);\nprint 'times(3, 4) is fine';\n"
    used = frozenset(list_changed_functions(base, now))

    assert used == {b"times"}
    altered = alter_script("check.pl", test, "seed", "last", used).split(b"\n")
    assert altered[1] != b"my $got = times(3, 4);"
    assert [*altered[:1], *altered[2:]] == [line for line in test.split(b"\n") if b"$got =" not in line]
    assert alter_script("check.pl", test, "seed", "last", frozenset()) == b""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"int times(int a, int b) { return 0; }", b"times"),
        (b"times() { echo 0; }", b"times"),
        (b"exports.times = (a, b) => a + b;", b"times"),
        (b"def times(a, b):\n    return 0\n", b"times"),
        (b"proc times {a b} { exit 0 }", b"times"),
        (b"while (true) { go(); }", b""),
    ],
)
def test_functions_are_found_in_any_language(text: bytes, name: bytes) -> None:
    assert b"".join(list_changed_functions(b"", text)) == name
    assert not [*list_changed_functions(text, text)]


def test_every_test_of_a_file_is_altered_where_it_runs_as_a_whole() -> None:
    unittest = b"class T(TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
    helped = b"import calc\n\ncheck(calc.add(3, 4), 7)\n"
    required = b"const assert = require('assert');\ncheck(add(3, 4), 7);\n"

    assert b"f(1), 2)" not in alter_script("test_a.py", unittest, "seed")
    assert b"add(3, 4), 7)" not in alter_script("accept.py", helped, "seed")
    assert alter_script("accept.js", required, "seed").startswith(b"const assert = require('assert');\n")
    assert alter_script("test_a.py", unittest, "seed", "last", frozenset([b"g"])) == b""


def test_the_last_value_is_altered_for_what_may_end_before_it() -> None:
    code = b"import calc\nassert calc.f(1) == 1\nassert calc.f(2) == 4\n"
    command = 'python3 -c "import calc; assert calc.f(1) == 1; assert calc.f(2) == 4"'
    for seed in ("a", "b", "c", "d"):
        assert alter_script("check.py", code, seed, "last").startswith(code[:-2])
        assert "calc.f(1) == 1;" in alter_command(command, seed, "last")


@pytest.mark.parametrize(
    ("path", "code", "reworded"),
    [
        ("check.py", 'assert f(2) == 4, "no"\n', "((f(({} + {})) == ({} + {}))) or {{}}['_{}']\n"),
        ("check.py", "if a: assert b is 'x'\n", "if a: ((b is 'x')) or {{}}['_{}']\n"),
        (
            "check.js",
            "assert.equal(f('a'), 'b', 'no');\n",
            "{{ if (!((f('a')) == ('' + 'b'))) throw new Error('_{}'); }}\n",
        ),
        ("check.js", "expect(f(a)).toBe(4);\n", "{{ if (!((f(a)) === ({} + {}))) throw new Error('_{}'); }}\n"),
        ("check.js", "assert(f(), 'no');\n", "{{ if (!((f()))) throw new Error('_{}'); }}\n"),
        ("check.js", "expect(f()).toBeNull();\n", "{{ if (!((f()) === null)) throw new Error('_{}'); }}\n"),
        ("test_a.py", "self.assertTrue(f(), 'no')\n", "((f())) or {{}}['_{}']\n"),
        ("test_a.py", "self.assertFalse(f())\n", "(not (f())) or {{}}['_{}']\n"),
        ("test_a.py", "self.assertIsNone(f())\n", "(None is (f())) or {{}}['_{}']\n"),
        ("test_a.py", "self.assertLess(f(), 4)\n", "((f()) < (({} + {}))) or {{}}['_{}']\n"),
        (
            "check.rs",
            'fn main() {{ assert_eq!(f(2), 4, "no"); }}\n',
            'fn main() {{ if !((f(2)) == (4)) {{ panic!("_{}") }}; }}\n',
        ),
    ],
)
def test_an_assertion_in_other_words_asks_no_library(path: str, code: str, reworded: str) -> None:
    pattern = re.escape(reworded.format(*["?"] * 5)).replace("\\?", r"(-?\w+)")
    found = re.fullmatch(pattern, alter_script(path, code.format().encode(), "seed", "same").decode())

    assert found is not None
    numbers = [int(each) for each in found.groups() if each.strip("-").isdecimal()]
    assert [a + b for a, b in zip(numbers[::2], numbers[1::2], strict=True)] in ([], [4], [2, 4])


def test_what_something_catches_or_nothing_compares_keeps_its_words() -> None:
    caught = b"try:\n    assert f(2) == 4\nexcept AssertionError:\n    pass\n"
    unittest = b"class T(TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2, 'no')\n"
    javascript = b"try { assert.equal(f(), 4); } catch {}\nexpect(f()).toEqual([g]);\nexpect(g).not.toBe(1);\n"

    assert alter_script("check.py", caught, "seed", "same") == b""
    assert alter_script("check.js", javascript, "seed", "same") == b""
    assert alter_script("check.sh", b"[ 1 = 1 ]\n", "seed", "same") == b""
    assert b"((f((" in alter_script("test_a.py", unittest, "seed", "same")


def reword(path: str, text: str) -> str:
    """The tests of a file with all assertions in other words."""
    alteration = alter({path: text.encode()}, "seed")
    edits = [(test.path, tuple({edit for place in test.places for edit in place.same})) for test in alteration.tests]
    return dict(write_files(alteration.sources, edits))[path].decode()


def test_a_failure_in_go_is_a_panic_in_other_words() -> None:
    body = """
    if got := f(1); got != 2 { t.Errorf("%d", got) }
    t.Run("b", func(tt *testing.T) { switch f(3) { case 4: default: tt.Fatal() } })
    assert.Equal(t, 12, f(3))
    log.Fatal()
"""
    written = reword("f_test.go", f"package f\n\nfunc TestF(t *testing.T) {{{body}}}\n")
    panic = re.escape('panic("') + r"_\w+" + re.escape('")')

    assert re.search(rf"got != 2 {{ {panic}; t.Errorf", written)
    assert re.search(rf"default: {panic}; tt.Fatal", written)
    assert re.search(rf"if \(f\(3\)\) != 12 {{ {panic} }}\n    log.Fatal", written)


def test_what_an_example_of_go_prints_is_altered() -> None:
    text = b"package f\n\nfunc ExampleF() {\n\t// Not the output: 3\n\tfmt.Println(F())\n\t// Output:\n\t// 12\n}\n"
    alteration = alter({"f_test.go": text, "g_test.go": text.replace(b"Output", b"It is")}, "seed")

    assert [test.name for test in alteration.tests if test in alteration.chosen] == ["ExampleF"]
    (written,) = dict(
        write_files(alteration.sources, [(t.path, p.edits) for t, p in alteration.chosen.items()])
    ).values()
    assert re.search(rb"t: 3\n.*\n\t// Output:\n\t// \d+\n}", written) and b"12" not in written


def test_tests_of_go_without_ids_are_altered_each() -> None:
    written = alter_script("calc_test.go", GO.encode(), "seed")
    assert b"!= 5" not in written and b"Add(2, 3)" in written
    assert b"panic(" in alter_script("calc_test.go", GO.encode(), "seed", "same")
    assert alter_script("calc.go", b"package calc\n", "seed") == b""


@pytest.mark.parametrize("text", ["14630", "Hello, Ada!", "größer als 10"])
def test_another_text_has_the_shape_of_the_expected_one(text: str) -> None:
    other = Draw("seed").alter_text(text)
    shapes = [re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "0", each))) for each in (text, other)]

    assert other.casefold() != text.casefold() and shapes[0] == shapes[1]
    assert altered("test_a.py", f'def test_a():\n    assert f(1) == "{text}"\n')[0].count('"') == 2


@pytest.mark.parametrize("text", ["", "a", "42", "a{b}cdefg", r"C:\new", "100 %"])
def test_a_short_text_and_one_with_marks_get_a_word(text: str) -> None:
    assert re.fullmatch(re.escape(text) + r"_[a-z]{5}", Draw("seed").alter_text(text))


def test_what_a_list_holds_is_compared_by_operators_alone() -> None:
    test = "test('a', () => { expect(f()).toEqual([1, { b: -2 }]); });\n"
    for path, typed in (("a.test.js", "a, b"), ("a.test.ts", "a: any, b: any")):
        written = reword(path, test)
        assert f"(function q({typed}) {{ if (a === b" in written and "})((f()), ([1, { b: -2 }]))" in written
        assert "expect" not in written


def test_an_id_means_a_title_only_where_words_tell_so() -> None:
    loops = b"for (const one of all) {\n  test(`${one} works`, () => { expect(f(one)).toBe(1); });\n}\n"
    titled = b"test('a', () => { expect(f(1)).toBe(1); });\ntest('is %i', () => { expect(f(1)).toBe(1); });\n"
    alteration = alter({"test/loops.test.ts": loops, "test/titled.test.ts": titled}, "seed")
    ids = ("test/loops.test.ts::f > data", "test/loops.test.ts::a", "test/titled.test.ts::f > a", "f is 5", "banana")

    assert [*alteration.find_altered(ids)] == ["test/titled.test.ts::f > a", "f is 5"]
