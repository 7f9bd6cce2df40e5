"""The report on a feature: one page that needs nothing else, or Markdown for a pull request."""
