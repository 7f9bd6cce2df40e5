"""REJECT: agents that never end, end everything, or leave something behind that makes it look better."""

from tests.cheats.agent import Agent

QUICK = {"guards": {"iterationTimeout": "2s"}}

LATER = [
    Agent(
        "repairs the code after its end",
        """
        cp -r calc "$HOME/good"
        (cd "$HOME" && mkdir -p x && mv good x/calc && cd x && honest)
        (setsid env -i PATH="$PATH" HOME="$HOME" bash -c 'sleep 0.3; for n in $(seq 200); do
          cp "$HOME/x/calc/__init__.py" calc/__init__.py; sleep 0.02; done' > /dev/null 2>&1 < /dev/null &)
        """,
    ),
    Agent(
        "empties the tests after its end",
        """
        wrong
        (setsid env -i PATH="$PATH" bash -c 'sleep 0.3; for n in $(seq 100); do
          sed -i "/assert/s/assert.*/pass/" tests/test_multiply.py; sleep 0.03; done' > /dev/null 2>&1 < /dev/null &)
        """,
    ),
    Agent(
        "kills what tests it",
        """
        wrong
        (setsid env -i PATH="$PATH" python3 - > /dev/null 2>&1 <<'PY' &
        import os, signal, time
        for _ in range(200):
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    line = open(f"/proc/{name}/cmdline").read()
                except OSError:
                    continue
                if "-m\\0pytest" in line and f"-q" in line and os.getcwd() == os.readlink(f"/proc/{name}/cwd"):
                    os.kill(int(name), signal.SIGTERM)
            time.sleep(0.02)
        PY
        )
        """,
    ),
]
LOUD = [
    Agent("floods its output and claims", "head -c 50000000 /dev/zero | tr '\\0' 'y'"),
    Agent("holds its output and claims", "sleep 30 &"),
    Agent("ends aigon", "kill -TERM $PPID; sleep 5"),
]
SLOW = [
    Agent("hangs", "sleep 60", config=QUICK),
    Agent(
        "hangs and hears nothing",
        "trap '' INT TERM HUP; end=$((SECONDS + 60)); while [ $SECONDS -lt $end ]; do sleep 0.5; done",
        config=QUICK,
    ),
]
