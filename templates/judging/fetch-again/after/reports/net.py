import time
from urllib.request import urlopen

ATTEMPTS = 3
SECONDS = 10
FIRST_PAUSE = 0.5


def fetch(url, attempts=ATTEMPTS, timeout=SECONDS):
    for attempt in range(attempts):
        try:
            with urlopen(url, timeout=timeout) as reply:
                return reply.read()
        except OSError:
            if attempt == attempts - 1:
                raise
            time.sleep(FIRST_PAUSE * 2**attempt)
