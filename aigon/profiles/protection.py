"""Rules on what an agent may change and what follows a change: data in profiles and configuration."""

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Annotated

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.model.changes import ConcernLevel, FilePart
from aigon.text.documents import DocumentNode
from aigon.text.patterns import compile_globs, is_covered, is_match

PARTS: tuple[FilePart, ...] = ("tests", "config", "other")
PROSE = ("*.{md,rst,txt,adoc,json,toml,cfg,ini,lock,svg,png,csv,yaml,yml}", "LICENSE*", "docs/**")
"""What is no code, so that rules on code leave it alone."""
ASSETS = (
    "*.{png,jpg,jpeg,gif,webp,avif,ico,bmp,woff,woff2,ttf,otf,eot,mp3,mp4,webm,ogg,wav,pdf,psd,zip,gz,xz,zst,tar,7z}",
    "*.{bin,dat,onnx,pt,npz,npy,parquet,sqlite,db,wasm,jar,map}",
)


CALLED = "called by a check"
FOUND = ("a check", "the validation script", CALLED, "a target of the Makefile")
"""Sources of rules that are read from the tree."""
_RUNNER_MODULES = frozenset(
    ("pytest", "_pytest", "pluggy", "mypy", "ruff", "coverage", "sitecustomize", "usercustomize", "nose2", "tox")
)


class Rule(Struct, frozen=True):
    """Files by glob; with `keys` only those keys of them (dotted; sections in an INI file) are meant.

    `tests` and `config` at level `review` need no person where the deciding run is green with the base's versions of
    them, too. `source` says where the rule comes from.
    """

    paths: tuple[str, ...]
    level: ConcernLevel = "review"
    part: Annotated[FilePart, lambda node: node.choice(PARTS)] = "other"
    keys: tuple[str, ...] = ()
    source: str = ""

    def means(self, path: str) -> bool:
        """Return whether it is about this file."""
        return any(is_match(pattern, path) for pattern in self.paths)

    @property
    def relaid(self) -> bool:
        """True if the base's versions are laid over the tree for a second deciding run."""
        return self.level == "review" and self.part in ("tests", "config")


class Protection(Struct, frozen=True, dict=True):
    """All rules, the project's own first: the first that means a file counts. `allow` are the spec's exceptions.

    `secrets` are files that may be committed whatever they look like (`secrets.allow` in the configuration). `asked`
    are files whose change the spec's words ask for, although it does not allow it: no agent can settle that. `free` are
    files that decide nothing, whatever reads them. `compared` are programs of which criteria only compare the output.
    """

    rules: tuple[Rule, ...] = ()
    allow: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @cached_property
    def _is_named(self) -> Callable[[str], bool]:
        """Return whether any rule is about a file: one pattern instead of all of them, for files that none means."""
        return compile_globs(tuple(pattern for rule in self.rules for pattern in rule.paths))

    def list_script_rules(self) -> tuple[Rule, ...]:
        """Return the rules that were read from the project's own scripts."""
        return tuple(rule for rule in self.rules if rule.source in FOUND)

    def add_found(self, earlier: Sequence[Rule]) -> "Protection":
        """Return the protection with rules that were found earlier, ahead of the shipped ones."""
        more = [rule for rule in earlier if rule not in self.rules]
        place = next((n for n, rule in enumerate(self.rules) if rule.source in FOUND), None)
        if place is None:
            place = next((n for n, r in enumerate(self.rules) if r.source != "protect in .aigon/config.json"), 0)
        return replace(self, rules=(*self.rules[:place], *more, *self.rules[place:]))

    def is_allowed(self, path: str) -> bool:
        """Return whether the spec's frontmatter permits any change of this file."""
        return any(is_covered(pattern, path) for pattern in self.allow)

    def asks_for(self, paths: Iterable[str]) -> bool:
        """Return whether the spec's words ask for a change of one of these files."""
        return any(path in self.asked for path in paths)

    def is_open(self, path: str) -> bool:
        """Return whether only its readers can tell what a file is for: no rule and no word of the spec does."""
        free = any(is_match(pattern, path) for pattern in self.free)
        return not (free or self.is_allowed(path) or self.rules_of(path))

    def may_hold_secrets(self, path: str) -> bool:
        """Return whether the spec or the configuration lets a file be committed whatever it looks like."""
        return any(is_covered(pattern, path) for pattern in (*self.allow, *self.secrets))

    def rules_of(self, path: str) -> tuple[Rule, ...]:
        """Return the rules that count for a file; none for one that is free or that the spec allows.

        A rule on keys leaves the other keys to those after it; the first one on the whole file is the last.
        """
        found: list[Rule] = []
        if not self._is_named(path) or self.is_allowed(path):
            return ()
        for rule in self.rules:
            if rule.means(path):
                found += _subtract_keys(rule, found)
                if not rule.keys:
                    break
        return tuple(found)

    def rule(self, path: str, fits: Callable[[Rule], bool] = lambda _: True) -> Rule | None:
        """Return the rules that count and fit as one: on the whole file, or on all keys that they name."""
        found = [rule for rule in self.rules_of(path) if fits(rule)]
        whole = next((rule for rule in found if not rule.keys), None)
        if whole or not found:
            return whole
        return replace(found[0], keys=tuple(dict.fromkeys(key for rule in found for key in rule.keys)))

    def relaid(self, path: str, *, new: bool) -> Rule | None:
        """Return the rule by which the base's version of a file is laid over the tree, also over a new file.

        A script that is new was called by nothing on the base: the tree in which it was found has the agent's work.
        """
        if self.rules_of(path):
            return self.rule(path, lambda rule: rule.relaid and not (new and rule.source == CALLED))
        return SHADOW if new and is_shadowing(path) and not self.is_allowed(path) else None

    def part(self, path: str) -> FilePart:
        """Return what a file is for, whatever the spec allows."""
        rules = self.rules if self._is_named(path) else ()
        rule = next((rule for rule in rules if rule.part != "other" and rule.means(path)), None)
        if rule and not rule.keys:
            return rule.part
        if is_shadowing(path):
            return "config"
        return "other" if any(is_match(f"**/{pattern}", path) for pattern in (*PROSE, *ASSETS)) else "product"


def _subtract_keys(rule: Rule, before: Sequence[Rule]) -> list[Rule]:
    """Return `rule` on the keys that no rule before it is about; nothing if it has no other."""
    claimed = [key for each in before for key in each.keys]
    if not rule.keys:
        return [rule]
    left = tuple(key for key in rule.keys if not any(key == each or key.startswith(f"{each}.") for each in claimed))
    return [replace(rule, keys=left)] if left else []


SHADOW = Rule((), "review", "config", source="a module named like one of Python's own")


def is_shadowing(path: str) -> bool:
    """Return whether a module at the root or in `src` would shadow one of Python's or of the test runner's."""
    top = path.removeprefix("src/").removesuffix(".py").partition("/")[0]
    return path.endswith(".py") and (top in sys.stdlib_module_names or top in _RUNNER_MODULES)


def read_rules(node: DocumentNode) -> tuple[Rule, ...]:
    """Return the rules in a list of a YAML document. Raises AigonError (usage) that names file and key."""
    return tuple(item.build(Rule, source=item.file) for item in node.items())


def describe_rules(rules: Sequence[Rule]) -> list[dict[str, object]]:
    """Return the rules as data for people and scripts."""
    return [{**to_builtins(rule), "paths": list(rule.paths), "keys": list(rule.keys)} for rule in rules]
