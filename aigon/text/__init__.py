"""Text: quoting, globs, YAML, shell words. Pure functions without any access to the world."""
