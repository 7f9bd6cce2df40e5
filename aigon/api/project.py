"""One repository, and what can be asked of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home, find_home
from aigon.git.repository import find_repository

if TYPE_CHECKING:  # each call imports what it needs: a board has to be quick
    from aigon.api.changes import SpecInfo, StartedRun, ValidationResult
    from aigon.api.runs import RunInfo
    from aigon.api.watch import LogPage, PastState, RecordClock
    from aigon.job.spec_locations import SpecLocation
    from aigon.journal.events import Event
    from aigon.journal.statistics import Grouping, Statistics
    from aigon.journal.tasks import Tasks
    from aigon.model.changes import FileDiff
    from aigon.model.criteria import Spec
    from aigon.model.turns import Step
    from aigon.process.running import Invocation
    from aigon.run.approvals import ApprovalCase
    from aigon.spec.writing import SettingValues
    from aigon.views.board_cards import Column
    from aigon.views.report.gather import Report
    from aigon.views.status import FeatureStatus


class FeatureInfo(Struct, frozen=True):
    """A feature and the spec that it is built from. `id` is "" until it is prioritised; `spec` is a path below root."""

    id: str
    slug: str
    title: str
    stage: str
    spec: str


def open_project(path: Path | str) -> "Project":
    """Return the project whose repository contains `path`. Raises AigonError (exit 7) outside of a repository."""
    found = find_repository(Path(path))
    return Project(found.root, found.common_dir)


class Project(Struct, frozen=True):
    """A repository: `root` is its main checkout, `common_dir` its git directory."""

    root: Path
    common_dir: Path

    def features(self) -> tuple[FeatureInfo, ...]:
        """Return every feature, by the branch that it is worked on."""
        from aigon.job.spec_locations import list_spec_locations

        return tuple(describe_feature(each, each.title) for each in list_spec_locations(self.root, self.common_dir))

    @property
    def id(self) -> str:
        """A UUID that stays with the repository when it is moved; a copy of it has another one."""
        from uuid import NAMESPACE_OID, uuid5

        return str(uuid5(NAMESPACE_OID, ensure_home(self.common_dir).name))

    def spec(self, feature: str) -> "SpecInfo":
        """Return what the spec of `feature` says. Raises AigonError (exit 2) for one that cannot be read."""
        from aigon.api import changes

        return changes.read_spec(self.root, self.common_dir, feature)

    def create_feature(self, title: str, description: str = "", settings: "SettingValues | None" = None) -> "SpecInfo":
        """Write a spec into the inbox and commit it, with `settings` for its frontmatter.

        The description is a text from outside: its annotations are proposals until a person accepts them. Raises
        AigonError: exit 2 for a bad title or setting and if the feature exists, exit 7 if it cannot be committed.
        """
        from aigon.api import changes

        return self.spec(changes.create_feature(self.root, title, description, settings or {}))

    def update_feature(
        self,
        feature: str,
        *,
        title: str | None = None,
        description: str | None = None,
        settings: "SettingValues | None" = None,
    ) -> "SpecInfo":
        """Change what is not None in the spec of a feature that has not begun, and commit it.

        Annotations in a new description are proposals, but for those that are in force already. Raises AigonError as
        `create_feature` does, exit 2 for a feature that was begun, and exit 7 for a spec with uncommitted changes.
        """
        from aigon.api import changes

        changes.update_feature(self.root, feature, title, description, settings or {})
        return self.spec(feature)

    def pause(self, feature: str) -> "FeatureInfo":
        """Move an open feature to the stage `paused`. Raises AigonError: exit 2 if it is over, 7 while a loop runs."""
        from aigon.api import changes

        changes.move_feature(self.root, feature, is_paused=True)
        return self.spec(feature).feature

    def reopen(self, feature: str) -> "FeatureInfo":
        """Take up a paused, cancelled or done feature, as `aigon reopen` does. Raises AigonError: exit 2 or 7."""
        from aigon.api import changes

        changes.move_feature(self.root, feature, is_paused=False)
        return self.spec(feature).feature

    def board(self, *, everything: bool = False) -> "tuple[Column, ...]":
        """Return the features in columns by stage; of those that are done only the newest, or `everything`."""
        from aigon.views.board_cards import gather_board

        return gather_board(self.root, everything=everything)

    def status(self, feature: str | None = None, *, checkout: Path | None = None) -> "tuple[FeatureStatus, ...]":
        """Return the status of `feature`, or of each one.

        `checkout` is the worktree whose solo runs are meant, the main checkout by default. Raises AigonError: exit 2
        for an unknown feature, exit 7 for a state file that cannot be read.
        """
        from aigon.job.spec_locations import list_spec_locations, locate_spec
        from aigon.journal.records import find_candidates
        from aigon.views.status import read_feature_status

        root, home = checkout or self.root, find_home(self.common_dir)
        if feature is None:
            wanted: Sequence[SpecLocation] = list_spec_locations(root, self.common_dir)
        else:
            wanted = [locate_spec(root, self.common_dir, feature)]
        known = ((each, find_candidates(home, each.feature.name_for_people)) for each in wanted)
        return tuple(
            read_feature_status(root, each.feature, each.title, home, candidates, str(self.root))
            for each, candidates in known
        )

    def tasks(self, feature: str, agent: str | None = None) -> "Tasks":
        """Return the criteria of `feature` as tasks, as the last run, or that of `agent`, left them.

        All are pending before the first run. Raises AigonError: exit 2 for an unknown feature, several agents or a
        spec without criteria; exit 7 for a damaged journal.
        """
        from aigon.api.runs import find_records
        from aigon.job.spec_locations import locate_spec
        from aigon.journal.tasks import make_tasks

        place = locate_spec(self.root, self.common_dir, feature)
        name = place.feature.name_for_people
        records = find_records(find_home(self.common_dir), name, agent)
        return records.tasks() if records else make_tasks(name, place.parse().criteria)

    def validate(self, feature: str, *, timeout: float | None = None, **options: Any) -> "ValidationResult":
        """Assess the files as they are with `aigon feature-validate` in a process of its own, and wait for it.

        `options` are those of the command, as in `skip_validation=True`. `timeout` is in seconds. Raises AigonError
        as the command does, and with exit 7 if `timeout` passes.
        """
        from aigon.api.changes import ValidationResult

        document = self.run_verb("feature-validate", feature, timeout=timeout, **options)
        return ValidationResult(str(document["outcome"]), int(document["exit_code"]), document)

    def plan(self, feature: str, **options: Any) -> Mapping[str, Any]:
        """Return what `start` would do, as `aigon feature-implement --dry-run --json` does: nothing is changed.

        Raises AigonError for what would keep the run from starting.
        """
        from aigon.api.changes import choose_mode

        return self.run_verb("feature-implement", feature, dry_run=True, **choose_mode(options))

    def run_verb(self, verb: str, *arguments: str, timeout: float | None = None, **options: Any) -> "Mapping[str, Any]":
        """Run a command of aigon in a process of its own, wait for it, and return the document that it prints.

        As in `run_verb("approve", "42", "3", why="I saw it", yes=True)`. `timeout` is in seconds. Raises AigonError as
        the command does, and with exit 7 if `timeout` passes.
        """
        from aigon.api import changes

        return changes.run_verb(self.root, verb, arguments, options, timeout)

    def start(self, feature: str, *, wait: float = 60.0, **options: Any) -> "StartedRun":
        """Start `aigon feature-implement --loop` in a process of its own, and return once the run is on record.

        `options` are those of the command, as in `agents=("claude",)`, `max_cost=5.0` or `resume=True`. What a person
        has to agree to, such as `accept_spec=True`, is refused without `yes=True`, for a person who did. The run goes
        on when this process ends; `stop` ends it. Raises AigonError as the command does if it refuses to start, and
        with exit 7 if nothing is heard of it for `wait` seconds.
        """
        from aigon.api import changes

        return changes.start(self.root, self.common_dir, feature, options, wait)

    def runs(self, feature: str | None = None) -> "tuple[RunInfo, ...]":
        """Return every run on record, or those of `feature`, oldest first."""
        from aigon.api import runs

        return runs.list_runs(find_home(self.common_dir), self._name(feature) if feature else None)

    def run(self, run_id: str) -> "RunInfo":
        """Return the run called `run_id`. Raises AigonError (exit 2) if there is none."""
        from aigon.api import runs

        for each in runs.list_runs(find_home(self.common_dir), run_id=run_id):
            return each
        raise usage(f"There is no run {run_id}", where=str(self.root), hint="Project.runs() lists them")

    def choose_run(self, feature: str, agent: str | None = None, run_id: str | None = None) -> "RunInfo":
        """Return a run of a feature: the one called `run_id`, else the newest, or the newest of `agent`.

        Raises AigonError: exit 2 if there is none or several are meant, exit 7 if its journal is damaged.
        """
        from aigon.api import runs

        name, home = self._name(feature), find_home(self.common_dir)
        return runs.choose_run(home, name, runs.list_runs(home, name), agent, run_id)

    def replay(self, run: "RunInfo", clock: "RecordClock") -> "Iterator[Event | Step]":
        """Yield what `watch` yields of a run that is over, each event and step at its moment by `clock`."""
        return clock.play(self.watch(run, is_cancelled=lambda: True))

    def unreadable(self, feature: str) -> "Iterator[tuple[Path, AigonError]]":
        """Yield the journals of a feature that cannot be read, and why."""
        from aigon.api import runs

        return runs.find_unreadable(find_home(self.common_dir), self._name(feature))

    def spec_of(self, run: "RunInfo") -> "Spec | None":
        """Return the spec as the branch of a run has it, else as it was when the run began; None if both are gone."""
        from aigon.api.watch import read_spec

        return read_spec(self.root, run)

    def past_state(self, run: "RunInfo", number: int) -> "PastState":
        """Return a run as it was after an iteration. Raises AigonError (exit 2) for an iteration that it has not."""
        from aigon.api.watch import read_past_state

        return read_past_state(self.root, run, number)

    def follow(
        self, run: "RunInfo | str", *, interval: float = 0.2, is_cancelled: Callable[[], bool] = lambda: False
    ) -> "Iterator[Event]":
        """Yield the events of a run, those of the past first, until it has ended or `is_cancelled` says so.

        New events are looked for every `interval` seconds. Raises AigonError (exit 7) for a damaged journal.
        """
        from aigon.model.turns import Step

        watched = self.watch(run, interval=interval, is_cancelled=is_cancelled)
        return (item for item in watched if not isinstance(item, Step | bytes))

    def watch(
        self,
        run: "RunInfo | str",
        *,
        raw: bool = False,
        interval: float = 0.2,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> "Iterator[Event | Step | bytes]":
        """Yield what `follow` yields, and between the events each step of the agents, as far as they tell.

        With `raw` these are the lines that their programs printed, without known secrets, as bytes.
        """
        from aigon.api.watch import watch_run

        home, found = self._find(run)
        return watch_run(self.root, home, found, interval, is_cancelled, raw=raw)

    def stats(self, by: "Grouping | None" = None, since: date | None = None) -> "Statistics":
        """Return what the runs of the repository came to, in groups `by` something; with `since` those from that day.

        A journal that cannot be read is named in `unread`.
        """
        from aigon.journal.statistics import gather_statistics

        return gather_statistics(find_home(self.common_dir), by, since)

    def log(self, run: "RunInfo | str", after: str = "", limit: int = 200) -> "LogPage":
        """Return the next lines of the log of a run, as `aigon logs` has them: those behind the mark `after`.

        Raises AigonError: exit 2 for an unknown run or mark, 7 for a damaged journal.
        """
        from aigon.api.watch import read_log

        home, found = self._find(run)
        return read_log(self.root, home, found, after, limit)

    def stop(self, feature: str, agents: Sequence[str] = (), *, now: bool = False) -> "tuple[Invocation, ...]":
        """Ask the loops on `feature`, or those of `agents`, to finish their iteration, or to end `now`.

        Returns whom it asked and does not wait for their end. Raises AigonError: exit 2 for an unknown feature, exit 7
        if no loop of it runs.
        """
        from aigon.git.person import Checkout
        from aigon.job.job import open_main_checkout
        from aigon.run.invocations import ask_to_stop

        with Checkout.open(self.root) as checkout, open_main_checkout(checkout) as (main, _):
            return ask_to_stop(main, feature, agents, "now" if now else "finish")

    def approvals(self) -> "tuple[ApprovalCase, ...]":
        """Return what waits for a person over all features and worktrees, a case each."""
        from aigon.git.person import Checkout
        from aigon.run.approvals import list_cases

        with Checkout.open(self.root) as checkout:
            return list_cases(checkout)

    def diff(self, base: str, commit: str) -> "tuple[FileDiff, ...]":
        """Return every file in which `commit` differs from `base`, with its lines, whatever attributes an agent set.

        Raises AigonError (exit 7) if one of the two is gone.
        """
        import tempfile

        from aigon.git.diff import diff_trees
        from aigon.git.person import Checkout
        from aigon.git.trusted import TrustedGit

        with tempfile.TemporaryDirectory() as folder, Checkout.open(self.root) as checkout:
            return diff_trees(TrustedGit(checkout, Path(folder)), base, commit, frozenset())

    def report(self, feature: str, form: Literal["html", "md"] = "html", output: Path | None = None) -> "Report":
        """Write the report on `feature` and return it with its facts; Markdown goes to no file without `output`.

        Raises AigonError: exit 2 for a feature that has not run, exit 7 if the file cannot be written.
        """
        from aigon.git.person import Checkout
        from aigon.views.report.gather import write_report

        with Checkout.open(self.root) as checkout:
            return write_report(checkout, feature, form, output)

    def _name(self, feature: str) -> str:
        """Return what people call a feature. Raises AigonError (exit 2) if there is none."""
        from aigon.job.spec_locations import locate_spec

        return locate_spec(self.root, self.common_dir, feature).feature.name_for_people

    def _find(self, run: "RunInfo | str") -> "tuple[Path, RunInfo]":
        """Return aigon's folder for the repository, and the run."""
        home = find_home(self.common_dir)
        assert home is not None, "a run on record has a home"
        return home, self.run(run) if isinstance(run, str) else run


def describe_feature(place: "SpecLocation", title: str) -> FeatureInfo:
    """Return the feature at `place`."""
    feature = place.feature
    return FeatureInfo(feature.id, feature.slug, title, feature.stage, feature.path)
