"""Lists of words, written as one text."""


def word_set(*texts: str) -> frozenset[str]:
    """The words of these texts."""
    return frozenset(word for text in texts for word in text.split())
