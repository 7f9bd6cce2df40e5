"""Isolation: what a sandbox grants and a clean room shows, and the mechanisms that enforce it.

run_sandbox.py, sandbox.py       the sandbox of a run and its grants; the command line that starts an agent in it
check_sandbox.py                 the sandbox of checks
clean_room.py, enclosure.py      a clean room; what its commands see, and their environment
export.py, dependencies.py       its files; dependency folders and bytecode that it borrows
machine_paths.py                 paths that are granted or hidden: homes, programs, git, other checkouts
mechanisms.py                    which mechanisms this machine really has
launcher.py                      the program that enters a room or sandbox and becomes the command, by
landlock.py, namespaces.py       rules of Landlock, and mounts in namespaces
mounts.py                        the table of mounts that bubblewrap and namespaces carry out
"""
