"""The phrases that proposals are made from: patterns over the skeleton of a wording, with `§N` for what is literal."""

import re

ONE = r"§\d+"
SOME = r"§\d+(?:(?:,| and|, and| or) §\d+)*"
MODAL = r"(?:(?:must|should|shall|will|can|now|also|still|correctly|successfully|always) )*"
_THE = r"(?:(?:an?|the|new|public|small|short|this|its|our|each|every) )*"
_A_FILE = r"(?:file|folder|directory|script|page|document|module|template|config(?:uration)?(?: file)?|migration)s?"
_HERE = (
    r"(?: (?:in|at|under|to|of) (?:the )?(?:repo(?:sitory)?|project|tree|root|(?:project|repository)(?:'s)? root"
    r"|root (?:of the (?:repo(?:sitory)?|project)|folder|directory)))?"
)
_IS = r"(?:is|are|was|were|has been|have been|gets|be)"
_ABOUT = (
    r"(?:(?:the|an?|new|that|how|to|use|using|usage|of|about|its|option|flag|command|function|method|endpoint|setting"
    r"|key|word|words|text|string|phrase|line|section|for|with|variable|verb|both|all|on|call|add) )*"
)
_SORT = (
    r"(?: (?:option|flag|command|function|method|argument|parameter|endpoint|setting|variable|key|verb|section"
    r"|heading"
    r"|entry|class|module|usage|is|works|does|subcommand|default|behaviou?r|now)s?)*"
)
_ENTRY = r"(?:entry|section|line|paragraph|example|note|row|heading|link|reference)s?"
_SAYS = (
    r"(?:mentions?|documents?|explains?|describes?|lists?|contains?|includes?|says?|shows?|covers?|links to|refers to"
    r"|references?|names?|states?|tells(?: about)?|introduces?|announces?|offers?|prints?|knows?"
    rf"|has (?:an? |the )?(?:\w+ )?{_ENTRY}(?: for| about| on| titled| called| named| of| to)?)"
)
_SAID = r"(?:mentioned|documented|explained|described|listed|covered|shown|noted|named|included|announced|referenced)"
_NOT = r"(?:does not|doesn't|do not|don't|no longer|never|must not|should not|shall not|may not)"
_CALLED = r"(?:is|are) (?:no longer|not|never) (?:used|called|imported|mentioned|referenced|found|present|left)"
PLACE = (
    r"(?:(?:the |our |its )*(?P<place>readme|changelog|change log|docs|documentation|contributing(?: guide| page)?"
    r"|license|security policy)(?: file| page)?|(?:the )?(?:file |folder |directory |module |script )?(?P<in>§\d+)"
    r"(?: file| folder| directory)?)"
)
_MOST = r"at most|no more than|not more than|less than or equal to|up to|within|<=|≤|not (?:larger|bigger|longer) than"
_BELOW = r"less than|under|below|smaller than|fewer than|shorter than|<"
_LEAST = r"at least|no less than|not less than|at or above|>=|≥|a minimum of|minimum|min\.?|not below|no lower than"
_ABOVE = r"above|over|more than|greater than|higher than|>|exceeds"
NUMBER = r"[0-9]+(?:[.,][0-9]{3})*(?:\.[0-9]+)?"
BOUND = rf"(?:(?P<most>{_MOST})|(?P<below>{_BELOW})|(?P<least>{_LEAST})|(?P<above>{_ABOVE}))"
_HOLDS = (
    rf"{MODAL}(?:passes|pass|succeeds?|works?|{_IS} (?:still )?(?:clean|green|happy|successful)|stays? (?:green"
    rf"|clean)"
    r"|exits with (?:code |status )?0|(?:reports?|finds?|has|shows?|prints?) (?:nothing|(?:no|zero|0) (?:new )?"
    r"(?:errors?|issues?|problems?|warnings?|violations?|complaints?|findings?)))"
    r"(?: (?:without|with no) (?:any )?(?:errors?|warnings?|issues?|problems?|complaints?))?(?: in strict mode)?"
)


