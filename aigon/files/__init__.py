"""Files: written whole or not at all, locked, bounded, and where aigon keeps its own.

atomic: bounded reads, atomic writes, files moved aside; checksums: records in which damage shows; locks: who holds what
home: aigon's own folders; resources: what ships, and plug-ins; syscalls: the kernel
folders: temporary ones that are gone even after a kill, and the files of a checkout that patterns mean
system_errors: what is lacking (room, rights, a reader), where, and what to do
"""
