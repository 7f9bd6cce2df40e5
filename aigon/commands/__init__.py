"""One thin file per family of verbs: arguments in, one function called, an answer out."""
