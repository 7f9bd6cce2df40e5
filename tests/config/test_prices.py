"""What tokens cost, whose price a name has, and when prices are too old."""

from datetime import date

import pytest

from aigon.config.prices import (
    Price,
    PriceGroup,
    PriceTable,
    TokenCounts,
    describe_stale_prices,
    estimate_cost,
    find_price,
    load_shipped_prices,
    merge_tables,
    read_price_table,
)
from aigon.errors import AigonError, Exit
from aigon.files.resources import find_resource

TODAY = date(2026, 11, 20)
MILLION = TokenCounts(1_000_000, 1_000_000)


def table(*groups: PriceGroup) -> PriceTable:
    return PriceTable("2026-11-20", groups)


def flat(input: float, output: float = 0.0) -> Price:
    return Price(input, output, input, input)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-5",
        " claude-opus-5-5\n",
        "claude-opus-5-5-20261001",
        "claude-opus-5-5-2026-10-01",
        "claude-opus-5-5@20261001",
        "claude-opus-5-5[1m]",
        "anthropic/claude-opus-5-5",
        "anthropic/claude-opus-5-5-20261001",
        "bedrock/us.anthropic.claude-opus-5-5-20261001-v1:0",
        "eu.anthropic.claude-opus-5-5-v1:0",
        "openrouter/anthropic/claude-opus-5.5",
        "opus",
        "opus[1m]",
    ],
)
def test_a_model_is_known_by_the_names_that_programs_give_it(name: str) -> None:
    assert estimate_cost(load_shipped_prices(), name, MILLION) == pytest.approx(24.0)
    quote = find_price(load_shipped_prices(), name)
    assert quote and quote.model == "claude-opus-5-5"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt",
        "claude-opus-5",
        "claude-opus-5-5-fast",
        "claude-opus-5-5-2026",
        "claude-opus-5-5-20261301",
        "claude-opus-5-5-2026-1001",
        "my-claude-opus-5-5",
        "opusplan",
        "OPUS",
        "openai/claude-opus-5-5",
        "ollama/gpt-6-luna",
        "anthropic/gpt-6-luna",
        "anthropic/",
        "us.gemini-2.5-pro",
    ],
)
def test_a_name_that_might_be_another_models_has_no_price(name: str) -> None:
    assert estimate_cost(load_shipped_prices(), name, TokenCounts(1, 1)) is None
    assert find_price(load_shipped_prices(), name) is None


def test_the_four_kinds_of_tokens_have_a_price_each() -> None:
    prices = table(PriceGroup({"m": Price(1.0, 10.0, 100.0, 1000.0)}))
    assert estimate_cost(prices, "m", TokenCounts(1, 2, cache_write=3, cache_read=4)) == pytest.approx(4321e-6)


def test_a_long_prompt_costs_more_where_the_model_says_so() -> None:
    assert estimate_cost(load_shipped_prices(), "claude-haiku-5-5", TokenCounts(100_000, 0)) == pytest.approx(0.01)
    long = TokenCounts(90_000, 0, cache_read=10_001)
    assert estimate_cost(load_shipped_prices(), "claude-haiku-5-5", long) == pytest.approx(0.0455, abs=1e-6)
    found = find_price(load_shipped_prices(), "claude-haiku-5-5")
    assert found and found.price.calls(long) == pytest.approx(0.0091, abs=1e-6), "the sum of many calls is not long"


def test_an_earlier_table_counts_before_a_later_one_model_by_model() -> None:
    base = table(PriceGroup({"a": flat(1), "b": flat(2)}, provider="p", prefixes=("p/",), aliases={"x": "a"}))
    both = merge_tables(
        PriceTable("2020-01-01", (PriceGroup({"a": flat(7)}, provider="p"), PriceGroup({"p/b": flat(9)}))), base
    )
    costs = {name: estimate_cost(both, name, TokenCounts(1_000_000, 0)) for name in ("a", "p/a", "x", "b", "p/b", "c")}
    assert costs == {"a": 7, "p/a": 7, "x": 7, "b": 2, "p/b": 9, "c": None}
    assert both.as_of == base.as_of


def test_a_price_of_ones_own_for_a_dated_name_is_for_that_date_alone() -> None:
    both = merge_tables(table(PriceGroup({"a-20260101": flat(5)})), table(PriceGroup({"a": flat(1)})))
    assert [estimate_cost(both, name, TokenCounts(1_000_000, 0)) for name in ("a-20260101", "a-20260102")] == [5, 1]


def test_only_what_priced_something_is_called_old() -> None:
    old, new = (
        PriceGroup({"a": flat(1)}, as_of="2026-08-01", file="f.yaml"),
        PriceGroup({"b": flat(1)}, as_of="2026-08-22"),
    )
    both = PriceTable("2026-08-22", (old, new, PriceGroup({"c": flat(1)})))
    said = describe_stale_prices(both, TODAY, ["b", "a", "a-20260101", "c", "d"])
    assert said.startswith("The price of a is 111 days old (of 2026-08-01, f.yaml): ") and said.count("price of") == 1
    assert ".aigon/prices.yaml" in said
    assert describe_stale_prices(both, TODAY, ["b", "c", "d"]) == describe_stale_prices(both, TODAY) == ""
    assert "91 days old" in describe_stale_prices(both, date(2026, 11, 21)), "without models, of the table as a whole"
    assert describe_stale_prices(both, date(2025, 1, 1), ["a"]) == "", "a clock that is behind"


