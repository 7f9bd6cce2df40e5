"""A file of prices: YAML, read strictly. `templates/prices.yaml` ships; people's and projects' have the same form."""

from dataclasses import replace
from datetime import date, datetime

from aigon.config.prices import Group, Price, Table
from aigon.text.documents import Node
from aigon.text.yaml import parsed

DEAREST = 10_000.0
"""US dollars per million tokens. The dearest model is two orders below: more is a slip of the decimal point."""
_RATES = ("input", "output", "cache_write", "cache_read")


def read(content: bytes, file: str) -> Table:
    """The table in a YAML document. Raises AigonError (usage) that names file and key for one that is malformed."""
    fields = parsed(content, file).fields(("as_of", "groups"), required=("as_of", "groups"))
    as_of = _day(fields["as_of"])
    return Table(as_of, tuple(_group(node, as_of) for node in fields["groups"].items()))


def _group(node: Node, as_of: str) -> Group:
    fields = node.fields(("provider", "as_of", "source", "prefixes", "aliases", "models"), required=("models",))
    texts = {key: fields[key].text() for key in ("provider", "source") if key in fields}
    return Group(
        prices={name: _price(price) for name, price in fields["models"].pairs().items()},
        as_of=_day(fields["as_of"]) if "as_of" in fields else as_of,
        prefixes=_prefixes(fields["prefixes"]) if "prefixes" in fields else (),
        aliases={alias: name.text() for alias, name in fields["aliases"].pairs().items()}
        if "aliases" in fields
        else {},
        file=node.file,
        **texts,
    )


def _prefixes(node: Node) -> tuple[str, ...]:
    if "" in (prefixes := node.texts()):
        raise node.wrong("holds an empty text", "A prefix is what stands before a model's name, such as openai/")
    return prefixes


def _price(node: Node) -> Price:
    fields = node.fields((*_RATES, "long", "until"), required=("input", "output"))
    price = replace(_rated(fields), until=_day(fields["until"]) if "until" in fields else "")
    if "long" not in fields:
        return price
    long = fields["long"].fields((*_RATES, "above"), required=("above", "input", "output"))
    above = long["above"].whole()
    if not above:
        raise long["above"].wrong("must be a number of tokens above 0")
    return replace(price, above=above, long=_rated(long))


def _rated(fields: dict[str, Node]) -> Price:
    """A cache that has no price of its own costs what input costs: an estimate should rather be too high."""
    given = {name: _dollars(fields[name]) for name in _RATES if name in fields}
    plain = given["input"]
    return Price(plain, given["output"], given.get("cache_write", plain), given.get("cache_read", plain))


def _dollars(node: Node) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= DEAREST:
        hint = f"US dollars per million tokens, 0 to {DEAREST:,.0f}"
        raise node.wrong(f"must be a price, not {value!r:.60}", hint)
    return float(value)


def _day(node: Node) -> str:
    """A day as ISO 8601. YAML itself makes a date of one that stands without quotes."""
    value = node.value
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise node.wrong(f"must be a day, not {str(value)!r:.60}", "Write it as 2026-11-20")
    return day.isoformat()