def _compiled(**phrases: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(phrase) for name, phrase in phrases.items()}


PHRASES = _compiled(
    exists=rf"(?:there (?:is|are|exists) )?{_THE}(?:{_A_FILE} )?(?:called |named |at )?(?P<names>{SOME})(?:"
    rf" {_A_FILE})? "
    rf"{MODAL}(?:be )?(?:exists?|{_IS} (?:there|present|created|added|committed|in place|available|checked"
    rf" in))?{_HERE}",
    there_is=rf"(?:there (?:is|are)|add|create|write) {_THE}{_A_FILE} (?:called |named |at"
    rf" )?(?P<names>{SOME}){_HERE}",
    absent=rf"{_THE}(?:{_A_FILE} )?(?P<names>{SOME})(?: {_A_FILE})? (?:no longer exists?|(?:does|do) not exist"
    rf"|doesn't exist"
    rf"|{_IS} (?:removed|deleted|gone)){_HERE}",
    no_file=rf"(?:there (?:is|are) no|(?:remove|delete) {_THE})(?: ?{_A_FILE})? ?(?P<names>{SOME})(?: any ?more|"
    rf" left)?{_HERE}",
    says=rf"{PLACE} {MODAL}{_SAYS} {_ABOUT}(?P<names>{SOME}){_SORT}",
    said=rf"{_THE}(?:option |flag |command |function )?(?P<names>{SOME}){_SORT} {MODAL}{_IS} {_SAID} (?:in|by"
    rf"|on) {PLACE}",
    says_not=rf"{PLACE} {_NOT} (?:mentions?|contains?|includes?|uses?|calls?|imports?|references?|lists?|says?) "
    rf"{_ABOUT}(?P<names>{SOME}){_SORT}(?: any ?more)?",
    none_left=rf"(?:there (?:is|are) )?no (?:more )?(?P<names>{SOME})(?:s|'s| (?:calls|statements|comments"
    rf"|imports|markers"
    rf"|uses))?(?: (?:is|are))?(?: left| remains?| remaining)? in {PLACE}",
    unused=rf"{_THE}(?P<names>{SOME}){_SORT} {_CALLED} in {PLACE}",
    listed=rf"{_THE}(?:name |names )?(?P<names>{SOME}) {MODAL}(?:{_IS} )?(?P<not>not )?(?:listed|included"
    rf"|contained|added"
    rf"|present|part|exported|exposed|found)?(?: ?(?:in|of|to|from|by|through|via))? (?:the )?(?P<list>§\d+)"
    rf"(?: (?:of|in) (?:the )?(?:module |package )?(?P<module>§\d+))?",
    lists=rf"(?:the )?(?P<list>§\d+)(?: (?:of|in) (?:the )?(?:module |package )?(?P<module>§\d+))? {MODAL}"
    rf"(?P<not>{_NOT} )?"
    rf"(?:lists?|contains?|includes?|exports?|has|names?|exposes?) (?:the )?(?P<names>{SOME})",
    exported=rf"{_THE}(?:function |class |helper )?(?P<names>{SOME}) {MODAL}(?:be )?(?:(?:is|are) )?(?:imported"
    rf"|importable"
    rf"|exported|exposed|re-exported|available|accessible) (?:from|in|by|via|through|under) (?:the )?(?:module "
    rf"|package )?"
    rf"(?P<module>§\d+)(?: module| package)?",
    exports=rf"(?:the )?(?:module |package )?(?P<module>§\d+) {MODAL}"
    rf"(?:exports?|exposes?|re-exports?|provides?|offers?"
    rf"|defines?|has) {_THE}(?:function |class |method )?(?P<names>{SOME})(?: function| class)?",
    statement=rf"(?P<names>{ONE}) {MODAL}(?:works?|succeeds?|is possible|does not fail|holds?|is true)|"
    rf"(?P<alone>{ONE})",
    docstring=rf"{_THE}(?:function |class |module )?(?P<names>{SOME}) {MODAL}(?:has|have) an? docstrings?"
    rf"|{_THE}(?P<alone>{SOME}) {MODAL}(?:has|have) docstrings",
    attribute=rf"(?:there (?:is|are) |add |define )?{_THE}(?:function|method|class|constant|helper|attribute"
    rf"|exception)s? "
    rf"(?:called |named )?(?P<names>{SOME})(?: {MODAL}(?:exists?|{_IS} (?:defined|there|available|present"
    rf"|importable)))?"
    rf"|{_THE}(?P<alone>{SOME})(?: function| method| class)? {MODAL}(?:exists?|{_IS} (?:defined|importable"
    rf"|available))",
    example=rf"(?:calling |{_THE}(?:result|value|output) of |for example,? |e\.g\. )?(?P<call>{ONE}) {MODAL}(?:be )?"
    r"(?:returns?|is|equals?|gives?|yields?|evaluates to|results in|produces?|==?|→|->|=>)(?: (?:exactly|equal to))? "
    r"(?:the (?:value|number|string|list|text) )?(?P<value>§\d+|[-+]?[0-9]+(?:\.[0-9]+)?|true|false|none"
    r"|an empty (?:list|string|dict|tuple))",
    raises=rf"(?:calling )?(?P<call>{ONE}) {MODAL}(?:raises?|throws?|fails with|is rejected with|errors? with) "
    r"(?:an? |the )?(?P<error>§\d+|[a-z]\w*(?:error|exception))(?: error| exception)?",
    help=rf"(?:the )?(?:output |text |help )*(?:of |from )?(?P<help>§\d+)(?: output| text| page)? {MODAL}{_SAYS} "
    rf"{_ABOUT}(?P<names>{SOME}){_SORT}",
    in_help=rf"{_THE}(?:option |flag |command )?(?P<names>{SOME}){_SORT} {MODAL}{_IS} {_SAID} (?:in|by) (?:the"
    rf" )?(?:help"
    rf"(?: text| output| page)?(?: of)?)? ?(?P<help>§\d+)?(?: output)?",
    the_help=rf"(?:the )?(?:command(?:'s| line) )?help(?: text| output| page)?(?: of (?P<help>§\d+))? {MODAL}{_SAYS} "
    rf"{_ABOUT}(?P<names>{SOME}){_SORT}",
    prints=rf"(?:running |calling |executing |the command |command )*(?P<run>{ONE}) {MODAL}(?:prints?|outputs?|shows?"
    r"|displays?|writes?|says?|reports?|returns?) (?P<only>only |just |exactly )?(?:the (?:text|word|words"
    r"|number|line|version|message) )?"
    r"(?P<value>§\d+|[0-9]+(?:\.[0-9]+)*)(?: (?:to|on) (?:stdout|standard output|the terminal|the screen))?",
    exits=rf"(?:running |calling |executing |the command |command )*(?P<run>{ONE}) {MODAL}"
    rf"(?:exits?|ends?|fails?|terminates?"
    r"|returns?|stops?) (?:with )?(?:an? |the )?(?:exit )?(?:code|status)?(?: of)? ?(?P<code>[0-9]{1,3})",
    works=rf"(?:running |calling |executing |the command |command )*(?P<run>{ONE}) {_HOLDS}",
    coverage=r"(?:the )?(?P<of>(?:(?:test|code|line|branch|statement|unit|overall|total)[ -])*)coverage "
    rf"(?:of (?:the )?(?:project|code|code ?base|tests?|package) )?{MODAL}(?:(?:is|be|stays?|remains?|reaches"
    rf"|does not drop"
    rf"|doesn't drop|does not fall|kept|of) )*{BOUND}? ?(?P<number>{NUMBER}) ?(?:%|percent|per cent)"
    r"(?: or (?:more|higher|better|above))?",
    covered=rf"{BOUND} (?P<number>{NUMBER}) ?(?:%|percent|per cent)(?: (?:of the )?(?:code|lines|test|statement"
    rf"|line))*"
    r" (?:is covered|are covered|coverage)(?: by tests)?",
    size=rf"{_THE}(?:size of )?(?P<names>{ONE}) {MODAL}(?:be )?(?:(?:is|are|weighs?|stays?|has|have"
    rf"|remains?|contains?) )?"
    rf"{BOUND} (?P<number>{NUMBER}) ?(?P<unit>lines?|bytes?|b|kb|kib|mb|mib|k|words?)(?: of code| long| in size|"
    rf" large)?"
    r"(?: or (?:less|fewer|smaller|more))?",
    tested=rf"(?:there (?:is|are) |add |write )?{_THE}(?:unit |new |automated )*tests? (?:(?:for|of|that"
    rf" covers?|covers?|covering"
    rf"|exercises?) )+(?:the )?(?P<names>{SOME})(?: function| method| class| option)?(?: passe?s?| exists?)?"
    rf"|{_THE}(?P<alone>{SOME}) (?:is|are|has|have) (?:covered by |unit |automated |new )*(?:tests?|tested)",
    tool=rf"(?:the )?(?P<tool>§\d+|mypy|ruff|eslint|tsc|pyright|pytest|flake8|pylint|jest|vitest|cargo test|go"
    rf" test|go vet"
    rf"|npm (?:run )?test|biome|mocha|unittest)(?: check| run)? {_HOLDS}",
    unbroken=r"(?:there (?:are|is) )?no regressions?(?: in (?:the )?(?:existing )?(?:tests?|behaviou?r"
    r"|functionality))?"
    r"|(?:(?:all|the|of|our) )*(?:existing|old|previous|current|other) (?:unit"
    r" )?(?:tests?|behaviou?rs?|functionality|features?"
    r"|commands|functions) (?:(?:still|all|keeps?|continues? to|must|should) )*(?:pass(?:es|ing)?|work(?:s|ing)?"
    r"|(?:is|are|stays?|remains?) (?:unchanged|unaffected|intact|green|the same|as (?:it was|they were)))"
    r"|nothing (?:that worked (?:before )?|else )?(?:is broken|breaks|broke|has broken)"
    r"|(?:does not|doesn't) break (?:any )?(?:existing|other) (?:tests?|behaviou?r|functionality|features?)"
    r"|(?:the )?(?:full |whole |entire )?test suite (?:is green|passes|stays green|succeeds)(?: (?:in|on) (?:the"
    r" )?ci)?",
)
"""By name; `aigon.compile.rules.rules` says what each leads to."""

