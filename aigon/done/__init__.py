"""`aigon feature-done`, `cancel` and `reopen`: what ends a feature, or takes it up again.

done          the way from a request to the merge, and what comes after it
choice        which work is merged, whether the journal proves it, where its spec is
proof         everything run on the tree that the target will have
merge         merge, squash or open a pull request;  rebase  rebase, or adopt files of another candidate
checkouts     where branches are checked out, and what a killed merge left
retirement    cancel, pause and reopen; what becomes of candidates
"""
