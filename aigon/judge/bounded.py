"""What a judge writes, made fit to be printed and written into a log."""

from aigon.text.fingerprints import plain

_TEXT = 1_000
"""Characters of evidence, and of reason, that are kept of one verdict."""


def bounded(text: str, characters: int = _TEXT) -> str:
    """On one line, without escape sequences or what changes how other text is shown, and not longer than that."""
    line = " ".join("".join(c if c.isprintable() else " " for c in plain(text)).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def cut(text: str, characters: int) -> str:
    """The beginning of a long text, and that it was cut."""
    return text if len(text) <= characters else f"{text[:characters]}\n(cut here: {len(text):,} characters in all)"
