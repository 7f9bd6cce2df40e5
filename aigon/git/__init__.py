"""Git: the person's git before and after a run, aigon's own git during one, and putting back what an agent changed.

person.py, worktrees.py                       with the person's git: checkouts, worktrees
listings.py                                   what git prints, parsed
repository.py, forge.py                       read from files: where checkouts are; addresses on forges, `gh`
trusted.py, workspace.py, private_index.py    aigon's own git; the work tree of an agent and its snapshots
objects.py, commits.py, diff.py               many objects at once, commits, differences as text
branch_ref.py, locks.py, blind_spots.py       moving the branch, locks of git, what git overlooks
run_repository.py, foreign_objects.py         what an agent commits to, and how that is taken over
secret_files.py                               secrets among changed files
file_state.py, file_protection.py, protected_paths.py, refs.py, ref_protection.py, held_objects.py   what is put back
"""
