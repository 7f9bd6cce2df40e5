"""Tables of tasks: TOON there and back, and everything that is wrong with one at once."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aigon.errors import AigonError
from aigon.spec.prd import Prd, PrdStatus, PrdTask, group_by_dependencies, parse_prd, parse_task_list, render_prd

pytest.importorskip("toon_format", reason="the extra toon is not installed")

LINE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(str.strip)
TITLE = LINE.filter(bool)
FILE = st.text(string.ascii_letters + "/., _-\"'", min_size=1, max_size=12).map(str.strip).filter(bool)
STATUS: st.SearchStrategy[PrdStatus] = st.sampled_from(("pending", "in-progress", "done", "skipped", "blocked"))


@st.composite
def tables(draw: st.DrawFn) -> Prd:
    """A table in which each task depends only on tasks before it."""
    ids = draw(st.lists(st.from_regex(r"[A-Z]{1,3}-?[0-9]{1,3}", fullmatch=True), min_size=1, max_size=5, unique=True))
    files = st.lists(FILE, max_size=2).map(tuple)
    tasks = [
        PrdTask(
            *(id, draw(TITLE), draw(LINE), draw(STATUS)),
            *(draw(LINE), draw(LINE), draw(LINE)),
            depends_on=tuple(draw(st.lists(st.sampled_from(ids[:at]), unique=True, max_size=2)) if at else ()),
            files_to_create=draw(files),
            files_to_modify=draw(files),
            completed_at=draw(LINE),
            commit_sha=draw(st.text("0123456789abcdef", max_size=8)),
            iteration=draw(st.none() | st.integers(0, 99)),
            source=draw(LINE),
        )
        for at, id in enumerate(ids)
    ]
    return Prd(draw(LINE), tuple(tasks))


@settings(max_examples=30)
@given(tables())
def test_a_table_survives_the_way_there_and_back(table: Prd) -> None:
    assert parse_prd(render_prd(table).encode(), "prd.toon") == table


WHOLE = Prd("Shop", tuple(PrdTask(f"T{n}", f"do {n}", source="criterion") for n in range(1, 9)))


def refusal(raw: bytes, name: str = "prd.toon") -> AigonError:
    with pytest.raises(AigonError) as caught:
        parse_prd(raw, name) if name.endswith("toon") else parse_task_list(raw, name)
    assert (caught.value.code, caught.value.where.startswith(name)) == (2, True)
    return caught.value


def test_a_file_cut_in_the_middle_is_an_error_that_asks_whether_it_is_whole() -> None:
    raw = render_prd(WHOLE).encode()
    for end in range(raw.rindex(b",criterion")):
        assert "Is the file whole?" in refusal(raw[:end]).hint


def test_everything_that_is_wrong_is_named_at_once() -> None:
    rows = ("T1,a,pending,T2", "T2,b,dnoe,T1", "T3,'',done,T9", "T3,x,done,''", ",c,pending,''")
    raw = "tasks[5]{id,title,status,depends_on}:\n  " + "\n  ".join(rows).replace("''", '""') + "\n"
    error = refusal(raw.encode())
    assert error.what == "6 things are wrong with the tasks"
    assert [line.strip() for line in error.hint.splitlines()] == [
        "task T2 has the unknown status 'dnoe'. Did you mean 'done'?"
        " Known: blocked, done, in-progress, pending, skipped",
        "task T3 has no title",
        "row 5 has no id",
        "the ID T3 occurs 2 times",
        "task T3 depends on T9, which does not exist",
        "tasks depend on each other in a circle: T1 -> T2 -> T1",
    ]


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"tasks[1]{id,title}:\n  T1,\xff", "The file is not UTF-8"),
        (b"x" * (1024 * 1024 + 1), "The file is too large"),
        (b"tasks[0]:\n", "There are no tasks"),
        (b"project: X\n", "There is no table `tasks`"),
        (b"tasks[2]: a,b\n", "2 things are wrong"),
        (b"tasks[1]{id,title,depends_on}:\n  T1,a,T1\n", "Tasks depend on each other in a circle: T1 -> T1"),
    ],
)
def test_what_is_no_table_is_refused(raw: bytes, what: str) -> None:
    assert what in refusal(raw).what


def test_a_markdown_list_is_a_table_of_tasks() -> None:
    raw = (
        b"# Plan\n\n- [x] T001: set up\n- [ ] **T002** [P] build it (depends on T001)\n  - [ ] test it\n"
        b"```\n- [ ] T9: no item\n```\n"
    )
    tasks = parse_task_list(raw, "plan.md").tasks
    assert [(task.id, task.title, task.status, task.depends_on) for task in tasks] == [
        ("T001", "set up", "done", ()),
        ("T002", "[P] build it (depends on T001)", "pending", ("T001",)),
        ("T003", "test it", "pending", ()),
    ]
    assert "There are no tasks" in refusal(b"# Nothing\n", "plan.md").what
    assert "T1 occurs 2 times" in refusal(b"- [ ] T1: a\n- [ ] T1: b\n", "plan.md").what


def test_tasks_are_grouped_by_what_they_depend_on() -> None:
    tasks = (
        PrdTask("A", "a", depends_on=("B",)),
        PrdTask("B", "b"),
        PrdTask("C", "c"),
        PrdTask("D", "d", depends_on=("A", "C")),
    )
    assert [[task.id for task in group] for group in group_by_dependencies(tasks)] == [["B", "C"], ["A"], ["D"]]
