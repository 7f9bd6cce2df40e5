"""Where JavaScript and other languages end the process, and whether that happens on import."""

import re
from collections.abc import Iterator

from aigon.proof.integrity._languages import extension, is_javascript, is_script
from aigon.proof.integrity._scan import bare, line_at, line_of
from aigon.proof.integrity._sightings import Sighting

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


def exits(path: str, text: str) -> Iterator[Sighting]:
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
