"""aigon: a coding agent in a loop, until every acceptance criterion is proven."""

__version__ = "0.1.0"
