"""git's diff, read by counting, so that no content is taken for a header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigon.git.diff import parse_diff
from aigon.model.changes import DiffLine, quote_path

REPLACED = b"""\
diff --git a/app.py b/app.py
index 1..2 100644
--- a/app.py
+++ b/app.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+2
 three\r
\\ No newline at end of file
@@ -9 +9,2 @@
 nine
+--- a/other.py
"""


def test_lines_have_their_numbers_on_both_sides() -> None:
    (found,) = parse_diff(REPLACED)
    assert (found.path, found.status) == ("app.py", "M")
    first, second = found.hunks
    assert first.lines == (
        DiffLine(" ", "one", 1, 1),
        DiffLine("-", "two", 2, 0),
        DiffLine("+", "2", 0, 2),
        DiffLine(" ", "three", 3, 3),
    )
    assert second.lines[-1] == DiffLine("+", "--- a/other.py", 0, 10), "content was taken for a header"
    assert second.text == "@@ -9 +9,2 @@\n nine\n+--- a/other.py"


def test_files_are_told_apart_whatever_git_says_of_them() -> None:
    text = b"""\
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
diff --git a/empty b/empty
new file mode 100644
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/link b/link
deleted file mode 100644
--- a/link
+++ /dev/null
@@ -1 +0,0 @@
-file
diff --git a/link b/link
new file mode 120000
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+target
diff --git a/pic b/pic
Binary files a/pic and b/pic differ
diff --git "a/t\\tab \\303\\251\\"\\n.py" "b/t\\tab \\303\\251\\"\\n.py"
--- "a/t\\tab \\303\\251\\"\\n.py"
+++ "b/t\\tab \\303\\251\\"\\n.py"
@@ -1 +1 @@
-a
+b
diff --git a/with blank b/with blank
--- a/with blank\t
+++ b/with blank\t
@@ -1 +1 @@
-a
+b
"""
    found = {diff.path: (diff.status, len(diff.hunks), diff.binary) for diff in parse_diff(text)}
    assert found == {
        "new.py": ("A", 1, False),
        "empty": ("A", 0, False),
        "gone": ("D", 1, False),
        "link": ("T", 2, False),
        "pic": ("M", 0, True),
        't\tab é"\n.py': ("M", 1, False),
        "with blank": ("M", 1, False),
    }


def test_the_diff_of_other_programs_is_read_too_and_nothing_is_no_file() -> None:
    (found,) = parse_diff(
        b"--- a/x.py\t2026-01-01\n+++ b/x.py\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n"[:-16]
    )
    assert (found.path, found.hunks[0].lines[1].text) == ("x.py", "b")
    assert parse_diff(b"") == ()


@pytest.mark.parametrize("cut", [b"@@ -1,2 +1,2 @@\n one", b"@@ -1 +1 @@\n?what\n"])
def test_a_diff_that_is_cut_or_is_none_is_refused(cut: bytes) -> None:
    with pytest.raises(ValueError, match=r"@@ -1"):
        parse_diff(b"--- a/x\n+++ b/x\n" + cut)


@given(st.text())
def test_a_name_is_shown_on_one_line_without_escapes(path: str) -> None:
    shown = quote_path(path)
    assert shown.isprintable() and (shown == path or shown.startswith('"'))
