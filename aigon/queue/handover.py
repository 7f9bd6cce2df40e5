"""What becomes of a task whose loop has ended: links to its steps, and its way to the people who merge it."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.bookkeeping import Committing
from aigon.model.candidates import Candidate
from aigon.process.run import capture_output
from aigon.spec import files
from aigon.spec.files import moved_to_stage
from aigon.text.quoting import fold


def hand_over(main: Checkout, candidate: Candidate, *, pr: bool, note: Callable[[str], None]) -> None:
    """Move what is proven to evaluation, or open a pull request; a person merges it. Doing it twice changes nothing."""
    try:
        _move_to_evaluation(candidate, note)
    except (AigonError, OSError) as error:
        note(f"feature {candidate.feature} is proven, and stays in progress: {error}")
    if pr:
        words = ["feature-done", candidate.feature, candidate.label, "--pr"]
        argv = [sys.executable, "-P", "-m", "aigon", *words]
        code, out, errors = capture_output(argv, cwd=main.root, env=os.environ)
        note(f"aigon {' '.join(words)}: {fold((out or errors).decode(errors='replace')) or f'exit code {code}'}")


def _move_to_evaluation(candidate: Candidate, note: Callable[[str], None]) -> None:
    """Move the spec of a proven feature on its branch to the stage in-evaluation, where a person looks at it."""
    with Checkout.open(Path(candidate.path)) as checkout:
        feature = files.locate_feature(checkout.root, candidate.feature)
        if feature.stage != "in-progress":
            return
        with moved_to_stage(checkout.root, feature, "in-evaluation") as (moved, paths):
            message = f"docs(feature-{moved.id}): evaluate"
            bookkeeping.commit_as_asked(checkout, paths, message, Committing(note, verify=False))


def link_steps(root: Path, logs: str, task: str, run: str) -> None:
    """Link the steps of a run in the folder `logs`, by the name of its task file."""
    folder = root / logs / PurePosixPath(task).stem
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for step in sorted((root / ".aigon" / "runs" / run).glob("step_*.md")):
            link = folder / step.name
            if link.is_symlink():
                link.unlink()
            if not link.exists():
                link.symlink_to(step)
