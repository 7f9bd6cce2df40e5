"""Many cells on a local cluster, with a worker killed every few seconds, or with none.

    python -m benchmarks.fleet [--features 100] [--agents 3] [--workers 2] [--kill 5] [--seconds 5] [--lease 20]

The agents are scripts whose turn takes so many seconds. Printed: what the remote says (cells done, branches, records,
faults in the chains of leases, turns that were repeated), the time against cells / slots x one
`feature-implement --worktree` alone in the same run, the most memory of the scheduler and of a worker in the first and
the last third, and the bytes of a cell that went through the scheduler.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.fleet.chain import find_faults, list_refs, read_chain
from tests.lab import Lab

SPEC = "docs/specs/features/02-backlog/feature-{0:03}-thing-{0}.md"
AGENT = 'sleep {seconds}; echo "$AIGON_FEATURE {name} $AIGON_ITERATION" >> {marks}/turns; echo done > done.txt'
BYTES = 64 * 1024


class Fleet:
    """`aigon fleet run` as a process, its workers, what it printed, and how much memory was used when."""

    def __init__(self, lab: Lab, words: list[str], kill: float) -> None:
        self.lines: list[str] = []
        self.killed, self.memory = 0, list[tuple[float, float, float]]()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aigon", *words], cwd=lab.root, env=lab.env, stdout=subprocess.PIPE, text=True
        )
        threading.Thread(target=self._watch, args=(kill,), daemon=True).start()
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)
        self.code = self.process.wait()

    def _watch(self, kill: float) -> None:
        last = time.monotonic()
        while self.process.poll() is None:
            time.sleep(0.5)
            try:
                scheduler = psutil.Process(self.process.pid)
                workers = [each for each in scheduler.children() if "spawn_main" in " ".join(each.cmdline())]
                sizes = [each.memory_info().rss / 1e6 for each in workers]
                self.memory.append((time.monotonic(), scheduler.memory_info().rss / 1e6, max(sizes, default=0.0)))
                busy = [each for each in workers if each.children()]
                if kill and busy and time.monotonic() - last >= kill:
                    busy[self.killed % len(busy)].kill()
                    self.killed, last = self.killed + 1, time.monotonic()
            except psutil.Error:
                continue

    def most(self, third: int) -> tuple[float, float]:
        """The most memory of scheduler and workers in a third of the time, in MB."""
        size = len(self.memory) // 3 or 1
        part = self.memory[third * size : (third + 1) * size] or self.memory
        return max(each[1] for each in part), max(each[2] for each in part)


def make_lab(folder: Path, features: int, agents: int, seconds: float, lease: float) -> Lab:
    """A repository with so many features and scripted agents, and a bare remote."""
    lab = Lab(folder).init()
    lab.env["PYTHONPATH"] = str(Path(__file__).parents[1])
    (folder / "marks").mkdir()
    for number in range(features + 1):
        lab.spec("done <!-- verify: test -f done.txt -->", name=SPEC.format(number + 1))
    for number in range(agents):
        name = f"a{number}"
        lab.agent(AGENT.format(seconds=seconds, name=name, marks=folder / "marks"), name=name)
    lab.config(guards={"allowUnknownCost": True}, fleet={"lease": lease})
    lab.commit("features")
    lab.git("clone", "-q", "--bare", str(lab.root), str(folder / "remote.git"))
    lab.git("remote", "add", "origin", str(folder / "remote.git"))
    lab.git("config", "--global", "user.name", "Ada")
    lab.git("config", "--global", "user.email", "ada@example.invalid")
    return lab


def measure(given: argparse.Namespace, folder: Path) -> None:
    """Run one alone, then the fleet, and print the figures."""
    lab, remote = make_lab(folder, given.features, given.agents, given.seconds, given.lease), folder / "remote.git"
    begun = time.monotonic()
    alone = ("feature-implement", str(given.features + 1), "--loop", "--worktree", "--agent", "a0", "--json")
    argv = [sys.executable, "-m", "aigon", *alone]
    subprocess.run(argv, cwd=lab.root, env=lab.env, stdout=subprocess.DEVNULL, check=True)
    one, cells = time.monotonic() - begun, given.features * given.agents
    ids = [str(number + 1) for number in range(given.features)]
    names = ",".join(f"a{number}" for number in range(given.agents))
    begun = time.monotonic()
    words = ["fleet", "run", *ids, "--agents", names, "--local", str(given.workers), "--max-cost", "1000", "--json"]
    fleet = Fleet(lab, words, given.kill)
    took = time.monotonic() - begun
    leases, records = (list_refs(remote, f"refs/aigon/{kind}") for kind in ("leases", "records"))
    branches = [name for name in list_refs(remote, "refs/heads") if name.startswith("feature-")]
    faults = [fault for commit in leases.values() for fault in find_faults(remote, commit)]
    chains = [read_chain(remote, commit) for commit in leases.values()]
    done = sum(chain[-1]["summary"]["status"] == "met" for chain in chains)
    takeovers = sum(chain[-1]["epoch"] - 1 for chain in chains)
    turns = Counter((folder / "marks" / "turns").read_text().splitlines())
    print(f"{cells} cells on {given.workers} workers, {fleet.killed} killed: exit code {fleet.code}, {took:.0f} s")
    print(f"proven {done}, branches {len(branches)}, records {len(records)}, taken over {takeovers}")
    print(f"faults in {len(chains)} chains of {sum(map(len, chains))} leases: {faults or 'none'}")
    print(f"turns that ran more than once: {sum(count > 1 for count in turns.values())} of {len(turns)}")
    slots = max(1, len(os.sched_getaffinity(0)) // given.workers) * given.workers
    ratio = took / (cells / slots * one)
    print(f"one alone {one:.1f} s; cells / {slots} slots x that: {cells / slots * one:.0f} s, ratio {ratio:.2f}")
    for what, at in (("scheduler", 0), ("a worker", 1)):
        print(
            f"memory of {what}: {fleet.most(0)[at]:.0f} MB in the first third, {fleet.most(2)[at]:.0f} MB in the last"
        )
    sizes = Counter[str]()
    for line in fleet.lines[:-1]:
        sizes[json.loads(line)["cell"]] += len(line)
    print(f"messages of a cell: at most {max(sizes.values(), default=0)} bytes of JSON  bound {BYTES}")


def main() -> None:
    """Read the options and measure in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("features", 100), ("agents", 3), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, value in (("kill", 5.0), ("seconds", 5.0), ("lease", 20.0)):
        parser.add_argument(f"--{name}", type=float, default=value)
    with tempfile.TemporaryDirectory(prefix="aigon-fleet-") as folder:
        measure(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
