"""Judging without a judge: what is asked, which quotes count, what a verdict needs. All of it is pure."""
