"""Read what the example agent prints: it is finished when it says so. `example.yaml` says how it is started."""

from aigon.model.turns import ProgramExit, TurnReport


def read_output(exited: ProgramExit) -> TurnReport:
    """Return what the output says of the turn."""
    if b"EXAMPLE finished" not in exited.stdout:
        return TurnReport(end="failed", detail="it did not finish")
    return TurnReport(end="finished", said="I wrote done.txt", model="example-1", cost=0.0, cost_status="reported")
