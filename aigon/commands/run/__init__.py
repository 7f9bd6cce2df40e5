"""The verbs of `aigon run`."""
