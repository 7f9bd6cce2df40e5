"""Changes that a caller makes: specs written and moved, each a commit of the person's, and processes that are started.

A run goes on by itself; other commands are waited for.
"""

import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from aigon.api.project import FeatureInfo, describe_feature
from aigon.errors import AigonError, Exit, environment
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing
from aigon.job.job import hold_checkout
from aigon.job.options import spell_option
from aigon.job.spec_locations import locate_spec
from aigon.model.criteria import Criterion, SpecSettings
from aigon.process.children import collect_output, start_in_background, start_piped
from aigon.process.start import RunningProgram, signal_group
from aigon.run import feature_stages
from aigon.spec.document import parse_spec
from aigon.spec.foreign import ForeignAnnotation, list_proposals
from aigon.spec.writing import SettingValues, edit_spec, split_spec

_SILENT = Committing(lambda _text: None)


class SpecInfo(Struct, frozen=True):
    """The content of a feature's spec. `where` is its path, with the branch that has it.

    `proposals` are annotations that came with a text from outside and wait for a person.
    """

    feature: FeatureInfo
    where: str
    title: str
    description: str
    settings: SpecSettings
    criteria: tuple[Criterion, ...]
    proposals: tuple[ForeignAnnotation, ...]


def read_spec(root: Path, common_dir: Path, feature: str) -> SpecInfo:
    """See `Project.spec`."""
    place = locate_spec(root, common_dir, feature)
    raw = place.read()
    spec, parts = parse_spec(raw), split_spec(raw)
    info = describe_feature(place, parts.title)
    return SpecInfo(
        info, place.where, parts.title, parts.body.strip(), spec.settings, spec.criteria, list_proposals(raw)
    )


def create_feature(root: Path, title: str, description: str, settings: SettingValues) -> str:
    """See `Project.create_feature`; return the feature's name."""
    content = edit_spec(b"", title, description, settings)
    with _hold(root) as checkout:
        return feature_stages.create_feature(checkout, title, "", _SILENT, content=content).name_for_people


def update_feature(
    root: Path, feature: str, title: str | None, description: str | None, settings: SettingValues
) -> None:
    """See `Project.update_feature`."""
    with _hold(root) as checkout:
        feature_stages.edit_feature(
            checkout, feature, lambda raw: edit_spec(raw, title, description, settings), _SILENT
        )


def move_feature(root: Path, feature: str, *, is_paused: bool) -> None:
    """See `Project.pause` and `Project.reopen`."""
    from aigon.done import retirement

    with _hold(root) as checkout:
        (retirement.pause_feature if is_paused else retirement.reopen_feature)(checkout, feature, _SILENT)


@contextmanager
def _hold(root: Path) -> Iterator[Checkout]:
    with Checkout.open(root) as checkout, hold_checkout(checkout):
        yield checkout


_POLL = 0.05
"""Seconds between looks at what a program that starts has said."""


class StartedRun(Struct, frozen=True):
    """A run that has begun: its process, and of an arena the first of its runs (`Project.runs` lists all)."""

    run_id: str
    feature: str
    label: str
    pid: int


class ValidationResult(Struct, frozen=True):
    """The result of an assessment; `document` is all that `aigon feature-validate --json` prints."""

    outcome: str
    exit_code: int
    document: Mapping[str, Any]


def run_verb(
    root: Path, verb: str, arguments: Sequence[str], options: Mapping[str, Any], timeout: float | None
) -> Mapping[str, Any]:
    """Run a command, wait for it, and return the last document that it prints. Raises AigonError as it does."""
    process = start_piped(_build_command(verb, arguments, options), cwd=root, env=os.environ)
    collected = collect_output(process, timeout)
    if collected is None:
        signal_group(process.pid, signal.SIGTERM)
        collect_output(process, None)
        raise environment(f"`aigon {verb}` took longer than {timeout:g} seconds", where=str(root))
    documents = list(_parse_documents(collected[0]))
    if not documents:
        raise _explain_silence(process, collected[1])
    document = documents[-1]
    if error := document.get("error"):
        raise _make_error(error)
    return document


def start(root: Path, common_dir: Path, feature: str, options: Mapping[str, Any], wait: float) -> StartedRun:
    """Start a run, and return once it is on record. Raises AigonError if it refuses, or nothing is heard for `wait`."""
    output = ensure_home(common_dir) / f"starting-{secrets.token_hex(6)}.ndjson"
    try:
        argv = _build_command("feature-implement", (feature,), choose_mode(options))
        process = start_in_background(argv, cwd=root, env=os.environ, output=output)
        return _await_start(process, output, feature, time.monotonic() + wait)
    finally:
        output.unlink(missing_ok=True)  # the process goes on writing to it; the journal is what counts


def choose_mode(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a run that begins as a loop, unless it continues one."""
    return options if options.get("resume") else {"loop": True, **options}


def _await_start(process: RunningProgram, output: Path, feature: str, deadline: float) -> StartedRun:
    while True:
        exited = process.poll() is not None
        data = output.read_bytes()
        for document in _parse_documents(data):
            if document.get("event") == "run_started":
                name = str(document.get("feature_id") or document.get("slug"))
                return StartedRun(str(document["run_id"]), name, str(document.get("label") or ""), process.pid)
            if document.get("event") == "run_finished" and document.get("error"):
                raise _make_error(document["error"])
        if exited:
            raise _explain_silence(process, data)
        if time.monotonic() > deadline:
            hint = f"It continues as process {process.pid}; aigon feature-status {feature} shows where it stands"
            raise environment(f"The run of feature {feature} did not report its start", hint=hint)
        time.sleep(_POLL)


def _build_command(verb: str, arguments: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    words = [word for name, value in options.items() if value is not None for word in spell_option(name, value)]
    return [sys.executable, "-P", "-m", "aigon", verb, *words, "--json", "--", *arguments]


def _parse_documents(data: bytes) -> Iterator[dict[str, Any]]:
    """The whole lines of `data` that are JSON objects; words for people may come between them."""
    for line in data.splitlines(keepends=True):
        if line.startswith(b"{") and line.endswith(b"\n"):
            yield json.loads(line)


def _make_error(document: Mapping[str, Any]) -> AigonError:
    code = Exit(int(document.get("exit_code") or Exit.INTERNAL))
    where, hint = str(document.get("where") or ""), str(document.get("hint") or "")
    return AigonError(str(document.get("what") or "aigon refused"), where=where, hint=hint, code=code)


def _explain_silence(process: RunningProgram, words: bytes) -> AigonError:
    """The error of a program that ended without a document: its exit code and its last line."""
    lines = words.decode(errors="replace").strip().splitlines() or ["it printed nothing"]
    code = process.returncode if process.returncode in set(Exit) else int(Exit.INTERNAL)
    first = next((line for line in lines if line.startswith("aigon: ")), lines[-1]).removeprefix("aigon: ")
    return AigonError(first.rstrip("."), code=Exit(code))
