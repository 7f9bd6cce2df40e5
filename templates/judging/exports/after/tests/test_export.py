import io

import pytest

from sheets.export import export


def test_both_formats_can_be_named():
    for kind in ("json", "csv"):
        export(kind, [], io.StringIO())


def test_others_cannot():
    with pytest.raises(ValueError, match="csv, json"):
        export("pdf", [], io.StringIO())
