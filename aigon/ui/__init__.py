"""`aigon ui`: pages that show what happens in a repository, live, and start verbs of aigon.

- `server.py`: the address, the token, the process
- `guard.py`: who may ask for what
- `pages.py`: the pages; `forms.py`: what their forms do
- `feed.py`: what changes on a page while it is open; `lane.py`: one run, folded from its journal
"""
