"""The program of the check `endpoints`: starts a server, asks it what was planned, ends it, and reports.

It is started like any other check's program (`aigon.checks.endpoints.check`), by its file: so it is the installed
aigon's, whatever lies in the folder that it is started in.
"""

from pathlib import Path

PROGRAM = Path(__file__).with_name("__main__.py")
