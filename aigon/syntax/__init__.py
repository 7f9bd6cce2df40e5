"""What a file is written in, as one kind of tree for every language that is read by its grammar."""

from aigon.syntax.source import Language, Node, Source, language_of, parse

__all__ = ["Language", "Node", "Source", "language_of", "parse"]
