"""One kind of syntax tree for every language that is read by its grammar."""

from aigon.syntax.source import Edit, Language, Node, Source, apply_edits, language_of, parse

__all__ = ["Edit", "Language", "Node", "Source", "apply_edits", "language_of", "parse"]
