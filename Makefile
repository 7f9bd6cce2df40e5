# Shortcuts for people; everything here is written out in README.md and CONTRIBUTING.md.

.PHONY: test slow real-agents ci

test:
	.venv/bin/pytest -n 3

slow:
	.venv/bin/pytest -n 3 -m slow

# Installs the real coding agents into ~/.cache/aigon-real-agents (some 3 GB) and runs the loop through each of them
# against a scripted server on loopback. AGENTS="codex claude" takes only these.
real-agents:
	.venv/bin/python -m tests.real_agents $(AGENTS)

ci:
	bash .ci/run
