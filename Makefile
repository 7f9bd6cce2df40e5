# Shortcuts for people; everything here is written out in README.md and CONTRIBUTING.md.

.PHONY: test quick slow real-agents real-projects report-pages kill-matrix soak mechanisms fuzz ci

test:
	.venv/bin/pytest -n 3

# What is pure or nearly so, within a minute on two cores.
QUICK = text model spec config secrets compile profiles proof/integrity
quick:
	.venv/bin/pytest -n 2 -q $(addprefix tests/,$(QUICK)) tests/test_words.py

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

# Kills runs at every fail point and at 300 random moments, alone, in worktrees and in an arena, and resumes them: a good
# half hour. MATRIX="--modes solo --random 20" takes less, MATRIX="--only TRIAL" repeats one.
kill-matrix:
	.venv/bin/python -m tests.faults $(MATRIX)

# 1,000 iterations over resumes, with faults drawn from a seed: is anything lost, does anything grow? A quarter of an
# hour; SOAK="--iterations 100" takes less.
soak:
	.venv/bin/python -m tests.faults.soak $(SOAK)

# Takes out what each promise of docs/promises.md rests on, one mechanism after the other in a copy of the tree, and sees
# its test fail: some ten minutes. ROWS="index.lock power" takes only those.
mechanisms:
	.venv/bin/python -m tests.faults.mechanisms $(ROWS)

# Damaged input for every reader of what others wrote: SECONDS_EACH=600 TARGETS="spec journal" for more of these two.
fuzz:
	.venv/bin/python -m tests.fuzz $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(TARGETS)

ci:
	bash .ci/run
