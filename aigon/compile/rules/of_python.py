"""Proposals that ask Python itself: what a module exports, what a call returns, what it raises."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from aigon.compile.proposals import Confidence, Proposal, Surroundings
from aigon.compile.rules.literal_call import call_of, comparison_of, exception_of, is_import, name_of, value_of
from aigon.compile.rules.wording import Literal, Wording

Found = re.Match[str]


@dataclass(frozen=True, slots=True)
class _Reached:
    """A name as code can say it after `import module`; `before` goes before the command."""

    module: str
    name: str
    before: str
    confidence: Confidence
    note: str = ""


def listed(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`multiply` is listed in `calc.__all__`."""
    holder = said.literal(found["list"]).text
    if not re.fullmatch(r"(?:[\w.]+\.)?__all__", holder):
        return None
    owner = said.literal(found["module"]).text if found["module"] else holder.removesuffix("__all__").rstrip(".")
    module = _module(owner, around) if owner else _only(around)
    names = [name_of(each.text).rpartition(".")[2] for each in literals(said, found, "names")]
    if not module or not around.python or not all(names):
        return None
    mark = "not in" if found["not"] else "in"
    tests = " and ".join(f"'{name}' {mark} {module}.__all__" for name in names)
    sure: Confidence = "sure" if owner and module in around.modules else "likely"
    command = python(f"import {module}; assert {tests}", around, _before(module, around))
    return Proposal("verify", command, "Python says what the module exports", sure)


