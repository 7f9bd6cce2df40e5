"""The verbs of `aigon fleet`."""
