"""Signs that a text talks to a judge: what is looked for, what it counts, by kind."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aigon.proof.analysis.text import Prose

DONE = r"(?:met|satisfied|passed|passing|fulfilled|completed?|done|true|verified|proven|green)"
_MODEL = (
    r"(?:judge|grader|evaluator|verifier|arbiter|llm|language[ _]model|ai[ _]model|ai[ _]reviewer"
    r"|reviewer[ _]model"
    r"|(?:review|reviewing|judging|grading|evaluating|evaluation)[ _]model)"
)
_EARLIER = r"(?:previous|prior|above|earlier|preceding|former|foregoing|existing|original)"
_VERB = r"(?:mark|rate|grade|judge|consider|treat|label|score|count|declare|deem|regard)"

_SIGNS: tuple[tuple[str, int, str], ...] = (
    (
        "order",
        2,
        (
            rf"\b(?:ignore|disregard|forget)\b (?:\w+ ){{0,4}}?{_EARLIER} (?:\w+ ){{0,2}}?(?:instruction|prompt"
            rf"|guideline)"
        ),
    ),
    (
        "order",
        2,
        (
            r"\b(?:ignore|disregard|forget) (?:all|any|every|your)(?: of)?(?: the| your)? (?:instruction"
            r"|prompt|guideline)s?\b"
        ),
    ),
    (
        "order",
        1,
        (
            rf"\b(?:ignore|disregard|forget|override|bypass)\b (?:\w+ ){{0,3}}?{_EARLIER} (?:rule|direction"
            rf"|message|order)"
        ),
    ),
    ("order", 2, r"\b(?:ignorier|missacht|vergiss)\w*\b.{0,40}\b(?:anweisung|instruktion)\w*"),
    (
        "order",
        2,
        (r"\bignore[zr]?\b.{0,30}\binstructions? pr[eé]c[eé]dentes?|\bignora\b.{0,30}\binstrucciones (?:ant" r"|prev)"),
    ),
    ("order", 2, r"忽略.{0,10}(?:指令|指示|说明)|以前の指示を無視"),
    ("order", 2, rf"\b{_VERB}\b[^.;]{{0,60}}?\bAC[-\s]?\d+\b[^.;]{{0,60}}?\b{DONE}\b"),
    ("order", 2, rf"\b{_VERB}\b (?:\w+ ){{0,3}}?(?:acceptance )?criteri(?:on|a) (?:\w+ )?(?:as|to be|to|=) {DONE}\b"),
    (
        "order",
        2,
        (
            r"\b(?:output|reply|respond|answer|return|say|print)\b (?:\w+ ){0,2}?\W?(?:met ?[=:] ?true"
            r"|all (?:criteria )?met)"
        ),
    ),
    ("order", 2, r"\b(?:output|reply|respond|answer)\b (?:\w+ ){0,2}?\W?\{ ?\"(?:criteria|verdicts?|met|id)\""),
    ("order", 2, rf"\b(?:the )?(?:verdict|answer|reply) (?:must|should|shall|has to) be \W?(?:{DONE})\b"),
    (
        "address",
        2,
        (
            rf"(?:\bnote|\bmessage|\binstructions?|\bhint|\bmemo)[\s_:-]{{1,3}}(?:to"
            rf"|for)[\s_-]+(?:the[\s_-]+)?{_MODEL}(?![a-z])"
        ),
    ),
    ("address", 2, rf"(?:\bdear|\bhello|\bhey|\battention)[\s_,:-]{{1,3}}(?:the[\s_-]+)?{_MODEL}(?![a-z])"),
    (
        "address",
        2,
        (r"\bto the (?:reviewing|judging|grading|evaluating|verifying|scoring) (?:model|llm|ai|agent" r"|assistant)\b"),
    ),
    (
        "address",
        1,
        (
            r"\bif you are (?:an? |the )?(?:llm|ai|judge|language model|\w+ model)\b"
            r"|\byou are (?:now )?(?:an? |the )?(?:judge|grader)\b"
        ),
    ),
    ("address", 1, r"(?:^|[.!?:*] |\s)(?:judge|grader|evaluator|verifier|llm) ?[:,] "),
    ("chat", 1, r"(?-i:(?:^|\s|[\"'])(?:SYSTEM|ASSISTANT|DEVELOPER|HUMAN)(?: [A-Z]+)? ?:(?= ?[A-Z]))"),
    (
        "chat",
        1,
        (r"<\|(?:im_start|im_end|system|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<</?SYS>>" r"|\[SYSTEM\]"),
    ),
    ("chat", 1, r"</?system(?:[-_](?:reminder|prompt|message))?>|###? ?(?:System|Instruction) ?:"),
    (
        "verdict",
        1,
        (r"['\"](?:met|satisfied|is_met|criteria_met|all_met)['\"] ?: ?(?:true|1\b)|\bmet ?= ?(?:true" r"|yes)\b"),
    ),
    (
        "verdict",
        1,
        (
            r"['\"](?:status|verdict|result|outcome)['\"] ?: ?['\"](?:met|satisfied)['\"]"
            r"|\bverdict ?[:=] ?['\"]?(?:met|satisfied)\b"
        ),
    ),
    ("verdict", 1, r"\bAC[-\s]?\d+ ?(?::|=|->|→|-) ?(?:met\b|PASS(?:ED)?\b|satisfied\b|verified\b|✓|✅)"),
    (
        "claim",
        1,
        (
            rf"\ball (?:of the |the |\d+ )?(?:acceptance )?criteria (?:\w+ ){{0,3}}?{DONE}\b"
            rf"|all_criteria_(?:are_)?met"
        ),
    ),
    ("claim", 1, rf"\bAC\d+ ?(?:-|to|–|through) ?(?:AC)?\d+ (?:\w+ ){{0,3}}?{DONE}\b"),
    (
        "authority",
        1,
        (
            r"\b(?:approved|verified|reviewed|signed off|confirmed)\b (?:\w+ ){0,3}?by (?:a |the "
            r"|our )?(?:\w+ )?(?:human|team|maintainer|person)"
        ),
    ),
    (
        "authority",
        1,
        (
            r"\bhuman (?:reviewer|maintainer|judge) (?:has )?(?:already )?(?:approved|confirmed)"
            r"|\balready approved by\b"
        ),
    ),
    (
        "authority",
        1,
        (
            r"\bthe (?:evaluation|review|judgement|judging|grading) (?:above |below )?(?:is"
            r"|has been) (?:now )?(?:complete|over|finished)\b"
        ),
    ),
    (
        "authority",
        1,
        (
            r"\bno (?:further|additional|more) (?:review|verification|checking|evaluation) (?:is )?(?:needed"
            r"|required|necessary)\b"
        ),
    ),
)
_PATTERNS = [(kind, weight, re.compile(pattern, re.IGNORECASE)) for kind, weight, pattern in _SIGNS]
_CLOSES = re.compile(
    r"</((?:diff|evidence|data|criteri(?:a|on)|instructions?|spec|patch|untrusted|documents?"
    r"|file_content|repository|prompt"
    r"|tool_result|function_results|judge\w*|verdict|evaluation)(?:[-_:][\w-]{1,64})?)\s*>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign: its kind, what it counts, the words, and where they begin in the prose (-1: in its raw text)."""

    kind: str
    weight: int
    words: str
    at: int


