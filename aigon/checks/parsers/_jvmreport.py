"""The XML that JVM builds leave behind: JUnit's, Checkstyle's (detekt and ktlint write it, too) or Android Lint's."""

from aigon.checks.parsers import androidlint, checkstyle, junit
from aigon.model.checks import ParsedOutput


def reading(report: bytes) -> ParsedOutput:
    """What a report says, whichever of them it is."""
    found = junit.read(b"", report)
    if found.understood:
        return found
    linted = androidlint.reported(report) or checkstyle.read(b"", report)
    return linted if linted.understood else found
