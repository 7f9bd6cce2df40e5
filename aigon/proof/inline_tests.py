"""Tests inside product files and documents, as keys of their file: the base's are laid over a changed version of it.

Rust: items under `#[cfg(test)]`, test functions, examples in documentation. Python: docstrings with examples, test
functions and cases, and what `if __name__ == "__main__"` asserts. JavaScript and TypeScript: blocks under
`if (import.meta.vitest)`, what a main module asserts, and tests at the top level. Documents: `>>>` examples.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from aigon.syntax import Node, Source, language_of, parse
from aigon.text.patterns import compile_re

_DOCUMENTS = (".md", ".rst", ".txt", ".adoc")
_SESSION = compile_re(r"(?m)^[ \t]*>>> .*\n(?:[ \t]*(?!>>>|```)\S.*(?:\n|\Z))*")
"""One example of a session, with what it prints."""
_IN_TEST = compile_re(r"#\[cfg\((?!.*\bnot\(\s*test\b).*\btest\b|#\[(?:\w+::)*\w*test\w*\b", re.DOTALL)
_MODULE = compile_re(rb"\bmod\s+(\w+)\s*\{")
_TESTS_FUNCTION = compile_re(r"#\[(?:\w+::)*\w*test\w*\b")
_RUST_ITEM = compile_re(r"(?:function|struct|enum|trait|mod|const|static|type|macro)_\w+|impl_item|use_declaration")
_MAIN = compile_re(r"__name__\s*==\s*['\"]__main__|require\.main\s*===?\s*module|import\.meta\.(?:main|vitest)")
_ASSERTS = compile_re(r"\bassert|\bexpect\s*\(|\bunittest\b|\bdoctest\b|\bpytest\b|\bvitest\b|\braise\b|\bthrow\b")
_TEST_CALL = compile_re(r"(?:Deno\.)?(?:test|it|describe|suite)(?:\.\w+)*\s*\(\s*(['\"`][^'\"`\n]*['\"`])")
_TEST_CASE = compile_re(r"class\s+Test|class[^:]*TestCase|(?:async\s+)?def\s+test_")


_EXAMPLE = " example"
"""How keys of examples in documentation end."""


class _Test(Struct, frozen=True):
    """One inline test from byte `start` to `end`. `may_be_new`: it changes no other test."""

    start: int
    end: int
    may_be_new: bool = True


class _Tests(Struct, frozen=True):
    """The tests of a file by key, and by key where a lost one goes: before that byte."""

    data: bytes
    by_key: Mapping[str, _Test]
    places: Mapping[str, int]

    def text(self, key: str) -> bytes:
        test = self.by_key[key]
        return self.data[test.start : test.end]


def restore_inline_tests(path: str, before: str | None, after: str | None) -> str | None:
    """Return `after` with the inline tests of `before`; None if it has them, or cannot hold any."""
    if not before or after is None or before == after or (old := _find_tests(path, before)) is None or not old.by_key:
        return None
    new = _find_tests(path, after)
    if new is None:
        return before  # nobody can say what is in it
    edits = [
        (test.start, test.end, old.text(key) + _put_beside(key, new.text(key)) if key in old.by_key else b"")
        for key, test in new.by_key.items()
        if (key in old.by_key and old.text(key) != new.text(key)) or (key not in old.by_key and not test.may_be_new)
    ]
    for key in old.by_key:
        if key not in new.by_key and (place := new.places.get(key, new.places.get(_owner(key)))) is not None:
            edits.append((place, place, _fit(old.text(key), new.data, place, key)))
    if not edits:
        return None
    data = new.data
    for start, end, text in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        data = data[:start] + text + data[end:]
    return data.decode("utf-8", "replace")


def _put_beside(key: str, group: bytes) -> bytes:
    """Return a changed group of tests as it follows the base's: new tests in it stay, in a scope of their own."""
    if "::mod_item " in key:
        return b"\n\n" + _MODULE.sub(rb"mod beside_\1 {", group, count=1)
    return b"\n" + group if key.startswith("block ") else b""


def _fit(test: bytes, data: bytes, place: int, key: str) -> bytes:
    """Return a test as it has to be written before a byte: on lines of its own, indented as what follows."""
    line = data[data.rfind(b"\n", 0, place) + 1 : place]
    return test + b"\n" + line if key.endswith(_EXAMPLE) and not line.strip() else b"\n" + test + b"\n"


def _owner(key: str) -> str:
    """Return the key of the place around a test: a module of Rust, or the file."""
    return key.rpartition("::")[0]


