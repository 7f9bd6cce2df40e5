"""One repository, and what can be asked of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aigon.errors import usage
from aigon.files.home import find_home
from aigon.git.repository import find_repository

if TYPE_CHECKING:  # each call imports what it needs: a board has to be quick
    from aigon.api.programs import StartedRun, ValidationResult
    from aigon.api.runs import RunInfo
    from aigon.job.spec_locations import SpecLocation
    from aigon.journal.events import Event
    from aigon.journal.statistics import Grouping, Statistics
    from aigon.model.activity import Step
    from aigon.process.running import Invocation
    from aigon.views.board_cards import Column
    from aigon.views.report.gather import Report
    from aigon.views.status import FeatureStatus


@dataclass(frozen=True, slots=True)
class FeatureInfo:
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


@dataclass(frozen=True, slots=True)
class Project:
    """A repository: `root` is its main checkout, `common_dir` its git directory."""

    root: Path
    common_dir: Path

    def features(self) -> tuple[FeatureInfo, ...]:
        """Return every feature, by the branch that it is worked on."""
        from aigon.job.spec_locations import list_spec_locations

        return tuple(_describe_feature(each) for each in list_spec_locations(self.root, self.common_dir))

    def board(self, *, everything: bool = False) -> "tuple[Column, ...]":
        """Return the features in columns by stage; of those that are done only the newest, or `everything`."""
        from aigon.views.board_cards import gather_board

        return gather_board(self.root, everything=everything)

    def status(self, feature: str | None = None, *, checkout: Path | None = None) -> "tuple[FeatureStatus, ...]":
        """Return where `feature`, or each one, stands.

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
        return tuple(
            read_feature_status(
                root,
                each.feature,
                each.title,
                home,
                find_candidates(home, each.feature.name_for_people),
                str(self.root),
            )
            for each in wanted
        )

    def validate(self, feature: str, *, timeout: float | None = None, **options: Any) -> "ValidationResult":
        """Assess the files as they are with `aigon feature-validate` in a process of its own, and wait for it.

        `options` are those of the command, as in `skip_validation=True`. `timeout` is in seconds. Raises AigonError
        as the command does, and with exit 7 if `timeout` passes.
        """
        from aigon.api import programs

        return programs.validate(self.root, feature, options, timeout)

    def start(self, feature: str, *, wait: float = 60.0, **options: Any) -> "StartedRun":
        """Start `aigon feature-implement --loop` in a process of its own, and return once the run is on record.

        `options` are those of the command, as in `agents=("claude",)`, `max_cost=5.0` or `resume=True`. What a person
        has to agree to, such as `accept_spec=True`, is refused without `yes=True`, for a person who did. The run goes
        on when this process ends; `stop` ends it. Raises AigonError as the command does if it refuses to start, and
        with exit 7 if nothing is heard of it for `wait` seconds.
        """
        from aigon.api import programs

        return programs.start(self.root, self.common_dir, feature, options, wait)

    def runs(self, feature: str | None = None) -> "tuple[RunInfo, ...]":
        """Return every run on record, or those of `feature`, oldest first."""
        from aigon.api import runs
        from aigon.job.spec_locations import locate_spec

        name = locate_spec(self.root, self.common_dir, feature).feature.name_for_people if feature else None
        return runs.list_runs(find_home(self.common_dir), name)

    def run(self, run_id: str) -> "RunInfo":
        """Return the run called `run_id`. Raises AigonError (exit 2) if there is none."""
        for each in self.runs():
            if each.run_id == run_id:
                return each
        raise usage(f"There is no run {run_id}", where=str(self.root), hint="Project.runs() lists them")

    def follow(
        self, run: "RunInfo | str", *, interval: float = 0.2, is_cancelled: Callable[[], bool] = lambda: False
    ) -> "Iterator[Event]":
        """Yield the events of a run, those of the past first, until it has ended or `is_cancelled` says so.

        New events are looked for every `interval` seconds. Raises AigonError (exit 7) for a damaged journal.
        """
        from aigon.api import runs

        found = self.run(run) if isinstance(run, str) else run
        home = find_home(self.common_dir)
        assert home is not None, "a run on record has a home"
        return runs.follow_run(home, found, interval, is_cancelled)

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

        found = self.run(run) if isinstance(run, str) else run
        home = find_home(self.common_dir)
        assert home is not None, "a run on record has a home"
        return watch_run(self.root, home, found, interval, is_cancelled, raw=raw)

    def stats(self, by: "Grouping | None" = None, since: date | None = None) -> "Statistics":
        """Return what the runs of the repository came to, in groups `by` something; with `since` those from that day.

        A journal that cannot be read is named in `unread`.
        """
        from aigon.journal.statistics import gather_statistics

        return gather_statistics(find_home(self.common_dir), by, since)

    def stop(self, feature: str, agents: Sequence[str] = (), *, now: bool = False) -> "tuple[Invocation, ...]":
        """Ask the loops on `feature`, or those of `agents`, to finish their iteration, or to end `now`.

        Returns whom it asked and does not wait for their end. Raises AigonError: exit 2 for an unknown feature, exit 7
        if no loop of it runs.
        """
        from aigon.git.person import Checkout
        from aigon.job.seat import open_main_checkout
        from aigon.run.invocations import ask_to_stop

        with Checkout.open(self.root) as checkout, open_main_checkout(checkout) as (main, _):
            return ask_to_stop(main, feature, agents, "now" if now else "finish")

    def report(self, feature: str, form: Literal["html", "md"] = "html", output: Path | None = None) -> "Report":
        """Write the report on `feature` and return it with its facts; Markdown goes to no file without `output`.

        Raises AigonError: exit 2 for a feature that has not run, exit 7 if the file cannot be written.
        """
        from aigon.git.person import Checkout
        from aigon.views.report.gather import write_report

        with Checkout.open(self.root) as checkout:
            return write_report(checkout, feature, form, output)


def _describe_feature(place: "SpecLocation") -> FeatureInfo:
    feature = place.feature
    return FeatureInfo(feature.id, feature.slug, place.title, feature.stage, feature.path)
