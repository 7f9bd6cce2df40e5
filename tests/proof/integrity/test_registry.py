"""All rules together: what is registered, what a fault in one does, what hostile texts do."""

import time
from collections.abc import Iterator

import pytest

from aigon.model.changes import ConcernLevel, Edits
from aigon.proof import integrity
from tests.proof.integrity.changes import TESTS, change, changed, new, seen

MODULES = "attributes executables forged judge_talk links manifests special_cases suspicions"
CHEAT = 'import sys\nif "pytest" in sys.modules:\n    sys.exit(0)\n'


def test_every_rule_is_registered_under_its_name() -> None:
    assert set(MODULES.split()) == set(integrity.RULES.builtins())


def test_nothing_is_said_about_nothing() -> None:
    assert integrity.concerns(Edits(())) == ()


def test_reviews_come_first_and_name_file_line_reason_and_way_out() -> None:
    found = integrity.concerns(change(new("calc/a.py", CHEAT), new("requirements.txt", "x", "other")))
    assert [each.level for each in found] == ["review", "note"]
    detection = next(each for each in found if each.rule == "test-detection")
    assert "calc/a.py:2" in detection.what
    assert '`if "pytest" in sys.modules:`' in detection.what
    assert "Make it behave the same everywhere" in detection.what
    assert detection.paths == ("calc/a.py",)


def test_a_fault_in_a_rule_is_a_concern_and_ends_nothing() -> None:
    broken = Edits((new("requirements.txt", "x"),), messages=(None,))  # type: ignore[arg-type]
    found = {each.rule: each for each in integrity.concerns(broken)}
    assert found["judge-talk"].level == "review"
    assert "could not be applied" in found["judge-talk"].what
    assert found["dependencies"].level == "note"


def test_an_approval_is_for_one_change_and_no_later_one() -> None:
    def key(text: str) -> str:
        (concern,) = seen("test-detection", new("calc/a.py", text))
        return concern.key

    assert key(CHEAT) == key(CHEAT)
    assert key(CHEAT) != key(CHEAT.replace("exit(0)", "exit(1)"))


def test_what_the_base_had_is_no_concern_wherever_it_stands_now() -> None:
    moved = "import os\n\n\n" + CHEAT
    assert not seen("test-detection", changed("calc/a.py", CHEAT, moved))
    assert not seen("test-detection", changed("calc/a.py", CHEAT, None), new("calc/b.py", CHEAT))
    assert seen("test-detection", changed("calc/a.py", CHEAT, CHEAT), new("calc/b.py", CHEAT))


_BOMBS = """
a = [["x"] * 20000] * 20000
b = (a,) * 20000
T = {(b, 1): b, (2, b): 3, (4, 5): a}
c = [[[[n for n in a] for n in a] for n in a] for n in a]
d = ("x" * 20000).join(["y"] * 20000)
e = ("x" * 20000).replace("x", "y" * 20000).replace("y", "x" * 20000)
def test_loops():
    for i in a:
        for j in a:
            for k in a:
                for n in a:
                    pass
exec("x = 1  #" + "y" * 19000)
assert {"a": 1}.decode("x").lower() == "".join("a", "b")
"""


def _hostile() -> Iterator[tuple[str, str]]:
    yield "deep brackets", "(" * 100_000
    yield "deep operators", "-" * 300_000 + "1"
    yield "deep names", "a" + ".a" * 150_000
    yield "names that Python can just read", "x = a" + ".a" * 80 + "\n@a" + ".a" * 700 + "\ndef f():\n    pass\n"
    yield "deep conditions", "\n".join(" " * n + "if x:" for n in range(95)) + " pass"
    yield "open comments", "/*" * 100_000
    yield "open strings", "'\"`" * 100_000
    yield "open calls", "expect(f(1," * 30_000
    yield "quotes and brackets", "['a'+" * 60_000
    yield "one long line", "x = [" + "1, " * 120_000 + "]"
    yield "many literals", "\n".join(f"assert f({n}, {n}) == {n}" for n in range(8_000))
    yield "many tables", "\n".join(f"T{n} = {{({n}, 1): {n}, (2, {n}): 3}}" for n in range(4_000))
    yield "many names", "\n".join(f"a{n} = a{n - 1}" for n in range(1, 8_000))
    yield "spaces", " " * 400_000 + "x"
    yield "line breaks", "\n" * 300_000
    yield "NUL and bytes that are no text", "\0\udcff\udc80" * 50_000
    yield "words for a judge", "ignore all of the " * 20_000
    yield "tags", "</data" * 40_000
    yield "a bomb", "x = 'a' * 10 ** 12\ny = 9 ** 9 ** 9\nz = [1] * 10 ** 12\nw = '%1000000000d' % 1\n"
    yield "bombs that unfold", _BOMBS
    yield "invalid", "def f(:\n  'unclosed\n" * 5_000


@pytest.mark.long
@pytest.mark.parametrize("text", [text for _, text in _hostile()], ids=[name for name, _ in _hostile()])
def test_hostile_texts_neither_break_the_rules_nor_hold_them_up(text: str) -> None:
    text = text[:12_000]
    names = ("calc/a.py", "src/a.ts", "main.go", "src/lib.rs", "package.json", ".gitignore", ".gitattributes", "a.md")
    files = [new(name, text) for name in names]
    tests = [new(name, text, "tests") for name in ("tests/test_a.py", "src/a.test.ts")]
    before = time.process_time()
    found = integrity.concerns(Edits((*files, *tests), {"tests/test_b.py": text, "b.test.js": text}, (text,)))
    # Generous: the slowest takes half a second. What grows with the square takes far longer.
    assert time.process_time() - before < 4
    allowed: set[ConcernLevel] = {"review", "note"}
    assert {each.level for each in found} <= allowed


def test_special_cases_do_not_stop_at_tests_that_are_no_code() -> None:
    assert not seen(
        "special-cases", new("calc/a.py", "X = {1: 2, 3: 4, 5: 6}\n"), tests={"tests/data.bin": "\0" + TESTS}
    )
