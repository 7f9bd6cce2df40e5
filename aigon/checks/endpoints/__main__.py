"""`python -I __main__.py --report FILE --scratch FOLDER -- SERVER...`, with the plan in AIGON_ENDPOINTS.

Exits as `aigon.checks.endpoints.plan` says, or with 128 plus a signal.
"""

import os
import sys
from pathlib import Path


def _run_session() -> int:
    from aigon.checks.endpoints import server, session

    return session.EndpointSession(server.read_order(sys.argv[1:], os.environ)).run()


if __name__ == "__main__":
    # Isolated mode knows neither this folder nor a user's own packages, of which aigon may be one.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from aigon.process.start import run_program

    run_program(_run_session, failure=3)
