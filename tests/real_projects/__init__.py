"""Projects of every kind that aigon should know by itself, with the real tools: init, a green tree, a red tree.

One file per kind in `kinds/`, found by being there. Kinds whose tools are on the machine, and need no package from a
registry, run with the suite; `python -m tests.real_projects` installs what the others need, once, and runs them all.
After that they run with the suite, too.
"""
