"""Documents in JSON or YAML, as JSON has them."""

import json
from typing import Any

from aigon.text import yaml_nodes

MOST = 2_000_000
"""Values in a document of YAML, each alias counted as what it names: the largest descriptions of APIs have half."""


def value(name: str, text: str) -> object:
    """What a document says. Raises ValueError, for people, where it is neither JSON nor, by its name, YAML."""
    if name.endswith((".yaml", ".yml")):
        return _yaml(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def either(text: str) -> object:
    """What a document without a name says. Raises ValueError."""
    try:
        return value("", text)
    except ValueError:
        return _yaml(text)


def _yaml(text: str) -> object:
    import yaml

    try:
        return yaml_nodes.value(text, _loader(yaml), most=MOST)
    except (yaml.YAMLError, yaml_nodes.Absurd) as error:
        raise ValueError(str(error).splitlines()[0]) from None


def _loader(yaml: Any) -> Any:
    """YAML's safe types less its dates, which JSON does not have."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    Loader.yaml_implicit_resolvers = {
        first: [each for each in known if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, known in resolvers.items()
    }
    return Loader
