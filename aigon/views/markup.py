"""Text of others on pages: it stays text, shows nothing that a reader cannot see, and has a limit."""

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from aigon.text.patterns import compile_re
from aigon.text.quoting import clean, clip

_READ = 20
"""Times the limit that is read of a text before it is cleaned: what a terminal does not show must not use it up."""
_CODE = compile_re(r"`([^`\n]+)`")


def make_environment(loader: BaseLoader | None = None) -> Environment:
    """Return an environment for templates in which every value that is shown is escaped, cleaned and shortened."""
    environment = Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=show_text,
    )
    environment.filters |= {"text": show_text, "line": show_line, "block": show_block}
    return environment


def show_text(value: object, limit: int = 400) -> Markup:
    """Return at most `limit` characters of text as HTML, without what a reader cannot see; markup as it is."""
    if isinstance(value, Markup):
        return value
    return Markup("") if value is None else escape(clip(clean(str(value)[: limit * _READ]), limit))


def show_line(value: str, limit: int = 300) -> Markup:
    """Return text on one line, in which what is in backticks is shown as code."""
    parts = _CODE.split(clip(" ".join(clean(value[: limit * _READ]).split()), limit))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def show_block(value: str, limit: int) -> Markup:
    """Return text with its line breaks, in a block that scrolls. If it is cut, its end stays, which says most."""
    whole = clean(value[-limit * _READ :]).strip("\n")
    left_out = len(whole) - limit
    cut = whole if left_out <= 0 else f"… {left_out:,} characters before this are left out\n{whole[-limit:]}"
    return Markup('<pre tabindex="0">{}</pre>').format(cut)
