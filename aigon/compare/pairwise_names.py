"""The names by which a judge could tell whose work it sees, and credentials, which nobody is to see."""

import os
from collections.abc import Iterator, Sequence

from aigon.compare.new_tests_bench import Bench
from aigon.errors import AigonError
from aigon.journal.events import Event
from aigon.journal.history import build_history
from aigon.journal.records import Records
from aigon.journal.replay import read_events
from aigon.judge.pairwise import Anonymizer, build_anonymizer
from aigon.secrets import redaction


def plain_words(bench: Bench, tips: Sequence[tuple[str, str]], base: str) -> Anonymizer:
    """A function that takes both out of one line of text, as for every candidate of the comparison."""
    names = [name for label, records in bench.records.items() for name in _of(label, records)]
    names += [name for _, tip in tips for name in _people(bench, base, tip)]
    without_names, redact = build_anonymizer(names), redaction.make_redactor(os.environ)

    def plain(line: str) -> str:
        shown = redact(line.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        return without_names(shown)

    return plain


def _of(label: str, records: Records) -> Iterator[str]:
    """What a candidate, its agents, their models and its branch are called."""
    yield label
    if candidate := records.candidate():
        agent, _, model = candidate.agent.partition(":")
        yield from (candidate.label, candidate.agent, agent, model, candidate.branch)
    past = build_history(_journals(records))
    for run in past.runs:
        yield from (run.started.agent, run.started.label, run.started.branch)
    for turn in past.turns:
        yield from (turn.agent, turn.model)


def _journals(records: Records) -> Iterator[Sequence[Event]]:
    for path in records.journals():
        try:
            yield read_events(path)
        except (AigonError, OSError):
            continue


def _people(bench: Bench, base: str, tip: str) -> Iterator[str]:
    """Who made the commits, by name and address."""
    code, out, _ = bench.git.attempt("log", "-z", "--format=%an%n%ae%n%cn%n%ce", f"{base}..{tip}")
    if code == 0:
        yield from {name for name in out.decode("utf-8", "replace").replace("\0", "\n").split("\n") if name}
