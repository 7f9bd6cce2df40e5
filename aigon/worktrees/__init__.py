"""Worktrees for agents: made, readied, listed and removed without losing work.

places         where worktrees are, and which there are
worktree       make, find or reuse the worktree of one candidate, and ready it
project_files  ignored files of the main checkout that a worktree needs
ignored        ignored files of a worktree that have to be saved
cleanup        remove worktrees
setup          one base, and a branch and worktree for each agent of a feature
"""