FEELING = re.compile(
    r"\b(?:looks?|feels?|seems?|sounds?) (?!(?:up|at|for|like a bug)\b)\w+"
    r"|\b(?:intuitive|user[- ]friendly|beautiful|pretty|snappy|smooth(?:ly)?|polished|appealing|pleasant"
    r"|delightful|aesthetic\w*"
    r"|visually|eye-catching|professional-looking|fun)\b"
    r"|\beasy (?:to|for)\b|\breads? well\b|\bmatch(?:es)? the (?:design|mock\w*|figma|screenshot)\b"
    r"|\b(?:is|are|be|stays?|remains?) (?:\w+ )?(?:fast|quick|responsive|nice|lovely|comfortable|convenient"
    r"|attractive|modern)\b"
)
"""What a person sees or feels and no command does."""
TIMING = re.compile(
    rf"\b(?:within|under|below|less than|at most|in|faster than) {NUMBER} ?(?:ms|milliseconds?|s"
    rf"|secs?|seconds?|minutes?)\b"
)
ENDPOINT = re.compile(
    r"\bendpoint\b|\bhttp\b|\bstatus(?: code)? [1-5][0-9]{2}\b|\b(?:returns|responds with|answers) (?:a |an"
    r" )?[1-5][0-9]{2}\b"
)
PAGES = re.compile(r"\b(?:readme|changelog|docs?|documentation|documented|licen[cs]e)\b")
