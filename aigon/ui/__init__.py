"""`aigon ui`: pages that show what happens in a repository, live, and start verbs of aigon.

- `server.py`: the address, the token, the process; `pages.py`: templates, and what forms do
- `guard.py`: who may ask for what
- `fragments.py`: the parts of pages that change, and the cards of the board
- `feed.py`: what changes on a page while it is open; `lane.py`: one run, folded from its journal
"""
