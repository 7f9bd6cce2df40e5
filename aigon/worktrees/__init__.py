"""Worktrees for agents: made, readied, listed and removed without losing work.

places         where worktrees are, and which there are
worktree       make, find or reuse the worktree of one candidate, and ready it
ignored        ignored files: what a worktree needs, and what has to be saved before it goes
cleanup        remove worktrees
setup          one base, and a branch and worktree for each agent of a feature
"""
