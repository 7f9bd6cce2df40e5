"""YAML into values: safe types only, and no key twice."""

from typing import Any

from aigon.errors import usage
from aigon.text.documents import Node
from aigon.text.size_limit import MIB, too_large
from aigon.text.yaml_nodes import Absurd, value

FIX = "Fix that line or the one above it: check brackets, quotes and indentation"


LARGEST = MIB
"""Bytes of a document: the largest that ships has 40 kB, and it is read by every command."""


def parsed(document: bytes, file: str) -> Node:
    """The document in `document`. Raises AigonError (usage) with file and line for anything that is not YAML."""
    import yaml

    if len(document) > LARGEST:
        raise too_large("The document", len(document), LARGEST, where=file, hint="Keep in it what aigon reads")
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found = value(document, loader, lambda root: _no_key_twice(root, file, set()))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise usage(f"Not valid YAML: {error.problem or error}", where=file + line, hint=FIX) from None
    except Absurd as error:
        where = f"{file}:{error.line}" if error.line else file
        raise usage(f"Not valid YAML: {error}", where=where, hint="Write it plainly, with fewer levels") from None
    except yaml.YAMLError as error:
        raise usage(f"Not valid YAML: {error}".splitlines()[0], where=file, hint=FIX) from None
    if found is None:
        raise usage("The file is empty", where=file, hint="Write a description and roles, or remove the file")
    return Node(found, file)


def _no_key_twice(node: Any, file: str, seen: set[int]) -> None:
    """YAML takes the last of two equal keys without a word, so that half of what was written would be lost."""
    if node is None or isinstance(node.value, str) or id(node) in seen:
        return
    seen.add(id(node))
    keys: set[str] = set()
    for child in node.value:
        for each in child if isinstance(child, tuple) else (child,):
            _no_key_twice(each, file, seen)
        if isinstance(child, tuple):
            key = str(child[0].value)
            if key in keys:
                where = f"{file}:{child[0].start_mark.line + 1}"
                raise usage(f"The key {key!r} stands twice", where=where, hint="Keep one of the two")
            keys.add(key)
