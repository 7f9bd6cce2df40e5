"""Which Node a program would run with."""

import os

_HEAD = 512


def node_of(path: str) -> str | None:
    """The `node` that starts the program at `path`: a name to look up on PATH, or an absolute path.

    None for a native program, which brings its own. A script of any other kind is taken for one that starts `node`.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain read
            head = file.read(_HEAD)
    except OSError:
        return "node"  # executable but unreadable: nothing is known of it
    if not head.startswith(b"#!"):
        return None if b"\0" in head else "node"
    words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").split()
    interpreter = next((word for word in words if _name(word) in ("node", "nodejs")), "node")
    return interpreter if os.path.isabs(interpreter) else _name(interpreter)  # noqa: PTH117 - a text


def _name(word: str) -> str:
    return word.rpartition("/")[2]
