# Shortcuts for people; everything here is written out in README.md and CONTRIBUTING.md.

.PHONY: test slow real-agents real-projects report-pages ci

test:
	.venv/bin/pytest -n 3

slow:
	.venv/bin/pytest -n 3 -m slow

# Installs the real coding agents into ~/.cache/aigon-real-agents (some 3 GB) and runs the loop through each of them
# against a scripted server on loopback. AGENTS="codex claude" takes only these.
real-agents:
	.venv/bin/python -m tests.real_agents $(AGENTS)

# Installs what npm and Go projects need into ~/.cache/aigon-real-projects and takes each kind of project through
# `aigon init` and a red and a green look with its real tools. KINDS="go_module monorepo" takes only these.
real-projects:
	.venv/bin/python -m tests.real_projects $(KINDS)

# Looks at the pages of `aigon report` in a real headless Chromium. Needs one: apt-get install chromium, or
# CHROMIUM=/path/to/it. SHOTS=FOLDER keeps what was seen as pictures.
report-pages:
	.venv/bin/pip install -q -e '.[dev,browser]'
	.venv/bin/pytest -q tests/browser

ci:
	bash .ci/run
