"""Messages between a scheduler and its workers: a few hundred bytes each, and no credentials."""

from msgspec import Struct

from aigon.journal.spending import Spend

AGAIN = ("held", "lost", "away", "unfit")
"""What a cell may come to that is tried again."""


class CellOrder(Struct, frozen=True):
    """One cell: a feature and an agent. `url` is the remote without credentials, `base` a commit with the feature.

    `kind` is the agent's type, `money` what the run may cost over all, in US dollars, `lease` the seconds of a lease.
    `stale` is the lease commit that the fleet has seen for that long: a worker takes over if it is still there.
    """

    aigon: str
    fleet: str
    url: str
    prefix: str
    name: str
    agent: str
    kind: str
    branch: str
    base: str
    lease: float
    money: float = 0.0
    stale: str = ""

    @property
    def label(self) -> str:
        return self.name.rpartition("--")[2]

    @property
    def feature(self) -> str:
        return self.name.rpartition("--")[0]


class CellSummary(Struct, frozen=True):
    """The result of a cell: `status` of its run, or `refused` if it did not begin. The others are to be tried again:
    `held` by the machine that made the commit `lease`, `lost` to another meanwhile, the remote is `away`, or the
    machine is `unfit`.

    `spend` is that of its run over all machines.
    """

    status: str = ""
    exit_code: int = 0
    said: str = ""
    met: int = 0
    total: int = 0
    iterations: int = 0
    spend: Spend = Spend()
    commit: str = ""
    worker: str = ""
    seconds: float = 0.0
    lease: str = ""


def format_label(version: str, kind: str) -> str:
    """Return the resource that a worker offers for agents of a type; only workers with the same aigon have it."""
    return f"aigon {version} {kind}"
