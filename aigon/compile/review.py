"""Check a spec before any agent works on it, without a model: what cannot be decided, what already holds."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, convert

from aigon.compile.compile import try_criteria
from aigon.errors import AigonError
from aigon.files.resources import read_shipped
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.spec_locations import UNDER_WAY, SpecLocation, locate_spec
from aigon.model.criteria import COMMAND_KINDS, Criterion, Spec, SpecWarning
from aigon.proof.vacuity import list_warnings
from aigon.run.prepare import Prepared, list_waiting, prepare
from aigon.spec.criteria import is_criteria_heading
from aigon.spec.markdown import MarkdownPage, line_of, parse_page
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span

_LEFT_OUT = compile_re(r"`+[^`]*`+|\"[^\"]*\"|“[^”]*”|\[[^\]]*\]\([^)]*\)|https?://\S+|(?<!\w)'[^']*'")
_LABEL = compile_re(r"\W*(?:[A-Z]{1,5}-?\d[\w.-]*|\d+(?:\.\d+)*)[\])*:.]*\s")
_BRACKETS = compile_re(r"\([^()]*\)")
_SENTENCE_END = compile_re(r"[.;!?]\s+")
_BEGINNING = 8
"""Words of a clause in which its verb has to be."""


class SpecFinding(Struct, frozen=True):
    """Something that makes a criterion, or the spec, worth less. `line` and `column` count from 1."""

    rule: str
    line: int
    column: int
    message: str
    hint: str
    criterion: int | None = None


class SpecReview(Struct, frozen=True):
    """The findings by line; the numbers of the criteria that a judge or a person decides; and why none ran."""

    spec: Spec
    name: str
    path: str
    findings: tuple[SpecFinding, ...]
    judged: tuple[int, ...]
    people: tuple[int, ...]
    not_run: str


def review_spec(
    checkout: Checkout, options: Options, *, run: bool, timeout: float, say: Callable[[str], None]
) -> SpecReview:
    """Return what is wrong with a spec; `run` its commands once, as a run would before its first turn.

    Raises AigonError (exit 2) for a spec that cannot be read or has no criterion.
    """
    place = locate_spec(checkout.root, checkout.common_dir, options.feature)
    spec = place.parse()
    prepared, refusal = _prepare(checkout, options, place)
    spec = prepared.spec if prepared else spec
    not_run = "" if run else "--no-run was given"
    not_run = not_run or str(refusal or "") or _explain_not_run(place)
    passed = {}
    if prepared and not not_run:
        commands = {c.number: c for c in spec.criteria if c.kind in COMMAND_KINDS}
        trials = try_criteria(checkout, prepared, commands, timeout, say)
        passed = {number: trial.detail for number, trial in trials.items() if trial.base == "green"}
    rules = load_rules()
    page = parse_page(spec.raw)
    findings = [*_find_in_criteria(spec, rules, passed), *_find_in_spec(page, spec, rules)]
    if refusal and (refused := find_refused_line(refusal, place.feature.path)):
        findings.append(SpecFinding("warning", refused.line, 1, refused.message, ""))
    judge = prepared.judge if prepared else None
    open_ = tuple(c.number for c in spec.criteria if c.kind == "judge")
    human = tuple(c.number for c in spec.criteria if c.kind == "human")
    return SpecReview(
        spec=spec,
        name=place.feature.name_for_people,
        path=place.feature.path,
        findings=tuple(sorted(findings, key=lambda finding: (finding.line, finding.column))),
        judged=open_ if judge else (),
        people=human if judge else tuple(sorted((*open_, *human))),
        not_run=not_run if any(c.kind in COMMAND_KINDS for c in spec.criteria) else "",
    )


def _prepare(
    checkout: Checkout, options: Options, place: SpecLocation
) -> tuple[Prepared, None] | tuple[None, AigonError]:
    """Return what a run would have, or why there is nothing: the words of a spec can be checked in any project."""
    try:
        prepared = prepare(checkout, options, with_agent=False, feature=place.feature, read=place.files)
        list_waiting(checkout, place.feature, prepared.spec)
    except AigonError as error:
        return None, error
    return prepared, None


def find_refused_line(refusal: AigonError, path: str) -> SpecWarning | None:
    """Return the line of a spec for which a run refuses it, such as a misspelled check, and why; None if it is none."""
    place = re.fullmatch(rf"{re.escape(path)}:(?: line )?(\d+)", refusal.where)
    return SpecWarning(int(place[1]), f"{refusal.what}. {refusal.hint}") if place else None


def _explain_not_run(place: SpecLocation) -> str:
    if place.branch:
        return f"the spec is on {place.branch}, which is not checked out"
    if place.feature.stage in UNDER_WAY[2:]:
        return "the feature is worked on already, so what passes shows the work"
    return ""


def _find_in_criteria(spec: Spec, rules: "WordingRules", passed: dict[int, str]) -> Iterator[SpecFinding]:
    """Yield what is wrong with each criterion by itself."""
    for criterion in spec.criteria:
        if (detail := passed.get(criterion.number)) is not None:
            message = f"It holds already ({detail}), so it cannot show that the feature was built"
            yield _place(
                spec.raw, criterion, "holds-already", 0, message, "Ask for what is not there yet, or remove it"
            )
        if criterion.kind != "judge":
            continue
        if (claims := count_claims(criterion.text, rules)) > 1:
            message = f"It makes {claims} claims: one that fails hides the others"
            yield _place(spec.raw, criterion, "two-claims", 0, message, "Write a box for each")
        for word in find_vague_words(criterion.text, rules):
            message = f"Nobody can decide {code_span(word.word)}"
            yield _place(spec.raw, criterion, "vague-word", word.offset, message, word.instead)


def _find_in_spec(page: MarkdownPage, spec: Spec, rules: "WordingRules") -> Iterator[SpecFinding]:
    """Yield what is wrong with the spec as a whole, at its heading, and what its reader warned of."""
    heading = next((line_of(t) for t in page.tokens if t.type == "inline" and is_criteria_heading(t.content)), 1)
    count = len(spec.criteria)
    if count > rules.most_criteria:
        message = f"It has {count} criteria, and more than {rules.most_criteria} are too many for one feature"
        yield SpecFinding("too-many", heading, 1, message, "Make it two features")
    about_tests = (c for c in spec.criteria if c.command or re.search(rules.tests, c.text, re.IGNORECASE))
    if not any(about_tests):
        hint = "Add one, such as `- [ ] ... <!-- verify: COMMAND -->`, or have tests written for them"
        yield SpecFinding("no-tests", heading, 1, "No criterion is decided by a command or asks for a test", hint)
    if all(c.kind == "check" for c in spec.criteria):
        message = "Every criterion is a check of the project, and those may all pass before anything is built"
        yield SpecFinding("only-checks", heading, 1, message, "Say what the feature does")
    head = page.tokens[0].map if page.tokens and page.tokens[0].type == "front_matter" else None
    for warning in list_warnings(spec):
        if warning.line > (head[1] if head else 0):  # keys of other tools are nothing to correct
            yield SpecFinding("warning", warning.line, 1, warning.message.rstrip("."), "")


def _place(raw: bytes, criterion: Criterion, rule: str, offset: int, message: str, hint: str) -> SpecFinding:
    """Return a finding at a character of the criterion's text, whose lines were joined."""
    before = raw[: criterion.box + 2].decode("utf-8", "replace")
    after = raw[criterion.box + 2 :].decode("utf-8", "replace")
    passed = len(re.sub(r"\s", "", criterion.text[:offset]))
    ahead = [match.start() for _, match in zip(range(passed + 1), re.finditer(r"\S", after), strict=False)]
    text = before + after[: ahead[-1] if ahead else 0]
    line = text.count("\n") + 1
    return SpecFinding(rule, line, len(text) - text.rfind("\n"), message, hint, criterion.number)


