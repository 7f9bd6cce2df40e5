"""What code looks like that fools the checks where no run can tell: the rules of `templates/suspicions.yaml`.

The negative control, the base's tests and the sandbox catch what they can run. What is left are forms: code that asks
whether it is tested, that reaches into the runner, that lies outside of the repository, or that ends a process in a
language whose tests aigon cannot alter. Each form is a pattern over the code as `written` puts it: without comments,
and with texts put together. Python has a line for each statement, with names resolved (`sys.modules`, not `m`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from itertools import accumulate
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.files.resources import read_shipped
from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis.languages import extension, is_javascript, is_python, is_script, list_parts, list_product
from aigon.proof.analysis.patterns import expand
from aigon.proof.analysis.python import list_statements, read_module
from aigon.proof.analysis.sightings import Sighting, find_new, report, report_file
from aigon.proof.analysis.text import join_strings, line_of, without_comments
from aigon.syntax import Source, parse
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

RULE = "suspicions"
Part = Literal["product", "tests", "any"]
_LONGEST_LINE = 2000
_SOON = compile_re(r"\b(?:set(?:Timeout|Immediate|Interval)|nextTick|queueMicrotask|finally|then)$")


class Sign(Struct, frozen=True):
    """A pattern, and what code does that it is found in. Of several on one line the first counts.

    `languages` are `python`, `javascript` or extensions, none for every file; `beside` has to be found somewhere in
    the file, and `path` in its path. Without `find` a new file of that path is one; if it is `touched`, any change of
    it. `place` is where a line runs: on `import`, also in a script; on import and in no `script`; in a `function`.
    """

    says: str
    find: str = ""
    languages: tuple[str, ...] = ()
    level: ConcernLevel = "review"
    place: Literal["any", "import", "script", "function"] = "any"
    path: str = ""
    beside: str = ""
    part: Part = "product"
    touched: bool = False

    def fits(self, path: str) -> bool:
        """Return whether a file can have it."""
        end = extension(path)
        is_language = (
            not self.languages
            or end in self.languages
            or ("python" in self.languages and is_python(path))
            or ("javascript" in self.languages and is_javascript(path))
        )
        return is_language and re.search(self.path, path) is not None


class Suspicion(Struct, frozen=True):
    """One rule. With `together`, a file is reported only if it has every thing that the signs say; with `unless`, none
    is if the base had that."""

    rule: str
    why: str
    signs: tuple[Sign, ...]
    together: bool = False
    unless: str = ""


@cache
def read_suspicions() -> tuple[Suspicion, ...]:
    """Return the rules that ship, with `%name%` replaced by what it stands for."""
    document = parse_yaml(read_shipped("templates", "suspicions.yaml"), "suspicions.yaml").fields(("names", "rules"))
    names = {name: node.text() for name, node in document["names"].pairs().items()}
    rules = (node.build(Suspicion) for node in document["rules"].items())
    return tuple(
        replace(
            rule,
            signs=tuple(
                replace(each, find=expand(each.find, names), beside=expand(each.beside, names)) for each in rule.signs
            ),
        )
        for rule in rules
    )


def look(edits: Edits) -> Iterator[Concern]:
    """Report every file in which a rule finds something that is new."""
    parts: dict[Part, list[Edit]] = {
        "product": list_product(edits),
        "tests": list_parts(edits, "tests", "config"),
        "any": list(edits.files),
    }
    base = [*(edit.before or "" for edit in edits.files), *edits.tests.values()]
    for rule in read_suspicions():
        if rule.unless and any(re.search(rule.unless, text, re.MULTILINE) for text in base):
            continue
        for sign, edit in ((sign, edit) for sign in rule.signs if sign.touched for edit in edits.files):
            if sign.fits(edit.path):
                yield report_file(rule.rule, sign.level, f"{fold(edit.path)} {sign.says}. {rule.why}", edit)
        for part, files in parts.items():
            signs = tuple(sign for sign in rule.signs if sign.part == part and not sign.touched)
            see = partial(_see, signs, first=not rule.together)
            found = find_new(files, see) if signs else ()
            wanted = len({sign.says for sign in signs}) if rule.together else 1
            yield from report(rule.rule, (row for row in found if len({s.says for s in row[1]}) >= wanted), rule.why)


def _see(signs: tuple[Sign, ...], path: str, text: str, *, first: bool = True) -> Iterator[Sighting]:
    """Yield what a text has; of each line what is `first`, or everything."""
    fitting = [sign for sign in signs if text and sign.fits(path)]
    if not fitting:
        return
    written = write(path, text)
    seen = dict[tuple[int, str], Sighting]()
    for sign in fitting:
        if not sign.find:
            yield Sighting(1, path, sign.says, sign.level)
        elif not sign.beside or re.search(sign.beside, written.text):
            for match in re.finditer(sign.find, written.text, re.MULTILINE):
                row = bisect_right(written.starts, match.start()) - 1
                line, place = written.lines[row], written.places[row]
                if sign.place in ("any", place) or (sign.place == "import" and place == "script"):
                    seen.setdefault(
                        (line, "" if first else sign.says), Sighting(line, line_of(text, line), sign.says, sign.level)
                    )
    yield from seen.values()


class Written(Struct, frozen=True):
    """Code as it is compared: for each of its lines where it begins, its line in the file, and when it runs."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[int, ...]
    places: tuple[str, ...]


@lru_cache(maxsize=256)
def write(path: str, text: str) -> Written:
    """Return the code of a file without comments, names and texts as plain as they can be told."""
    on_import = "script" if is_script(path) or text.startswith("#!") else "import"
    if is_python(path) and read_module(text):
        rows = list(list_statements(text))
        lines = [written[:_LONGEST_LINE] for _, written, _ in rows]
        numbers = [number for number, _, _ in rows]
        places = ["function" if is_inside else on_import for _, _, is_inside in rows]
    else:
        lines = [join_strings(line[:_LONGEST_LINE]) for line in without_comments(text, path).split("\n")]
        numbers = list(range(1, len(lines) + 1))
        inside = _list_function_lines(path, text)
        places = ["function" if number in inside else on_import for number in numbers]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return Written("\n".join(lines), tuple(starts[:-1]), tuple(numbers), tuple(places))


def _list_function_lines(path: str, text: str) -> frozenset[int]:
    """Return the lines of JavaScript's functions that nothing calls at once or soon."""
    source = parse(path, text) if is_javascript(path) else None
    return frozenset(_walk_functions(source)) if source else frozenset()


def _walk_functions(source: Source) -> Iterator[int]:
    todo = [(source.root, False)]
    while todo:
        node, is_called = todo.pop()
        if ("function" in node.kind or "method" in node.kind) and node.children and not is_called:
            yield from range(node.line, source.last_line(node) + 1)
            continue
        function = node.get("function") if node.kind == "call_expression" else None
        soon = function is not None and _SOON.search(source.text(function)) is not None
        keeps = is_called and node.kind in ("arguments", "parenthesized_expression")
        for child in node.children:
            at_once = child is function and child.kind == "parenthesized_expression"
            todo.append((child, keeps or at_once or (soon and child.field == "arguments")))
