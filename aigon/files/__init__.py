"""Files: written whole or not at all, locked, bounded, and where aigon keeps its own.

atomic: bounded reads, atomic writes, files moved aside; checksums: records in which damage shows; locks: who holds what
home: aigon's own folders; resources: what ships; registry: built-ins and plug-ins; pipe: streams; syscalls: the kernel
temporary: temporary folders that are gone even after a kill
system_errors: what is lacking (room, rights), where, and what to do
"""
