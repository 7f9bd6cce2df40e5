"""`python -I __main__.py --workspace ... < prompt`: one session, and nothing of it left when it ends.

Exits with 0 when it finished, 1 for any other end, 128 and the signal's number after one.
"""

import sys
from pathlib import Path


def _run_session() -> int:
    from aigon.agents.api_agent import session, settings

    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    return session.run_agent(settings.parse_settings(sys.argv[1:]), prompt)


if __name__ == "__main__":
    # Isolated mode knows neither this folder nor a user's own packages, of which aigon may be one.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from aigon.process.start import run_program

    run_program(_run_session, failure=1)
