"""Room on disk and in memory, against what the iterations of a run took: written down, kept over a resume, said."""

from typing import Any

from aigon.files.checksums import read_documents
from tests.lab import DONE_WHEN, Lab

MB = 1_000_000


def test_what_a_turn_took_is_in_the_journal_and_the_next_one_needs_as_much(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place", guards={"diskFree": 0, "memoryFree": 0})
    lab.agent("head -c 40000000 /dev/zero > $HOME/large; sleep 0.6; rm $HOME/large; echo 1 > turn.txt")
    assert lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "1").code == 3
    (journal,) = lab.home.glob("state/repos/*/features/42/journal.jsonl")
    took: dict[Any, Any] = {event["event"]: event["took"] for event in read_documents(journal) if event.get("took")}
    (place,) = {one["place"] for one in took["turn_ended"] if one["what"] == "disk" and one["amount"] > 30 * MB}
    assert place == str(lab.root)
    assert any(one["what"] == "memory" for one in took["turn_ended"])
