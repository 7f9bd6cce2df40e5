#!/usr/bin/env bash
# Runs the tests of this project. Exit 0 means that they ran and passed, nothing else does.
# Replace the body by what your project needs; it runs in the root of the work tree.
set -euo pipefail

ran=0
if [ -f pyproject.toml ] || [ -f pytest.ini ]; then
  python3 -m pytest -q
  ran=1
fi
if [ -f package.json ]; then
  npm test
  ran=1
fi
if [ "$ran" = 0 ]; then
  echo "nothing to run: put your project's commands into .aigon/validation.sh" >&2
  exit 1
fi