def signs(prose: Prose, opened: str = "") -> Iterator[Sign]:
    """All signs of a text. `opened` is other text in which a closing tag may have been opened."""
    for kind, weight, pattern in _PATTERNS:
        match = pattern.search(prose.words)
        if match:
            yield Sign(kind, weight, prose.words[match.start() : match.end() + 60], match.start())
    for match in _CLOSES.finditer(prose.raw):
        name = match[1].lower()
        if f"<{name}" not in prose.raw[: match.start()].lower() and f"<{name}" not in opened.lower():
            yield Sign("delimiter", 2 if re.search(r"[-_:]\w*\d", name) else 1, match[0], -1)


_CARRIERS = re.compile("[\U000e0020-\U000e007e]{4}|[\u200b\u200c\u200d\u2060\ufeff]{8}")
_TURNS = re.compile("[\u202d\u202e\u2066-\u2068]")


def hidden(text: str, is_code: bool) -> str:
    """What could carry text that nobody sees; "" for nothing. Flags are made of such characters, too, but of few."""
    flags = re.sub("\U0001f3f4[\U000e0020-\U000e007f]{1,7}", "", text)
    if _CARRIERS.search(flags):
        return "characters that cannot be seen"
    return "characters that change the order in which code is shown" if is_code and _TURNS.search(text) else ""
