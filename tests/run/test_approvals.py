"""What waits for people: pages that decide nothing by themselves, and decisions by moved pages."""

import pytest

from tests.lab import Lab

READS_WELL = "it reads well <!-- human -->"
WORKS = "it works <!-- verify: test -f done.txt -->"
PAGE = ".aigon/approvals/42.md"


def make_case(lab: Lab) -> None:
    """End a run with a question for a person."""
    lab.spec(WORKS, READS_WELL)
    lab.agent("cat > /dev/null; date +%N > done.txt")
    lab.commit("a spec")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4


def move(lab: Lab, to: str, *lines: str) -> None:
    page = lab.read(PAGE)
    lab.path(PAGE).unlink()
    lab.write(f".aigon/approvals/{to}/42.md", page.replace("---\n", "---\n" + "".join(f"{x}\n" for x in lines), 1))


def test_a_moved_page_is_a_decision_only_once_a_person_applies_it(lab: Lab) -> None:
    make_case(lab)
    (case,) = lab.aigon("approvals", "--json").json["approvals"]
    assert (case["feature"], case["decidable"]) == ("42", ["2"]) and "it reads well" in case["items"][0]["text"]
    assert 'type: "ralph_approval"' in lab.read(PAGE) and "done.txt" in lab.read(PAGE)
    assert lab.git("status", "--porcelain") == ""
    move(lab, "approved")
    assert lab.aigon("reject", "42", "2", "--why", "too terse", "--yes").code == 0
    assert lab.aigon("feature-implement", "42", "--resume").code == 4
    stale = lab.aigon("approvals", "--apply", "--yes")
    assert stale.code == 2 and "has moved on since it was written" in stale.err
    lab.path(".aigon/approvals/approved/42.md").unlink()
    assert lab.aigon("approvals").code == 0
    move(lab, "approved")
    assert lab.aigon("approvals", "--apply").code == 4
    assert lab.aigon("approvals", "--apply", "--yes", env={"AIGON_RUN": "1"}).code == 4
    assert lab.aigon("approvals", "--apply", "--yes").out.startswith("approve: feature 42")
    assert lab.aigon("feature-implement", "42", "--resume").code == 0
    assert "Nothing waits for a person" in lab.aigon("approvals").out and not lab.path(PAGE).exists()


def test_what_needs_review_is_listed_although_a_guard_stopped_the_run(lab: Lab) -> None:
    lab.spec("it works <!-- verify: test -f never -->", READS_WELL)
    lab.agent("cat > /dev/null; echo x >> tried.txt")
    lab.commit("a spec")
    tasks = lab.aigon("tasks", "42", "--json").json["tasks"]
    assert [(each["id"], each["status"]) for each in tasks] == [("42.1", "pending"), ("42.2", "pending")]
    assert lab.aigon("tasks", "42", "--agent", "other").code == 2
    assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    assert lab.path(PAGE).exists()
    (case,) = lab.aigon("approvals", "--json").json["approvals"]
    assert (case["decidable"], [item["name"] for item in case["items"]]) == (["2"], ["2"])
    assert lab.aigon("approve", "42", "2", "--yes").code == 0
    assert "Nothing waits for a person" in lab.aigon("approvals").out
    assert lab.aigon("run", "reset", "42.2", "--yes").code == 0
    assert "aigon approve 42 2" in lab.aigon("approvals").out


@pytest.mark.slow
def test_a_rejection_needs_its_reason_and_garbage_decides_nothing(lab: Lab) -> None:
    make_case(lab)
    assert lab.aigon("approvals").code == 0
    lab.write(".aigon/approvals/approved/other.md", "---\nfeature: [\n---\n")
    lab.path(".aigon/approvals/approved/link.md").symlink_to(lab.path(PAGE))
    page = lab.read(PAGE)
    lab.write(".aigon/approvals/rejected/42.md", page)
    ran = lab.aigon("approvals", "--apply", "--yes")
    assert ran.code == 2 and "A rejection needs a reason" in ran.err and ran.err.count("belongs to no case") == 2
    lab.write(".aigon/approvals/rejected/42.md", page.replace("---\n", "---\nwhy: too terse\n", 1))
    for name in ("other.md", "link.md"):
        lab.path(f".aigon/approvals/approved/{name}").unlink()
    assert lab.aigon("approvals", "--apply", "--yes").code == 0
    again = lab.aigon("feature-implement", "42", "--resume", "--max-iterations", "1")
    assert again.code != 0 and "too terse" in again.out
