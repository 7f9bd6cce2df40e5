"""Long texts without their middle."""

SHOWN = 16_000
"""Characters of a tool's output that a model gets: about 7,000 tokens."""


def clipped(text: str, most: int = SHOWN) -> str:
    """`text`, or where it is longer than `most` characters its head and its tail, and how much is missing between."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
