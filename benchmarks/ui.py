"""What `aigon ui` costs while ten loops run and their board and pages are open.

    python -m benchmarks.ui [--loops 10] [--seconds 20]

The loops are real ones with an agent that prints a line every half second. Printed: the peak memory of the server and
the share of a core that it used meanwhile, against their bounds, and how long after a reader that looks at a journal
every 20 ms an open page had heard of a new line.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil

from tests.lab import Lab, until

MEMORY, CORE = 80.0, 0.05
"""Megabytes, and the share of a core."""
AGENT = 'for i in $(seq 40); do echo "step $i"; sleep 0.5; done; date +%N > work.txt'


def make_repository(folder: Path, loops: int) -> Lab:
    """Return a repository with so many features, whose agent prints for twenty seconds a turn."""
    lab = Lab(folder).init()
    lab.agent(AGENT)
    for number in range(10, 10 + loops):
        name = f"docs/specs/features/03-in-progress/feature-{number}-loop.md"
        lab.spec("never <!-- verify: false -->", name=name)
    lab.commit("specs")
    return lab


def read_stream(url: str, path: str, heard: list[tuple[float, str]]) -> None:
    """Open a stream with the token of `url`, and note when each line of it came."""
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port)
    connection.request("GET", f"/?{address.query}")
    cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
    connection = HTTPConnection(address.hostname or "", address.port)
    connection.request("GET", path, headers={"cookie": cookie})
    answer = connection.getresponse()
    while line := answer.readline():
        heard.append((time.monotonic(), line.decode(errors="replace")))


def watch_file(lab: Lab, feature: str, written: list[float], stop: threading.Event) -> None:
    """Note when the journal of a feature was seen to grow."""
    size = 0
    while not stop.wait(0.02):
        for file in lab.home.glob(f"state/repos/*/features/{feature}*/journal.jsonl"):
            if file.stat().st_size != size:
                size = file.stat().st_size
                written.append(time.monotonic())


def measure(lab: Lab, loops: int, seconds: float) -> bool:
    """Print what the server took; return whether it is within its bounds."""
    flags = ("--loop", "--worktree", "--skip-validation", "--max-iterations", "3")
    running = [lab.start("feature-implement", str(number), *flags) for number in range(10, 10 + loops)]
    server = subprocess.Popen(
        [sys.executable, "-m", "aigon", "ui", "--json"], cwd=lab.root, env=lab.env, stdout=subprocess.PIPE
    )
    try:
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        until(lambda: len(list(lab.home.glob("state/repos/*/features/*/journal.jsonl"))) >= loops, 120)
        heard: list[tuple[float, str]] = []
        written: list[float] = []
        stop = threading.Event()
        threading.Thread(target=read_stream, args=(url, "/events/board", []), daemon=True).start()
        threading.Thread(target=read_stream, args=(url, "/events/feature/10", heard), daemon=True).start()
        threading.Thread(target=watch_file, args=(lab, "10", written, stop), daemon=True).start()
        time.sleep(3)
        process, begun = psutil.Process(server.pid), time.monotonic()
        before, peak = process.cpu_times(), 0
        while time.monotonic() - begun < seconds:
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.2)
        after = process.cpu_times()
        stop.set()
        share = (after.user + after.system - before.user - before.system) / (time.monotonic() - begun)
        data = [at for at, line in heard if line.startswith("data:")]
        lags = [next((at - moment for at in data if at >= moment), seconds) for moment in written if moment > begun]
        print(f"memory      {peak / 1e6:.0f} MB of at most {MEMORY:.0f}")
        print(f"processor   {share:.1%} of a core, at most {CORE:.0%}")
        print("lag         " + (f"median {1000 * median(lags):.0f} ms of {len(lags)} events" if lags else "no event"))
        return peak / 1e6 <= MEMORY and share <= CORE
    finally:
        server.terminate()
        for each in running:
            each.terminate()
        for each in (*running, server):
            each.wait(60)


def main() -> int:
    """Measure, and return 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--loops", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return int(not measure(make_repository(Path(folder), options.loops), options.loops, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
