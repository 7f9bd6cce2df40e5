"""Which changes of a git configuration do no harm: what git and editors write by themselves while people work.

Anything else may name a program, or send a person's work elsewhere. There is no complete list of such keys (filters
and diff drivers are named by attributes), so the list is of the harmless ones.
"""

import re
from collections import Counter
from collections.abc import Sequence

Entry = tuple[str, str]
"""A name, as `git config --list` writes it, and its value."""

_NAME = re.compile(r"[A-Za-z0-9_][\w./+-]*|\.")
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s-]\S*|[\w.][\w.-]*@[\w.][\w.-]*:[^-\s]\S*|\.{0,2}/\S*|[\w.][\w./ -]*")
_SWITCH = re.compile(r"true|false|yes|no|on|off|0|1|", re.I)
_ADDED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"branch\..+\.(?:remote|pushremote)"), _NAME),
    (re.compile(r"branch\..+\.merge"), re.compile(r"refs/\S+")),
    (re.compile(r"branch\..+\.rebase"), re.compile(rf"{_SWITCH.pattern}|merges|interactive|i|m", re.I)),
    (re.compile(r"submodule\..+\.url"), _URL),
    (re.compile(r"submodule\..+\.active"), _SWITCH),
    (re.compile(r"submodule\..+\.branch"), _NAME),
    (re.compile(r"safe\.directory"), re.compile(r"/[^*]*")),
    (re.compile(r"maintenance\.repo"), re.compile(r"/.*")),
)
"""May be added, with such a value, where the name has none yet: what `git push -u` and `git submodule add` write."""
_SEVERAL = re.compile(r"safe\.directory|maintenance\.repo")
_ANYTHING = re.compile(
    r"gui\..*|advice\.\w+|branch\..+\.(?:description|vscode-merge-base|gh-merge-base|github-pr-[\w-]+)"
    r"|lfs\.repositoryformatversion|lfs\..+\.(?:access|locksverify)"
)
"""May be added, changed and removed: nothing is run by them, nothing goes elsewhere."""


_SPARSE = re.compile(r"core\.sparsecheckout(?:cone)?|index\.sparse")


def less_sparse(found: Sequence[Entry], *, own: bool) -> tuple[Entry, ...]:
    """Without what git writes when a worktree is made sparse: in its `own` configuration, and in that which all share.

    The latter is the leave to read the former, and those are all kept.
    """
    if own:
        return tuple(entry for entry in found if not _SPARSE.fullmatch(entry[0]))
    return tuple(entry for entry in found if entry != ("extensions.worktreeconfig", "true"))


def entries(listing: bytes) -> tuple[Entry, ...]:
    """By the output of `git config --list -z`; a name alone has the value `true`."""
    lines = (line.partition("\n") for line in listing.decode(errors="surrogateescape").split("\0") if line)
    return tuple((name, value if equals else "true") for name, equals, value in lines)


def unwanted(before: Sequence[Entry], after: Sequence[Entry]) -> tuple[str, ...]:
    """The names at which `after` is otherwise than `before` in a way that may do harm; empty where there is none."""
    old, new = _serious(before), _serious(after)
    there = {name for name, _ in old}
    added, gone = Counter(new) - Counter(old), Counter(old) - Counter(new)
    bad = {name for name, value in added if not _may_be_added(name, value, there)} | {name for name, _ in gone}
    times = Counter(name for name, _ in added.elements())
    bad |= {name for name in times if times[name] > 1 and not _SEVERAL.fullmatch(name)}
    kept = [entry for entry in new if entry not in added]
    return tuple(sorted(bad or {was[0] for was, now in zip(old, kept, strict=False) if was != now}))


def _serious(entries: Sequence[Entry]) -> list[Entry]:
    return [(name, value) for name, value in entries if not _ANYTHING.fullmatch(name)]


def _may_be_added(name: str, value: str, there: set[str]) -> bool:
    if name in there and not _SEVERAL.fullmatch(name):
        return False
    return "::" not in value and any(key.fullmatch(name) and allowed.fullmatch(value) for key, allowed in _ADDED)
