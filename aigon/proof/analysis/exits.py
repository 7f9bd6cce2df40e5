"""Where Python code ends the process, and whether that happens on import."""

import ast
import re
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.analysis.folding import UNKNOWN, fold
from aigon.proof.analysis.languages import extension, is_javascript, is_script
from aigon.proof.analysis.python import Module, units
from aigon.proof.analysis.sightings import Sighting
from aigon.proof.analysis.text import bare, line_at, line_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PY_EXIT = re.compile(r"(sys\.)?exit|quit|builtins\.(exit|quit)|SystemExit|builtins\.SystemExit|site\.(exit|quit)")
_REPLACES = re.compile(
    r"os\.(execv|execve|execvp|execvpe|execl|execle|execlp|execlpe|abort|kill|killpg)|signal\.raise_signal"
)
_FOREIGN = re.compile(r"(ctypes\.(CDLL|cdll|PyDLL|pythonapi).*|libc.*)\.(_exit|exit|_Exit|quick_exit|Py_Exit|kill)$")


def find_python_exits(path: str, source: str) -> Iterator[Sighting]:
    """Every place."""
    for module in units(source):
        forks = {id(f) for f in module.nodes if isinstance(f, _FUNCTIONS) and _forks(f, module)}
        leaving = {f.name for f in module.tree.body if isinstance(f, ast.FunctionDef) and _leaves(f, module)}
        for node, functions in _walk(module.tree, ()):
            seen = _hard(node, module, any(id(f) in forks for f in functions))
            if seen is None and not functions:
                seen = _on_import(node, module, leaving, script=is_script(path) or source.startswith("#!"))
            if seen:
                yield Sighting(module.line(node), module.text(node), *seen)


