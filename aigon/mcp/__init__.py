"""`aigon mcp`: features as tasks for any agent or editor that speaks the Model Context Protocol.

server: what is served, and how errors reach a client; tools: one method per tool; results: what they return, and a task
in full; rules: what they refuse; served: which repositories and tasks are meant; resources: features as documents, and
who is told of changes; transport: stdio, and HTTP on this machine alone.
Everything is done by `aigon.api`.
"""
