import json
from pathlib import Path

from player.defaults import DEFAULTS


class SettingsError(Exception):
    """Something in the settings that a person has to mend."""


def settings(file):
    if not Path(file).exists():
        return dict(DEFAULTS)
    given = json.loads(Path(file).read_text())
    for key in given:
        if key not in DEFAULTS:
            raise SettingsError(f"unknown setting {key!r} in {file}")
    return {**DEFAULTS, **given}