def _walk(node: ast.AST, functions: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Every node with the functions around it; what runs only when the file is the program is left out."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(node, functions)]
    while todo:
        each, around = todo.pop()
        yield each, around
        if isinstance(each, ast.If) and _is_main(each.test):
            todo += [(child, (*around, each)) for child in each.body]
            todo += [(child, around) for child in each.orelse]
        elif isinstance(each, _FUNCTIONS):
            body = each.body if isinstance(each.body, list) else [each.body]
            todo += [(child, (*around, each)) for child in body]
            todo += [(child, around) for child in [*getattr(each, "decorator_list", []), each.args]]
        else:
            todo += [(child, around) for child in ast.iter_child_nodes(each)]


def _is_main(test: ast.AST) -> bool:
    """Whether it is `__name__ == "__main__"` and nothing that is true on import as well."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    return {getattr(s, "id", getattr(s, "value", "")) for s in sides} == {"__name__", "__main__"}


def _hard(node: ast.AST, module: Module, forked: bool) -> tuple[str, ConcernLevel] | None:
    """What ends the process past every handler, wherever it stands."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        return None
    name = module.name(node)
    if name == "os._exit":
        return ("ends a forked process", "note") if forked else ("ends the process past every handler", "review")
    if _FOREIGN.match(name):
        return "ends the process by a function of the C library", "review"
    return None


def _on_import(node: ast.AST, module: Module, leaving: set[str], script: bool) -> tuple[str, ConcernLevel] | None:
    if isinstance(node, ast.Raise) and node.exc is not None and not isinstance(node.exc, ast.Call):
        return ("ends the program when it is imported", "review") if _PY_EXIT.fullmatch(module.name(node.exc)) else None
    if not isinstance(node, ast.Call):
        return None
    name = module.name(node.func)
    level: ConcernLevel = "note" if script else "review"
    if (_PY_EXIT.fullmatch(name) and _may_be_success(node, module)) or name in leaving:
        return "ends the program when it is imported", level
    return ("sends the process away when it is imported", "review") if _REPLACES.fullmatch(name) else None


def _may_be_success(call: ast.Call, module: Module) -> bool:
    """Whether the status may be 0: an import that fails says so by itself."""
    if not call.args:
        return True
    status = fold(call.args[0], module.values)
    return status is UNKNOWN or status is None or (isinstance(status, int) and status == 0)


def _leaves(function: ast.AST, module: Module) -> bool:
    """Whether a function of the module can end the program with success."""
    return any(
        isinstance(n, ast.Call) and _PY_EXIT.fullmatch(module.name(n.func)) and _may_be_success(n, module)
        for n in ast.walk(function)
    )


def _forks(function: ast.AST, module: Module) -> bool:
    return any(isinstance(n, ast.Call) and module.name(n.func) in ("os.fork", "os.forkpty") for n in ast.walk(function))


_ZERO = r"(?!\s*[('\"]?\s*[1-9])"
_EXIT = re.compile(rf"\bprocess\s*(?:\?\.|\.)\s*exit\s*\({_ZERO}|\b(?:Deno|Bun)\.exit\s*\({_ZERO}")
_STATUS = re.compile(r"\bprocess\.exitCode\s*=(?!=)\s*(?:0|undefined|null)\b")
_HARD = re.compile(r"\bprocess\s*\.\s*(?:reallyExit|abort|_kill|dlopen)\b|\bprocess\.exit\s*=(?!=)")
_KILL = re.compile(r"\bprocess\.kill\s*\(\s*process\.pid")
_AT_THE_END = re.compile(r"\bprocess\s*\.\s*(?:on|once|addListener|prependListener)\s*\(")
_ENDINGS = re.compile(r"['\"`](?:exit|beforeExit)['\"`]")
_SOON = re.compile(
    r"(?:\bset(?:Timeout|Immediate|Interval)|\bnextTick|\bqueueMicrotask|\.finally|\.then)\s*\(\s*"
    r"(?:async\s*)?(?:function\s*\w*\s*)?\(?[\w,\s]*\)?\s*(?:=>\s*)?\{?\s*$"
)
_FUNCTION = re.compile(r"(?:=>|\bfunction\b[^{}]{0,200}|\)\s*(?::\s*[\w<>\[\]|\s.]{1,80})?)\s*$")
_CONTROL = re.compile(
    r"\b(?:if|for|while|switch|catch|with)\s*(?:await\s*)?\([^{}]{0,300}\)\s*$|\b(?:else|try|finally|do)\s*$"
)
_INDEXED = re.compile(r"\[\s{0,5}['\"`][\w'\"`\s+]{1,60}['\"`]\s{0,5}\]")
_TAKEN = re.compile(
    r"(?:const|let|var)\s+(\w+)\s*=\s*process\.exit\b(?!\s*\()"
    r"|\{[^{}]{0,80}?\bexit(?:\s*(?::|as)\s*(\w+))?[^{}]{0,80}\}\s*(?:=\s*(?:process\b"
    r"|require\(\s*['\"](?:node:)?process)|from\s*['\"](?:node:)?process)"
)
_MAIN = re.compile(r"require\.main\s*===?\s*module|module\s*===?\s*require\.main|import\.meta\.(?:main|url)")
_OTHERS = {
    "go": re.compile(r"\bfunc\s+init\s*\(\s*\)\s*\{[^}]{0,400}?\bos\.Exit\s*\(\s*0"),
    "rb": re.compile(r"\bat_exit\b[^\n]{0,40}\n?[^\n]{0,80}\bexit!|^exit!?\s*(?:\(?(?:0|true)\)?)?\s*$", re.MULTILINE),
    "rs": re.compile(r"#\[(?:ctor|used|link_section)[^\n]{0,80}\n[^}]{0,300}?\bexit\s*\(\s*0"),
    "php": re.compile(
        r"\bregister_shutdown_function\b[^;]{0,200}\bexit\b|^(?:exit|die)\s*(?:\(\s*0?\s*\))?;", re.MULTILINE
    ),
}


def find_exits(path: str, text: str) -> Iterator[Sighting]:
    """Every place."""
    if is_javascript(path):
        text = _INDEXED.sub(_dotted, text)
    plain = bare(text, path)
    if is_javascript(path):
        yield from _javascript(path, text, plain)
    elif extension(path) in _OTHERS:
        for match in _OTHERS[extension(path)].finditer(plain):
            yield _sighting(text, match.start(), "ends the process before anything can be tested")


def _javascript(path: str, text: str, plain: str) -> Iterator[Sighting]:
    script = is_script(path) or text.startswith("#!") or _MAIN.search(plain) is not None
    for match in _HARD.finditer(plain):
        yield _sighting(text, match.start(), "ends the process, or replaces how it ends")
    for match in _AT_THE_END.finditer(plain):
        handler = text[match.end() : match.end() + 400]
        if _ENDINGS.match(handler.lstrip()) and re.search(
            r"\bexitCode\b|\.exit\s*\(|reallyExit", handler.split("\n\n")[0]
        ):
            yield _sighting(text, match.start(), "changes the exit status as the process ends")
    inside = _functions(plain)
    taken = [re.compile(rf"(?<![.\w]){m[1] or m[2] or 'exit'}\s*\({_ZERO}") for m in list(_TAKEN.finditer(text))[:5]]
    for pattern in (_EXIT, _STATUS, _KILL, *taken):
        for match in pattern.finditer(plain):
            if not any(start < match.start() < end for start, end in inside):
                here = _sighting(text, match.start(), "ends the program when it is imported")
                yield Sighting(here.line, here.text, here.says, "note") if script else here


def _dotted(match: re.Match[str]) -> str:
    """`['ex' + 'it']` as `.exit`, of the same length."""
    return ("." + re.sub(r"\W", "", match[0])).ljust(len(match[0]))


def _functions(plain: str) -> list[tuple[int, int]]:
    """Where the bodies of functions begin and end, those left out that are called at once or soon."""
    found, stack = [], []
    for match in re.finditer(r"[{}]", plain):
        if match[0] == "{":
            stack.append((match.start(), _is_function(plain[max(match.start() - 400, 0) : match.start()])))
        elif stack:
            start, is_function = stack.pop()
            at_once = re.match(r"\s*\)?\s*\(", plain[match.end() : match.end() + 20]) is not None
            if is_function and not at_once:
                found.append((start, match.end()))
    arrows = (m.span() for m in re.finditer(r"=>[^\n{};]{0,300}", plain))
    return found + [(a, b) for a, b in arrows if not _SOON.search(plain[max(a - 200, 0) : a + 2])]


def _is_function(before: str) -> bool:
    return bool(_FUNCTION.search(before)) and not _CONTROL.search(before) and not _SOON.search(before)


def _sighting(text: str, offset: int, says: str) -> Sighting:
    line = line_at(text, offset)
    return Sighting(line, line_of(text, line), says)
