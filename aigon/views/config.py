"""The configuration for people: a value on each line, and where it comes from."""

import json
from collections.abc import Iterable

Row = tuple[str, object, str]
"""A dotted key, its value, its origin."""
WIDEST = 46
"""Columns of key and value beside which an origin stands; of longer ones it stands below."""


def text(rows: Iterable[Row], *, origin: bool) -> str:
    """`key = value` as JSON on a line each, with `origin` in a column behind them."""
    lines = [(f"{key} = {json.dumps(value, ensure_ascii=False)}", where) for key, value, where in rows]
    if not origin:
        return "\n".join(line for line, _ in lines)
    width = min(max(len(line) for line, _ in lines), WIDEST)
    return "\n".join(_beside(line, where, width) for line, where in lines)


def _beside(line: str, where: str, width: int) -> str:
    return f"{line:<{width}}  {where}" if len(line) <= width else f"{line}\n{'':<{width}}  {where}"