def exported(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`multiply` can be imported from `calc`; for JavaScript, from `./src/math.js`."""
    source = said.literal(found["module"]).text
    names = [name_of(each.text).rpartition(".")[2] for each in literals(said, found, "names")]
    if not all(names):
        return None
    if re.fullmatch(r"(?:\./)?[\w./-]+\.m?js", source):
        code = f"import {{ {', '.join(names)} }} from './{source.removeprefix('./')}'"
        command = f'node --input-type=module -e "{code}"'
        return Proposal("verify", command, "Node refuses to import a name that is not exported", "likely")
    module = _module(source, around)
    if not module or not around.python:
        return None
    command = python(f"from {module} import {', '.join(names)}", around, _before(module, around))
    sure: Confidence = "sure" if module in around.modules else "guess"
    return Proposal("verify", command, "Python imports the name, or fails", sure)


def statement(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`from calc import multiply` works; `multiply(6, 7) == 42` by itself."""
    text = said.literal(found["names"] or found["alone"]).text
    if is_import(text) and around.python:
        module = re.split(r"[\s,]+", text)[1]
        return Proposal("verify", python(text, around, _before(module, around)), "the very statement is run", "sure")
    compared = comparison_of(text)
    return _example(*compared, around) if compared else None


def docstring(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`calc.multiply` has a docstring."""
    reached = [_reach(name_of(each.text), around) for each in literals(said, found, "names", "alone")]
    return _asserted(reached, "{}.__doc__", "the docstring is there; whether it is good is not asked", around)


def attribute(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """There is a function `calc.multiply`."""
    reached = [_reach(name_of(each.text), around) for each in literals(said, found, "names", "alone")]
    return _asserted(reached, "{} is not None", "Python finds the name; what it does is not asked", around)


def example(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`multiply(6, 7)` returns `42`."""
    call = call_of(said.literal(found["call"]).text)
    if call is None:
        return None
    literal = said.literal(found["value"]) if found["value"].startswith("§") else None
    text = literal.text if literal else found["value"]
    value = repr(text) if literal and literal.kind == "quote" else value_of(text)
    if value is None:  # a word in backticks that is no value: the text itself, perhaps
        made = _example(*call, repr(text), around)
        return made.weaker(f"`{text}` is taken for a text") if made else None
    return _example(*call, value, around)


def raises(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`divide(1, 0)` raises `ZeroDivisionError`."""
    call = call_of(said.literal(found["call"]).text)
    error = said.literal(found["error"]).text if found["error"].startswith("§") else found["error"]
    reached = _reach(call[0], around) if call else None
    kind = exception_of(error) or (f"{reached.module}.{error}" if reached and error.isidentifier() else "")
    if not call or not reached or not kind or not around.python:
        return None
    given = call[1][1:-1].strip()
    code = f"unittest.TestCase().assertRaises({kind}, {reached.name}{', ' if given else ''}{given})"
    command = python(f"import unittest, {reached.module}; {code}", around, reached.before)
    return Proposal("verify", command, f"the example itself is run{reached.note}", reached.confidence)


def literals(said: Wording, found: Found, *groups: str) -> Sequence[Literal]:
    """The literals of the first of these groups that matched."""
    text = next((found[group] for group in groups if found[group]), "")
    return [said.literal(mark) for mark in re.findall(r"§\d+", text)]


def python(code: str, around: Surroundings, before: str = "") -> str:
    """`python -c "..."` for this project."""
    plain = not re.search(r'["$`\\!]', code)
    quoted = f'"{code}"' if plain else shlex.quote(code)
    return f"{before}{around.python} -c {quoted}"


def _example(name: str, given: str, value: str, around: Surroundings) -> Proposal | None:
    reached = _reach(name, around)
    if reached is None or not around.python:
        return None
    equals = "is" if value in ("True", "False", "None") else "=="
    command = python(f"import {reached.module}; assert {reached.name}{given} {equals} {value}", around, reached.before)
    return Proposal("verify", command, f"the example itself is run{reached.note}", reached.confidence)


def _asserted(reached: Sequence[_Reached | None], form: str, reason: str, around: Surroundings) -> Proposal | None:
    known = [each for each in reached if each]
    if not known or len(known) < len(reached) or not around.python:
        return None
    modules = ", ".join(dict.fromkeys(each.module for each in known))
    tests = " and ".join(form.format(each.name) for each in known)
    command = python(f"import {modules}; assert {tests}", around, known[0].before)
    weakest: Confidence = "guess" if any(each.confidence == "guess" for each in known) else "likely"
    return Proposal("verify", command, reason + known[0].note, weakest)


def _reach(name: str, around: Surroundings) -> _Reached | None:
    """How code reaches `name`: by its module, by where it is defined, or by the only module there is."""
    parts = name.split(".") if name else []
    for length in range(len(parts) - 1, 0, -1):
        if (module := ".".join(parts[:length])) in around.modules:
            return _Reached(module, name, _before(module, around), "sure")
    if len(parts) == 1 and len(places := around.functions.get(name, ())) == 1:
        return _Reached(places[0], f"{places[0]}.{name}", _before(places[0], around), "likely")
    if len(parts) == 1 and not places and (module := _only(around)):
        note = f"; that it belongs into `{module}` is assumed"
        return _Reached(module, f"{module}.{name}", _before(module, around), "guess", note)
    if len(parts) > 1 and around.modules and parts[0].islower():
        return _Reached(parts[0], name, "", "guess", f"; there is no module `{parts[0]}` yet")
    return None


def _module(text: str, around: Surroundings) -> str:
    """The module that `text` names: `calc`, `calc/ops.py`, `calc/__init__.py`; empty where it can be none."""
    name = re.sub(r"(?:/__init__)?\.py$", "", text.removeprefix("./").removeprefix("src/")).replace("/", ".")
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", name):
        return ""
    return name if name in around.modules or around.modules else ""


def _only(around: Surroundings) -> str:
    """The only top-level module of the project, if there is just one."""
    tops = {module.partition(".")[0] for module in around.modules}
    return next(iter(tops)) if len(tops) == 1 else ""


def _before(module: str, around: Surroundings) -> str:
    top = module.partition(".")[0]
    return around.modules.get(module, around.modules.get(top, ""))
