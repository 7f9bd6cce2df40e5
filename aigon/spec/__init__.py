"""Specs: from the bytes of a Markdown file to criteria, and from verdicts back to ticks."""