def describe_deciders(review: SpecReview) -> str:
    """Return which criteria wait for a judge or a person, and how many."""
    total, parts = len(review.spec.criteria), []
    for who, numbers in (("a judge", review.judged), ("a person", review.people)):
        if numbers:
            verb = "is" if len(numbers) == 1 else "are"
            parts.append(f"{len(numbers)} of {total} criteria {verb} decided by {who}: {', '.join(map(str, numbers))}")
    every = "The criterion is" if total == 1 else f"All {total} criteria are"
    return "\n".join(parts) or f"{every} decided by running something"


class VagueRule(Struct, frozen=True):
    """A pattern with the word as its group, and what to write instead."""

    words: str
    instead: str


class WordingRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The patterns of templates/spec_check.yaml, which says what each is. Case does not matter."""

    vague: tuple[VagueRule, ...]
    explained: str
    demands: str
    verbs: str
    tests: str
    most_criteria: int


class VagueWord(Struct, frozen=True):
    """A word that leaves a criterion undecidable, where it is in the text, and what to write instead."""

    offset: int
    word: str
    instead: str


def load_rules() -> WordingRules:
    """Return what is known of words."""
    return convert(parse_yaml(read_shipped("templates", "spec_check.yaml"), "").value, WordingRules)


def find_vague_words(text: str, rules: WordingRules) -> Iterator[VagueWord]:
    """Yield the first undecidable word of each rule, unless its sentence says what it means."""
    start = label.end() if (label := _LABEL.match(text)) else 0
    blanked = " " * start + _blank(text, _LEFT_OUT)[start:]
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(blanked)), len(blanked)]
    for rule in rules.vague:
        for match in re.finditer(rule.words, blanked, re.IGNORECASE):
            begin = max(end for end in ends if end <= match.start())
            sentence = blanked[begin : min(end for end in ends if end > match.start())]
            if not re.search(rules.explained, sentence, re.IGNORECASE):
                yield VagueWord(match.start(1), match[1], rule.instead)
                break


def count_claims(text: str, rules: WordingRules) -> int:
    """Return how many claims a criterion makes: clauses that each demand something, or that a semicolon parts."""
    plain = _blank(_blank(text, _LEFT_OUT), _BRACKETS)
    boundary = rf"(?<=\w)[.;]\s+|,?\s+and\s+(?=(?:\w+\s+){{0,4}}{rules.demands})"
    asking = re.split(boundary, plain, flags=re.IGNORECASE)
    demands = sum(bool(re.search(rules.demands, clause, re.IGNORECASE)) for clause in asking)
    clauses = re.split(r";\s+", plain)
    begun = (" ".join(clause.split()[:_BEGINNING]) for clause in clauses)
    said = sum(bool(re.search(rules.verbs, text, re.IGNORECASE)) for text in begun)
    return max(1, demands, said if len(clauses) > 1 else 0)


def _blank(text: str, pattern: re.Pattern[str]) -> str:
    """Return `text` with underscores in place of what matches: every offset stays."""
    return pattern.sub(lambda match: "_" * len(match[0]), text)
