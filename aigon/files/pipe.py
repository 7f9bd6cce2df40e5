"""A text stream whose reader may go away: standard output into `head`, a terminal that was closed."""

import contextlib
import errno
import os
from typing import TextIO

_NOBODY = (errno.EPIPE, errno.EIO)
"""What writing to a pipe without a reader, and to a terminal that was hung up, fails with."""


def write_line(stream: TextIO, text: str) -> bool:
    """Write one line and flush it; what the stream's encoding cannot hold becomes a question mark.

    False once the reader has gone; from then on `stream` leads nowhere. Raises OSError for anything else.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
    except OSError as error:
        if error.errno not in _NOBODY:
            raise
        discard_output(stream)
        return False
    return True


def discard_output(stream: TextIO) -> None:
    """Let what `stream` still holds go to the null device.

    Otherwise the interpreter fails to flush it at its end, complains, and exits with 120 whatever the run's outcome.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
