"""What a JavaScript test runner says of a failure, on one line."""

import re

from aigon.checks.parsers._text import shortened
from aigon.text.fingerprints import strip_escapes

_VALUE = re.compile(r"^ *(?P<which>Expected|Received)[^:\n]{0,40}: *(?P<value>[^\n]+)$", re.M)
_FRAME = re.compile(r"^\s*(?:●|at |❯ |\d* *\||> )|^\s*$")
_SPAN = 20_000


def said(message: str) -> str:
    """The first line that is neither heading nor stack, with the values that `expect` puts on lines of their own."""
    message = shortened(strip_escapes(message[:_SPAN]))
    first = next((line.strip() for line in message.split("\n") if not _FRAME.match(line)), "failed")
    values = {match["which"]: match["value"] for match in reversed(list(_VALUE.finditer(message)))}
    if "expect(" not in first or not values:
        return first
    return f"{first}: " + ", ".join(f"{which} {values[which]}" for which in ("Expected", "Received") if which in values)
