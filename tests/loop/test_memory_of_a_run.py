"""What a run leaves for people to read, and what it says of its failures."""

import re
from pathlib import Path

from tests.lab import DONE_WHEN, Lab

IN_PLACE = True
AGENT = """\
echo "$AIGON_ITERATION" >> tries.txt
echo "SENTINEL everything is done"
if [ "$AIGON_ITERATION" = 3 ]; then touch done.txt; fi
"""


def test_a_run_leaves_steps_scratchpad_and_build_log_and_tells_its_failures(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(AGENT)
    assert "Feature 42: no attempt yet" in lab.aigon("feature-status", "42", "--failures").out
    stopped = lab.aigon("feature-implement", "42", "--loop", "--max-iterations", "2")
    assert stopped.code == 3, stopped.out + stopped.err
    (folder,) = lab.path(".aigon/runs").iterdir()
    assert "## Iteration 2" in (folder / "SCRATCHPAD.md").read_text()
    done = lab.aigon("feature-implement", "42", "--resume")
    assert done.code == 0, done.out + done.err

    scratchpad, log = (folder / "SCRATCHPAD.md").read_text(), (folder / "BUILD_LOG.md").read_text()
    headings = [line for line in scratchpad.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Iteration 3: better than before",
        "## Iteration 2: no better than before",
        "## Iteration 1: no better than before",
    ]
    assert "`tries.txt`" in scratchpad and "Criterion 1, failed" in scratchpad and "SENTINEL" not in scratchpad
    assert [line.split(" | ")[0] for line in log.splitlines() if line.startswith("| ")][2:] == [
        "| base", "| 1", "| 2", "| 3",
    ]  # fmt: skip
    assert "with exit code 0: `Every criterion is proven" in log
    steps = sorted(path.name for path in folder.glob("step_*.md"))
    assert steps == ["step_01.md", "step_02.md", "step_03.md"]
    assert all(_is_whole(folder, folder / name) for name in steps)
    second, third = ((folder / number / "prompt.md").read_text() for number in ("002", "003"))
    assert "Iteration 1: no better" not in second, "the digest has all that is known of one"
    assert "### Iteration 2: no better than before\n" in third and "Iteration 1: no better than before" in third
    assert "SENTINEL" not in third

    failures = lab.aigon("feature-status", "42", "--failures").out
    assert "2 failures in 3 attempts" in failures and "came 2 times: attempts 1, 2" in failures
    assert "mine" in failures and "criterion 1 failed" in failures
    found = lab.aigon("feature-status", "42", "--failures", "--json").json
    assert [(f["attempt"], f["iteration"], f["agent"], f["times"]) for f in found["failures"]] == [
        (1, 1, "mine", 2), (2, 2, "mine", 2),
    ]  # fmt: skip
    refused = lab.aigon("feature-status", "--failures")
    assert refused.code == 2 and "aigon feature-status ID --failures" in refused.err
    lab.sound()


def _is_whole(folder: Path, step: Path) -> bool:
    """With what was said as a quotation, and links that lead to what is there."""
    text = step.read_text()
    prompt, output = (folder / f"0{step.stem[-2:]}" / name for name in ("prompt.md", "agent.log"))
    linked = all(f"({file.parent.name}/{file.name})" in text and file.is_file() for file in (prompt, output))
    return linked and "\n```text\nSENTINEL everything is done\n```\n" in text and "- Ended: finished" in text


def test_a_damaged_journal_counts_no_later_attempt_twice(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent('cp "$AIGON_PROMPT_FILE" "$HOME/prompt"; echo "$AIGON_ITERATION" >> tries.txt')
    run = ("feature-implement", "42", "--loop", "--max-iterations", "2")
    assert lab.aigon(*run).code == 3
    (journal,) = lab.home.glob("state/repos/*/features/42/journal.jsonl")
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([*lines[:6], lines[6][:40], *lines[7:]]))
    for _ in range(3):
        assert lab.aigon(*run).code == 3
    told = re.findall(r"Iteration (\d+):", (lab.home / "prompt").read_text())
    assert len(told) > 2 and sorted(told) == sorted(set(told))