def test_a_price_that_was_announced_to_end_is_doubted_after_its_last_day() -> None:
    promotion = table(PriceGroup({"a": Price(1, 1, 1, 1, until="2026-12-31")}, as_of="2026-12-01"))
    assert describe_stale_prices(promotion, date(2026, 12, 31), ["a"]) == ""
    assert "held until 2026-12-31" in describe_stale_prices(promotion, date(2027, 1, 1), ["a"])


GROUPS = load_shipped_prices().groups
ROWS = [(group, name, price) for group in GROUPS for name, price in group.prices.items()]


@pytest.mark.parametrize(("group", "name", "price"), ROWS, ids=[name for _, name, _ in ROWS])
def test_a_shipped_price_is_plausible_and_says_where_it_is_from(group: PriceGroup, name: str, price: Price) -> None:
    for rates in filter(None, (price, price.long)):
        assert 0 < rates.cache_read <= rates.input <= rates.output
        assert rates.cache_read <= rates.cache_write <= 1.25 * rates.input + 1e-9
    if price.long:
        assert price.above >= 100_000 and price.long.input > price.input and price.long.output > price.output
    assert group.provider and "https://" in group.source
    assert group.as_of <= load_shipped_prices().as_of and (price.until or "9") > group.as_of
    assert [name in other.prices for other in GROUPS].count(True) == 1


def test_the_shipped_prices_of_anthropic_are_those_of_its_four_models() -> None:
    found = {name: (price.input, price.output) for group, name, price in ROWS if group.provider == "anthropic"}
    assert found == {
        "claude-haiku-5-5": (0.10, 0.50),
        "claude-sonnet-5-5": (2, 10),
        "claude-opus-5-5": (4, 20),
        "claude-fable-5-1": (10, 50),
    }
    aliases = {name: alias for group in GROUPS for name, alias in group.aliases.items()}
    assert {aliases[name] for name in ("haiku", "sonnet", "opus")} == set(found) - {"claude-fable-5-1"}
    assert all(find_price(load_shipped_prices(), alias) for alias in aliases)


GOOD = b"as_of: 2026-11-20\ngroups:\n  - models:\n      m: {input: 1, output: 2}\n"


def test_what_a_file_leaves_out_is_taken_dear_and_of_its_own_day() -> None:
    [group] = read_price_table(GOOD, "p.yaml").groups
    assert group == PriceGroup({"m": Price(1, 2, 1, 1)}, as_of="2026-11-20", file="p.yaml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"2026-11-20", b"soon", "as_of must be a day"),
        (b"2026-11-20", b"2026-11-20 10:00:00", "as_of must be a day"),
        (b"2026-11-20", b"5", "as_of must be a day"),
        (b"as_of: 2026-11-20\n", b"", "needs the key 'as_of'"),
        (b"groups:", b"group:", "Unknown key 'group'"),
        (b"input: 1, ", b"", "groups.0.models.m needs the key 'input'"),
        (b"input: 1", b"input: -1", "groups.0.models.m.input must be a price"),
        (b"input: 1", b"input: '1'", "input must be a price"),
        (b"input: 1", b"input: yes", "input must be a price"),
        (b"input: 1", b"input: .nan", "input must be a price"),
        (b"input: 1", b"input: .inf", "input must be a price"),
        (b"input: 1", b"input: 1e5", "input must be a price"),
        (b"input: 1", b"input: 1, inputs: 1", "Unknown key 'groups.0.models.m.inputs'"),
        (b"output: 2", b"output: 2, long: {input: 1, output: 1}", "long needs the key 'above'"),
        (b"output: 2", b"output: 2, long: {above: 0, input: 1, output: 1}", "long.above must be a number"),
        (b"output: 2", b"output: 2, until: never", "until must be a day"),
        (b"- models", b"- prefixes: ['']\n    models", "prefixes holds an empty text"),
        (b"- models", b"- prefixes: [1]\n    models", "prefixes.0 must be a text"),
        (b"- models", b"- aliases: {a: 1}\n    models", "aliases.a must be a text"),
        (b"      m:", b"      m: {}\n      m:", "The key 'm' occurs twice"),
        (b"{input: 1, output: 2}", b"1", "groups.0.models.m must be a mapping"),
        (b"groups:", b"groups: {}\nx:", "Unknown key 'x'"),
        (b"as_of", b"\xff\xfe\xff", "Not valid YAML"),
    ],
)
def test_a_file_that_is_malformed_is_refused_by_file_and_key(old: bytes, new: bytes, says: str) -> None:
    with pytest.raises(AigonError) as caught:
        read_price_table(GOOD.replace(old, new), "p.yaml")
    assert says in caught.value.what and caught.value.where.startswith("p.yaml")
    assert caught.value.code is Exit.USAGE


def test_the_sample_for_projects_can_be_copied_as_it_is() -> None:
    sample = read_price_table(find_resource(".aigon.example", "prices.yaml").read_bytes(), ".aigon/prices.yaml")
    for name in sample.groups[0].prices:
        assert find_price(load_shipped_prices(), name) is None, "it changes nothing for anybody"
        assert find_price(merge_tables(sample, load_shipped_prices()), name)