def _find_tests(path: str, text: str) -> _Tests | None:
    """Return the tests; None for a source that cannot be read."""
    if path.endswith(_DOCUMENTS):
        return _find_sessions(text)
    if language_of(path) is None or (source := parse(path, text)) is None:
        return _Tests(b"", {}, {})
    if source.root.kind == "unread":
        return None
    places: dict[str, int] = {"": len(source.data)}
    if source.language == "rust":
        found = dict(_list_rust(source, source.root, "", places))
    elif source.language == "python":
        found = dict(_list_python(source, source.root, "", places))
    else:
        found = dict(_list_javascript(source)) if source.language != "go" else {}
    return _Tests(source.data, found, places)


def _find_sessions(text: str) -> _Tests:
    data, found = text.encode(), {}
    for number, session in enumerate(_SESSION.finditer(text)):
        line = session[0].partition("\n")[0].strip()
        start = len(text[: session.start()].encode())
        key = line if line not in found else f"{line} {number}"
        found[key] = _Test(start, start + len(session[0].encode()))
    return _Tests(data, found, {"": len(data)})


def _list_rust(source: Source, parent: Node, owner: str, places: dict[str, int]) -> Iterator[tuple[str, _Test]]:
    attributes: list[Node] = []
    documents: list[Node] = []
    for node in parent.children:
        if node.kind == "attribute_item":
            attributes.append(node)
        elif node.kind == "line_comment" and source.text(node).startswith(("///", "//!")):
            documents.append(node)
        elif _RUST_ITEM.fullmatch(node.kind):
            named = node.get("name")
            name = source.text(named) if named else re.sub(r"\s+", " ", source.text(node).partition("{")[0])
            key = f"{owner}::{node.kind} {name}"
            marks = " ".join(map(source.text, attributes))
            start = min((each.start for each in attributes), default=node.start)
            places[f"{key}{_EXAMPLE}"] = start
            if documents and "```" in "".join(map(source.text, documents)):
                yield f"{key}{_EXAMPLE}", _Test(documents[0].start, _end_of_line(source, documents[-1]))
            if _IN_TEST.search(marks):
                is_test = node.kind == "mod_item" or _TESTS_FUNCTION.search(marks) is not None
                yield key, _Test(start, node.end, may_be_new=is_test)
            elif (body := node.get("body")) and node.kind in ("mod_item", "impl_item", "trait_item"):
                places[key] = body.end - 1
                yield from _list_rust(source, body, key, places)
            attributes, documents = [], []


def _end_of_line(source: Source, node: Node) -> int:
    """Return where a comment ends, without the newline that it may hold."""
    return node.end - (source.data[node.start : node.end].endswith(b"\n"))


def _list_python(source: Source, parent: Node, owner: str, places: dict[str, int]) -> Iterator[tuple[str, _Test]]:
    body = parent.list("body")
    if body:
        places[f"{owner}{_EXAMPLE}"] = body[0].start
        first = body[0].children[0] if body[0].kind == "Expr" and body[0].children else None
        if first and first.kind == "Constant" and ">>>" in source.text(first):
            yield f"{owner}{_EXAMPLE}", _Test(first.start, first.end)
    for node in body:
        text = source.text(node)
        if node.kind == "If" and not owner and _MAIN.search(text.partition("\n")[0]) and _ASSERTS.search(text):
            yield "main", _Test(node.start, node.end)
        if node.kind not in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            continue
        words = [child.kind for child in node.children]
        key = f"{owner}.{words[words.index('class' if node.kind == 'ClassDef' else 'def') + 1]}"
        bare = next((source.data[c.start : node.end].decode() for c in node.children if c.kind in _STARTS), text)
        if not owner and _TEST_CASE.match(bare.partition("\n")[0]):
            yield key, _Test(node.start, node.end)
        else:
            yield from _list_python(source, node, key, places)


_STARTS = ("class", "def", "async")


def _list_javascript(source: Source) -> Iterator[tuple[str, _Test]]:
    blocks = 0
    for node in source.root.children:
        text = source.text(node)
        if node.kind == "if_statement" and _MAIN.search(text.partition("\n")[0]) and _ASSERTS.search(text):
            blocks += 1
            yield f"block {blocks}", _Test(node.start, node.end)
        elif node.kind == "expression_statement" and (call := _TEST_CALL.match(text)):
            yield f"test {call[1]}", _Test(node.start, node.end)


def list_test_modules(sources: Sequence[str]) -> frozenset[str]:
    """Return the names of Rust's modules that lie in a file of their own and are only there for tests."""
    found = (re.findall(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+(\w+)\s*;", text) for text in sources)
    return frozenset(name for names in found for name in names)
