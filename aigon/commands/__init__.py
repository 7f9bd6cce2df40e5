"""One thin file per verb: arguments in, one function called, an answer out."""
