"""The YAML between two `---` lines at the top of a spec."""

from collections.abc import Mapping

from aigon.errors import AigonError, usage
from aigon.text.yaml_nodes import Absurd, value

_HINT = "Write `key: value` lines between two `---` lines, or remove both; a file must not begin with a `---` rule"


def read(content: str) -> Mapping[str, object]:
    """The mapping in `content`, the text below the first `---`; plain scalars stay strings (`1.10`, `no`, `on`).

    Raises a usage error for what is not YAML or not a mapping.
    """
    import yaml

    try:
        found = value(content, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise _refusal(f"The frontmatter is not valid YAML: {_problem(error)}", _line(content, error)) from None
    except Absurd as error:
        raise _refusal(f"The frontmatter is not valid YAML: {error}", (error.line or 1) + 1) from None
    except (ValueError, OverflowError, RecursionError):  # escapes beyond Unicode
        raise _refusal("The frontmatter is not valid YAML", 2) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _refusal("The frontmatter is not a mapping", 2)
    return found


def strings(frontmatter: Mapping[str, object], key: str) -> tuple[str, ...]:
    """The list of strings under `key`; one string counts as a list of one, nothing as an empty list.

    Raises a usage error for anything else.
    """
    found = frontmatter.get(key) or []
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(isinstance(item, str) and item for item in listed):
        raise usage(f"`{key}` is not a list of strings", where="frontmatter", hint=f"Write `{key}: [one, two]`")
    return tuple(listed)


def _refusal(what: str, line: int) -> AigonError:
    return usage(what, where=f"line {line}", hint=_HINT)


def _problem(error: Exception) -> str:
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    return " ".join(str(said).split())


def _line(content: str, error: Exception) -> int:
    """The line of the file: the frontmatter's text begins on line 2. YAML's own count knows other line breaks."""
    mark = getattr(error, "problem_mark", None)
    index = mark.index if mark else getattr(error, "position", 0)
    return content.count("\n", 0, index) + 2
