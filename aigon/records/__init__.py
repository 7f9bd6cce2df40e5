"""Records of a run that travel: journal, frozen job and logs as a commit on the git remote.

portable   one record: gathered here, or read from a commit and checked as what a stranger claims
exchange   push, fetch, list; what was fetched becomes this repository's record
"""
