"""Every language comes to one kind of tree, whose nodes say where they stand."""

import pytest

from aigon.syntax import Node, Source, language_of, parse

PYTHON = '''import calc  # why

@pytest.mark.parametrize("a", [1, 2])
def test_é(a):
    """Doc."""
    assert calc.add(a, 0x10) == "é" + f"{a}" and not a >= -2.5
'''
JAVASCRIPT = "// é\ntest('adds', () => { expect(calc.add(2, 3)).toBe(5); });\n"
TYPESCRIPT = "it('adds', () => { const n: number = <number>5; expect(add(2)).toEqual(n); });\n"
RUST = "#[test]\nfn adds() { /* é */ assert_eq!(add(2, 3), 5); }\n"
GO = 'package calc\nfunc TestAdd(t *testing.T) { if got := Add(2, 3); got != 5 { t.Errorf("é %d", got) } }\n'


def read(path: str, text: str) -> Source:
    source = parse(path, text)
    assert source is not None
    return source


def kinds(source: Source) -> list[tuple[str, str]]:
    return [(node.kind, source.text(node)) for node in source.root.walk()]


def is_nested(node: Node) -> bool:
    inside = all(node.start <= child.start <= child.end <= node.end for child in node.children)
    ordered = all(a.start <= b.start for a, b in zip(node.children, node.children[1:], strict=False))
    return inside and ordered and all(map(is_nested, node.children))


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("t.py", PYTHON, ("Constant", '"é"')),
        ("t.py", PYTHON, (">=", ">=")),
        ("t.py", PYTHON, ("comment", "# why")),
        ("t.js", JAVASCRIPT, ("number", "5")),
        ("t.ts", TYPESCRIPT, ("identifier", "n")),
        ("t.tsx", "const a = <b>5</b>;", ("jsx_text", "5")),
        ("t.rs", RUST, ("integer_literal", "5")),
        ("t.go", GO, ("int_literal", "5")),
    ],
)
def test_nodes_carry_their_text(path: str, text: str, wanted: tuple[str, str]) -> None:
    source = read(path, text)

    assert wanted in kinds(source)
    assert is_nested(source.root)
    assert not source.errors


def test_python_nodes_have_lines_and_roles() -> None:
    source = read("t.py", PYTHON)
    function = next(node for node in source.root.walk() if node.kind == "FunctionDef")

    assert (function.line, source.last_line(function)) == (3, 6)
    assert source.text(function).startswith("@pytest")
    assert [source.text(node) for node in function.list("decorator_list")] == ['pytest.mark.parametrize("a", [1, 2])']
    arguments = function.get("args")
    assert arguments and source.text(arguments) == "a"


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_python_spans_hold_with_other_line_ends_and_a_mark(ending: str, mark: str) -> None:
    source = read("t.py", mark + PYTHON.replace("\n", ending))

    assert ("Constant", "0x10") in kinds(source)
    assert not source.errors


def test_a_name_is_no_node_of_the_kind_that_it_spells() -> None:
    source = parse("a.py", "from ast import Expr, Return\n\n\ndef f(Call): return Call\n")
    assert source is not None
    kinds = [node.kind for node in source.root.walk()]
    assert (kinds.count("Expr"), kinds.count("Return"), kinds.count("Call")) == (0, 1, 0)


def test_comments_are_found_in_every_language() -> None:
    files = {"t.py": PYTHON, "t.js": JAVASCRIPT, "t.rs": RUST, "t.go": "package a // é"}

    sources = map(read, files, files.values())
    found = [[s.text(node) for node in s.root.walk() if "comment" in node.kind] for s in sources]

    assert found == [["# why"], ["// é"], ["/* é */"], ["// é"]]


def test_what_cannot_be_read_is_said() -> None:
    assert read("t.py", "def f(:\n").errors[0].startswith("t.py:1: ")
    assert read("t.js", "let a = 1;\nlet = = 5 }\n").errors[0].startswith("t.js:2: ")
    assert "nodes are too deep" in read("t.py", f"a = {'-' * 2000}1").errors[0] or read("t.py", "(" * 900).errors
    assert "nodes are too deep" in read("t.js", f"a = {'[' * 2000}1{']' * 2000}").errors[0]
    assert "longer than" in read("t.py", "a = 1\n" * 300_000).errors[0]
    assert (language_of("a.cpp"), parse("a.cpp", "int a;")) == (None, None)


@pytest.mark.parametrize("path", ["a.go", "a.js", "a.ts", "a.tsx"])
def test_a_parse_ends_before_it_takes_the_square_of_a_file(path: str) -> None:
    word = "->" if path != "a.go" else "<!--"

    source = read(path, word * (8192 // len(word)))

    assert (source.root.kind, source.root.children) == ("unread", ())
    assert source.errors[0].startswith(f"{path}: this is too laborious to read as ")


def test_large_source_is_read_as_a_whole() -> None:
    function = 'func f%d(a int) string { if a > 1 && a < 9 { return s[a]("é", map[string]int{"x": 1}) }; return "" }\n'
    text = "package p\n" + "".join(function % number for number in range(5000))
    assert (read("a.go", text).errors, len(read("a.go", text).root.children)) == ((), 5_001)
