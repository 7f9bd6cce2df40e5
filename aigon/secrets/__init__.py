"""Secrets: the shapes of credentials, and taking them out of everything that is written down.

shapes.py      what credentials of known providers look like, and how a value is spelled in base64, URLs and XML
redaction.py   environments without credentials; output, events and findings without known values and tokens
leaks.py       which files must not be committed, by their names and by what they hold
"""
