"""What is killed: a small project, agents whose turns give the same however often, and the ways to run them."""

from dataclasses import dataclass
from pathlib import Path

from tests.faults.steps import QUEUE_STEPS
from tests.lab import SPEC, Lab

SLUG = "dark-mode"
CRITERIA = (
    "it greets <!-- verify: grep -qx 'Hello, Ada!' greeting.txt -->",
    "there are three words <!-- metric: wc -l < lib/words.txt >= 3 -->",
    "what is old is gone <!-- verify: test ! -e old.txt -->",
)
TURN = 'echo "$AIGON_ITERATION" >> "$HOME/turns-{name}"\n'
"""Counted by a line: the work tree is put back when a turn is repeated, the person's home is not."""
GREETS = "mkdir -p lib; echo 'Hello, Ada!' > greeting.txt; sleep 0.03\n"
COUNTS = "mkdir -p lib; printf 'one\\ntwo\\nthree\\n' > lib/words.txt; sleep 0.03; rm -f old.txt; sleep 0.03\n"
STEPS = (
    'case "$AIGON_ITERATION" in\n'
    "    1) mkdir -p lib; echo 'Hello, Bob!' > greeting.txt; sleep 0.03; printf 'one\\n' > lib/words.txt ;;\n"
    f"    2) {GREETS} ;;\n"
    f"    *) {COUNTS} ;;\n"
    "esac\n"
)
DAEMON = "setsid sleep 300 > /dev/null 2>&1 < /dev/null &\n"
COMMITS = 'git add -A; git commit -q -m "step $AIGON_ITERATION" || true\n'
ASKS = "aigon run done 1; aigon run skip 2 --reason 'needs a licence'; aigon run enqueue 'Buy a licence'\n"
SCRIPTS = {
    "honest": GREETS + COUNTS,
    "two-step": STEPS,
    "commits": STEPS + COMMITS,
    "daemon": DAEMON + STEPS + DAEMON,
    "asks": ASKS + STEPS,
}
"""Agents by name. What a turn does depends on the work tree and the number of the iteration, nothing else."""
ARENAS = {"both": ("honest", "two-step"), "daemons": ("daemon", "commits")}
"""Who is in an arena of this name."""
MODES = {
    "solo": ("honest", "two-step", "commits", "daemon", "asks"),
    "worktree": ("honest", "two-step", "daemon"),
    "arena": ("both", "daemons"),
    "watch": ("two-step", "daemon"),
    "start": ("two-step", "daemon"),
}
"""The scenarios that there are: agents, or arenas, by mode."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """How `agent` (in an arena: all of that name) does the feature in `mode`."""

    mode: str
    agent: str

    @property
    def agents(self) -> tuple[str, ...]:
        """Everybody who works."""
        return ARENAS[self.agent] if self.mode == "arena" else (self.agent,)

    @property
    def is_queue(self) -> bool:
        """Whether a watcher or a start runs it, from the backlog."""
        return self.mode in QUEUE_STEPS

    @property
    def labels(self) -> tuple[str, ...]:
        """What the runs are told apart by: nothing in solo mode."""
        return ("",) if self.mode == "solo" else self.agents

    def command(self, how: str) -> tuple[str, ...]:
        """The command line that starts (`--loop`) or goes on with (`--resume`) it: of a queue the same one."""
        if self.mode == "watch":
            return ("watch", "--once", "--interval", "1s", "--max-cost", "5")
        if self.mode == "start":
            return ("run", "start", "--max-cost", "5")
        named = [word for name in self.agents for word in ("--agent", name)]
        place = ["--worktree"] if self.mode == "worktree" else []
        return ("feature-implement", "42", how, *named, *place)

    def branch(self, label: str) -> str:
        """The branch of a run."""
        return f"feature-42-{label}-{SLUG}" if label else f"feature-42-{SLUG}"

    def log(self, label: str) -> str:
        """The iteration log of a run, in its tree."""
        return f"docs/specs/features/logs/{self.branch(label)}-log.md"

    def place(self, lab: Lab, label: str) -> Path:
        """The checkout in which a run works."""
        return lab.root.parent / "repo-worktrees" / self.branch(label) if label else lab.root

    def state(self, label: str) -> str:
        """The state file of a run, in the main checkout."""
        return f".aigon/loop-state-42{'-' * bool(label)}{label}.json"

    def turns(self, lab: Lab, name: str) -> int:
        """How many turns `name` began."""
        file = lab.home / f"turns-{name}"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def laid_out(self, folder: Path, *, proof: str = "") -> Lab:
        """The project in a new laboratory, everything committed. `proof` is as in the configuration."""
        lab = Lab(folder).init()
        lab.write("greeting.txt", "Hi\n")
        lab.write("old.txt", "old\n")
        head = "---\nmode: ralph\n---\n" if self.is_queue else ""
        path = SPEC.replace("03-in-progress", "02-backlog") if self.is_queue else SPEC
        lab.spec(*CRITERIA, name=path, frontmatter=head)
        for name in self.agents:
            self._agent(lab, name)
        lab.config(checks={"script": {"command": ["sh", "-c", "grep -q sample README.md"]}}, judge={"backend": "none"})
        lab.config(**({"proof": proof} if proof else {}))
        if self.is_queue:
            lab.config(defaultAgent=self.agent, guards={"allowUnknownCost": True}, watch={"logs": "Ralph_Logs"})
        lab.commit("the project")
        return lab

    def _agent(self, lab: Lab, name: str) -> None:
        """A program of the repository: its place is the same in every laboratory, as is the tree that names it."""
        file = f".aigon/agents/{name}.sh"
        lab.write(file, f"#!/bin/sh\n{TURN.format(name=name)}{SCRIPTS[name]}", executable=True)
        lab.config(agents={name: {"adapter": "command", "command": [file]}})


AT_POINTS = ("honest", "two-step", "both")
"""Who is killed at every fail point; the others pass the same points, and are killed at random moments."""
EVERY = tuple(Scenario(mode, agent) for mode, agents in MODES.items() for agent in agents)
