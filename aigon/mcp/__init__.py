"""`aigon mcp`: features as tasks for any agent or editor that speaks the Model Context Protocol.

server: which repositories and tasks are meant, what is served, how errors reach a client, and how: stdio, or HTTP on
this machine alone; tools: one method per tool, and what they refuse; results: what they return, and a task in full;
resources: features as documents, and who is told of changes. Everything is done by `aigon.api`.
"""
