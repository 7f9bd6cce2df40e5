"""Which programs change something and which only look, by their names and words."""

import re

from aigon.compile.rules.words import word_set

EDITORS = word_set(
    "rm rmdir unlink mv cp ln install touch mkdir mkfifo mknod chmod chown chgrp truncate dd tee patch ed ex vi vim "
    "nano emacs shred rsync scp sftp ssh curl wget kill killall pkill sudo su doas reboot shutdown crontab systemctl "
    "service mount umount eval source . xargs parallel docker podman kubectl terraform psql mysql redis-cli crontab at"
)
"""Programs that change something, or run what cannot be seen here."""
SUBCOMMANDS = {
    "git": "add am apply branch checkout cherry-pick clean clone commit config fetch filter-branch gc init merge mv "
    "notes pull push rebase reset restore revert rm stash switch symbolic-ref tag update-index update-ref worktree",
    "npm": "add ci i init install link publish uninstall update version exec",
    "pnpm": "add i init install link publish remove update dlx exec",
    "yarn": "add init install link publish remove up dlx",
    "bun": "add install link publish remove update x",
    "pip": "download install uninstall",
    "pip3": "download install uninstall",
    "uv": "add lock pip remove sync venv",
    "poetry": "add init install lock publish remove update",
    "cargo": "add clean fix init install new publish remove update fmt",
    "go": "clean fmt generate get install mod",
    "make": "clean install deploy publish release",
}
FLAGS = {
    "sed": r"-\w*i\w*|--in-place.*",
    "perl": r"-\w*i\w*",
    "sort": r"-\w*o\w*|--output.*",
    "find": r"-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)",
    "ruff": r"--fix(?:-only)?|--unsafe-fixes|--add-noqa",
    "eslint": r"--fix(?:-dry-run)?",
    "prettier": r"-w|--write",
    "jest": r"-u|--updateSnapshot",
    "vitest": r"-u|--update",
    "pytest": r"--snapshot-update|--inline-snapshot.*|--basetemp.*",
}
ALONE = {"black": "--check", "isort": "--check(?:-only)?"}
"""Formatters that write unless this word is there."""
READERS = word_set(
    "true false test [ [[ ]] grep egrep fgrep wc cat head tail cut uniq tr ls stat diff cmp jq echo printf basename "
    "dirname seq expr sort find mypy pyright done fi : exit"
)
LOOKING = {
    "git": "grep ls-files show diff log rev-parse ls-tree cat-file check-ignore",
    "ruff": "check",
    "go": "test vet",
    "cargo": "test check",
    "vitest": "run",
}
PASS_ON = ("env", "nice", "stdbuf", "timeout", "npx", "uvx")
IS_SETTING = re.compile(r"-|\w*=|\d+[smhd]?$")
RUN_IT = (("uv", "run"), ("poetry", "run"), ("pnpm", "exec"), ("npm", "exec"))
PYTHON = re.compile(r"python[\d.]*")
RUNNERS = ("pytest", "unittest", "jest", "mocha", "eslint", "tsc", "node")
