import json


def export_json(entries, out):
    json.dump([dict(entry) for entry in entries], out, indent=2)


def export_csv(entries, out):
    # TODO: header first, then the rows
    for _ in entries:
        pass


FORMATS = {"json": export_json, "csv": export_csv}


def export(kind, entries, out):
    if kind not in FORMATS:
        raise ValueError(f"unknown format {kind!r}; known are {', '.join(sorted(FORMATS))}")
    FORMATS[kind](entries, out)
