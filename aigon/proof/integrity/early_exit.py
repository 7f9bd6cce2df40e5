"""Product code that ends the process, so that a test run stops before anything failed and reports success.

`review` for what ends a process past every handler (`os._exit`, the C library's exit, `process.reallyExit`) wherever it
is, and for an ordinary exit with success on import: whoever imports a product does not want to stop. A failing status
can fool nobody and is nothing. Programs end themselves honestly: `if __name__ == "__main__": sys.exit(main())`,
`__main__.py`, functions, shutdown handlers are nothing; a script's exit on its top level and a forked child's
`os._exit` are a `note`.
"""

import ast
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.folding import UNKNOWN
from aigon.proof.analysis.languages import extension, is_javascript, is_python, is_script, list_product
from aigon.proof.analysis.python import Module, can_read, read_units
from aigon.proof.analysis.sightings import Sighting, Verdict, find_new, report, sight
from aigon.proof.analysis.text import bare, without_comments

RULE = "early-exit"
_WHY = (
    "A process that ends like this takes the test run with it, with a status that says success. "
    "Return or raise instead, and leave the program's exit to its entry point."
)
_PAST_HANDLERS = "ends the process past every handler"
_ON_IMPORT = "ends the program when it is imported"


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that ends the process."""
    yield from report(RULE, find_new(list_product(edits), _see), _WHY)


def _see(path: str, text: str) -> Iterator[Sighting]:
    if can_read(path, text):
        script = is_script(path) or text.startswith("#!")
        sightings = (each for module in read_units(text) for each in _see_python(module, script=script))
        yield from {each.line: each for each in sightings}.values()
    elif is_python(path):  # this Python cannot read it
        at = without_comments(text, path).find("_exit(")
        if at >= 0:
            yield sight(text, at, _PAST_HANDLERS)
    elif is_javascript(path):
        yield from _see_javascript(path, _INDEXED.sub(_write_dotted, text))
    elif pattern := _OTHERS.get(extension(path)):
        for match in pattern.finditer(bare(text, path)):
            yield sight(text, match.start(), "ends the process before anything can be tested")


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PY_EXIT = re.compile(r"(sys\.)?exit|quit|builtins\.(exit|quit)|SystemExit|builtins\.SystemExit|site\.(exit|quit)")
_REPLACES = re.compile(
    r"os\.(execv|execve|execvp|execvpe|execl|execle|execlp|execlpe|abort|kill|killpg)|signal\.raise_signal"
)
_FOREIGN = re.compile(r"(ctypes\.(CDLL|cdll|PyDLL|pythonapi).*|libc.*)\.(_exit|exit|_Exit|quick_exit|Py_Exit|kill)$")


def _see_python(module: Module, *, script: bool) -> Iterator[Sighting]:
    forking = {id(f) for f in module.nodes if isinstance(f, _FUNCTIONS) and _can_fork(f, module)}
    leaving = {
        f.name
        for f in module.tree.body
        if isinstance(f, ast.FunctionDef) and any(_is_success(node, module) for node in ast.walk(f))
    }
    for node, functions in _walk(module.tree):
        verdict: Verdict = None
        name = module.name(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) else ""
        if name == "os._exit":
            forked = any(id(f) in forking for f in functions)
            verdict = ("ends a forked process", "note") if forked else (_PAST_HANDLERS, "review")
        elif _FOREIGN.match(name):
            verdict = "ends the process by a function of the C library", "review"
        elif not functions and isinstance(node, ast.Raise) and node.exc and not isinstance(node.exc, ast.Call):
            verdict = (_ON_IMPORT, "review") if _PY_EXIT.fullmatch(module.name(node.exc)) else None
        elif not functions and isinstance(node, ast.Call):
            called = module.name(node.func)
            if _is_success(node, module) or called in leaving:
                verdict = _ON_IMPORT, "note" if script else "review"
            elif _REPLACES.fullmatch(called):
                verdict = "sends the process away when it is imported", "review"
        if verdict:
            yield module.sight(node, *verdict)


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield every node with the functions around it. `if __name__ == "__main__":` counts as one."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while todo:
        node, around = todo.pop()
        yield node, around
        if isinstance(node, ast.If) and _is_main(node.test):
            todo += [(child, (*around, node)) for child in node.body]
            todo += [(child, around) for child in node.orelse]
        elif isinstance(node, _FUNCTIONS):
            body = node.body if isinstance(node.body, list) else [node.body]
            todo += [(child, (*around, node)) for child in body]
            todo += [(child, around) for child in [*getattr(node, "decorator_list", []), node.args]]
        else:
            todo += [(child, around) for child in ast.iter_child_nodes(node)]


def _is_main(test: ast.AST) -> bool:
    """Whether it is `__name__ == "__main__"` and nothing that is true on import as well."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    return {getattr(s, "id", getattr(s, "value", "")) for s in sides} == {"__name__", "__main__"}


