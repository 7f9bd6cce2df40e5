"""Where prices come from: the project, the person, what ships, and genai-prices where it is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.config.loading import load_prices, open_work_tree
from aigon.config.prices import TokenCounts, estimate_cost, load_shipped_prices
from aigon.errors import AigonError

OWN = """
as_of: 2026-01-01
groups:
  - provider: anthropic
    models:
      MODEL: {input: PRICE, output: 1}
"""
STAND_IN = '''
"""As much of genai-prices as is asked of it: a class, a function, and its manner of counting."""
import sys
from dataclasses import dataclass

__version__ = "9.9.9"
print("imported", file=sys.stderr)

@dataclass
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0

@dataclass
class Told:
    total_price: float

def calc_price(usage, model_ref, *, provider_id=None):
    if (provider_id, model_ref) not in ((None, "strange-1"), ("acme", "strange-1")):
        raise LookupError(model_ref)
    fresh = usage.input_tokens - usage.cache_write_tokens - usage.cache_read_tokens
    assert fresh >= 0, "its input counts hold those of the cache"
    cost = fresh * 3 + usage.output_tokens * 15 + usage.cache_write_tokens * 4 + usage.cache_read_tokens * 0.5
    return Told(cost / 1e6)
'''
ASK = """
from aigon.config.loading import load_prices
from aigon.config.prices import add_known_prices, describe_stale_prices, find_price
from datetime import date
table = load_prices(lambda path: {project!r})
for model in {models!r}:
    known = add_known_prices(table, model)
    found = find_price(known, model)
    print(model, found and (found.price.input, found.price.output, found.price.cache_write, found.price.cache_read),
          found and found.group.source, repr(describe_stale_prices(known, date(2026, 11, 20), [model])), sep="|")
"""


def own(model: str, price: int) -> str:
    return OWN.replace("MODEL", model).replace("PRICE", str(price))


def ask(
    folder: Path, *models: str, package: str | None = STAND_IN, person: str = "", project: str = ""
) -> tuple[list[str], str]:
    """What a process with `package` on its path and these prices says of `models`, and its standard error."""
    (folder / "path").mkdir()
    if package is not None:
        (folder / "path" / "genai_prices.py").write_text(package)
    if person:
        (folder / "aigon").mkdir()
        (folder / "aigon" / "prices.yaml").write_text(person)
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONPATH": str(folder / "path")}
    script = ASK.format(models=models, project=project.encode() or None)
    ran = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines(), ran.stderr


def test_genai_prices_is_asked_only_for_what_no_table_knows(tmp_path: Path) -> None:
    said, err = ask(tmp_path, "strange-1", "acme/strange-1", "other/strange-1", "strange-2")
    known = "(3.0, 15.0, 4.0, 0.5)|genai-prices 9.9.9|''"
    unknown = "None|None|''"
    assert said == [
        f"strange-1|{known}",
        f"acme/strange-1|{known}",
        f"other/strange-1|{unknown}",
        f"strange-2|{unknown}",
    ]
    assert err.count("imported") == 1


def test_a_person_has_prices_of_their_own_and_the_package_is_left_alone(tmp_path: Path) -> None:
    said, err = ask(tmp_path, "anthropic/claude-next", "opus", "", person=own("claude-next", 7))
    assert said[0].startswith("anthropic/claude-next|(7.0, 1.0, 7.0, 7.0)|")
    assert f"is 323 days old (of 2026-01-01, {tmp_path}/aigon/prices.yaml)" in said[0]
    assert said[1].startswith("opus|(4.0, 20.0, ")
    assert err == ""


def test_the_projects_prices_count_before_the_persons(tmp_path: Path) -> None:
    said, err = ask(tmp_path, "opus", person=own("claude-opus-5-5", 6), project=own("claude-opus-5-5", 5))
    assert said and said[0].startswith("opus|(5.0, 1.0, "), err


@pytest.mark.parametrize(
    "package", [None, "raise RuntimeError('broken')", "Usage = None", "import sys\nclass Usage:\n    pass\n"]
)
def test_a_package_that_is_absent_or_of_another_kind_knows_nothing(tmp_path: Path, package: str | None) -> None:
    said, err = ask(tmp_path, "strange-1", package=package)
    assert said == ["strange-1|None|None|''"] and err == ""


def test_the_projects_prices_count_before_those_that_ship_model_by_model(tmp_path: Path) -> None:
    folder = tmp_path / ".aigon"
    folder.mkdir()
    million = TokenCounts(1_000_000, 0)
    assert estimate_cost(load_prices(open_work_tree(tmp_path)), "opus", million) == 4
    (folder / "prices.yaml").write_text(own("claude-opus-5-5", 3))
    table = load_prices(open_work_tree(tmp_path))
    assert [estimate_cost(table, name, million) for name in ("opus", "anthropic/claude-opus-5-5", "sonnet")] == [
        3,
        3,
        2,
    ]
    assert table.as_of == load_shipped_prices().as_of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("as_of: 2026-11-20\ngroups: 5\n", "groups must be a list"),
        ("", "empty"),
        (
            "as_of: 2026-11-20\ngroups:\n  - aliases: {s: claude-opus-5}\n    models: {}\n",
            "'claude-opus-5', which has no",
        ),
    ],
)
def test_prices_of_a_project_that_are_malformed_are_refused_by_the_name_of_the_file(text: str, says: str) -> None:
    with pytest.raises(AigonError) as caught:
        load_prices(lambda _path: text.encode())
    assert says in caught.value.what and caught.value.where == ".aigon/prices.yaml"
