"""What is known when a run is opened, and what opening it finds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.home import git_directory
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.options import Options
from aigon.job.seat import Seat
from aigon.journal.attempt import Attempt
from aigon.journal.events import Event
from aigon.journal.past import Past
from aigon.journal.records import Origin, Records
from aigon.journal.state import Spend
from aigon.model.candidates import format_run_command
from aigon.run.prepare import Prepared
from aigon.spec.features import Feature

Confirm = Callable[[str], bool]
"""Asks a person; False if nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The question: which feature, in which checkout, on which branch it stood (`current`), by whose leave."""

    seat: Seat
    options: Options
    confirm: Confirm
    home: Path
    current: str

    @property
    def checkout(self) -> Checkout:
        """The work tree that the agent edits."""
        return self.seat.checkout

    def branch_of(self, feature: Feature) -> str:
        """The branch that the feature is built on here."""
        return self.seat.candidate.branch if self.seat.candidate else feature.name

    def command(self, name: str, option: str) -> str:
        """What a person types to begin or go on with the feature called `name` here."""
        return format_run_command(name, self.seat.label, option)

    @property
    def own_git(self) -> Path:
        """aigon's own git directory for this checkout."""
        return git_directory(self.home, self.checkout.git_dir, self.checkout.common_dir)

    def workspace(self, branch: str) -> Workspace:
        """The work tree, to be committed to `branch`."""
        return Workspace(self.checkout, self.own_git, branch)


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer: the workspace on its branch at `head`, the run's past, and the events that opening it made.

    `options` are those of the command line, completed by the choices of a run that is resumed.

    What differs between the commit `since` and `head` is people's work; "" where nothing is known to be. `unjudged`:
    the work tree holds what an agent made of it. `suspect` is the commit after which an agent may have made those up to
    `head`, of a turn that nobody has looked at; "" where there is none. `before` is what earlier runs of the feature
    spent, `numbered` the highest number that the last of them gave an iteration of this branch, `earlier` what they
    tried.
    """

    options: Options
    prepared: Prepared
    records: Records
    workspace: Workspace
    head: str
    origin: Origin
    past: Past = field(default_factory=Past)
    events: tuple[Event, ...] = ()
    since: str = ""
    unjudged: bool = False
    suspect: str = ""
    before: Spend = field(default_factory=Spend)
    numbered: int = 0
    earlier: tuple[Attempt, ...] = ()

    @property
    def resumed(self) -> bool:
        """Whether an old run goes on."""
        return self.past.state.started is not None