def _is_success(node: ast.AST, module: Module) -> bool:
    """Whether it is an exit with a status that may be 0: an import that fails says so by itself."""
    if not isinstance(node, ast.Call) or not _PY_EXIT.fullmatch(module.name(node.func)):
        return False
    status = module.fold(node.args[0]) if node.args else None
    return status is UNKNOWN or status is None or (isinstance(status, int) and status == 0)


def _can_fork(function: ast.AST, module: Module) -> bool:
    return any(isinstance(n, ast.Call) and module.name(n.func) in ("os.fork", "os.forkpty") for n in ast.walk(function))


_ZERO = r"(?!\s*[('\"]?\s*[1-9])"
_EXITS = (
    re.compile(rf"\bprocess\s*(?:\?\.|\.)\s*exit\s*\({_ZERO}|\b(?:Deno|Bun)\.exit\s*\({_ZERO}"),
    re.compile(r"\bprocess\.exitCode\s*=(?!=)\s*(?:0|undefined|null)\b"),
    re.compile(r"\bprocess\.kill\s*\(\s*process\.pid"),
)
_HARD = re.compile(r"\bprocess\s*\.\s*(?:reallyExit|abort|_kill|dlopen)\b|\bprocess\.exit\s*=(?!=)")
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


def _write_dotted(match: re.Match[str]) -> str:
    """Return `['ex' + 'it']` as `.exit`, of the same length."""
    return ("." + re.sub(r"\W", "", match[0])).ljust(len(match[0]))


def _see_javascript(path: str, text: str) -> Iterator[Sighting]:
    plain = bare(text, path)
    script = is_script(path) or text.startswith("#!") or _MAIN.search(plain) is not None
    for match in _HARD.finditer(plain):
        yield sight(text, match.start(), "ends the process, or replaces how it ends")
    for match in _AT_THE_END.finditer(plain):
        handler = text[match.end() : match.end() + 400]
        ends = re.search(r"\bexitCode\b|\.exit\s*\(|reallyExit", handler.split("\n\n")[0])
        if ends and _ENDINGS.match(handler.lstrip()):
            yield sight(text, match.start(), "changes the exit status as the process ends")
    inside = _list_functions(plain)
    taken = [re.compile(rf"(?<![.\w]){m[1] or m[2] or 'exit'}\s*\({_ZERO}") for m in list(_TAKEN.finditer(text))[:5]]
    for pattern in (*_EXITS, *taken):
        for match in pattern.finditer(plain):
            if not any(start < match.start() < end for start, end in inside):
                yield sight(text, match.start(), _ON_IMPORT, "note" if script else "review")


def _list_functions(plain: str) -> list[tuple[int, int]]:
    """Return where the bodies of functions begin and end, except of those that are called at once or soon."""
    functions, stack = [], []
    for match in re.finditer(r"[{}]", plain):
        if match[0] == "{":
            before = plain[max(match.start() - 400, 0) : match.start()]
            is_function = _FUNCTION.search(before) and not _CONTROL.search(before) and not _SOON.search(before)
            stack.append((match.start(), is_function))
        elif stack:
            start, is_function = stack.pop()
            at_once = re.match(r"\s*\)?\s*\(", plain[match.end() : match.end() + 20])
            if is_function and not at_once:
                functions.append((start, match.end()))
    arrows = (m.span() for m in re.finditer(r"=>[^\n{};]{0,300}", plain))
    return functions + [(a, b) for a, b in arrows if not _SOON.search(plain[max(a - 200, 0) : a + 2])]
