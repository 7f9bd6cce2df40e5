"""Completion of names after Tab. It reads a few files, starts no process, and raises nothing."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from click import Context, Parameter

from aigon.git.repository import find_repository, find_repository_root

if TYPE_CHECKING:  # every command names its completers, and few command lines ever call one
    from click.shell_completion import CompletionItem

Completer = Callable[[Context, Parameter, str], "list[CompletionItem]"]
_CLOSED = ("done", "cancelled")
_NO_AGENT_TYPES = ("command", "replay")
"""Types that only a configuration or the demo makes an agent of."""


def _complete_features(is_wanted: Callable[[str], bool]) -> Completer:
    """Return what offers the features whose stage is wanted, by ID until a letter is typed."""

    def complete(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
        from aigon.spec.features import FOLDERS, ROOT, parse_feature_path

        root = find_repository_root(Path.cwd())
        paths = (path.relative_to(root).as_posix() for path in root.glob(f"{ROOT}/*/feature-*.md")) if root else ()
        known = sorted(filter(None, map(parse_feature_path, paths)), key=lambda each: (not each.id, each.id, each.slug))
        wanted = [feature for feature in known if feature.stage in FOLDERS and is_wanted(feature.stage)]
        by_id = typed.isdecimal() or not typed
        rows = ((each.name_for_people if by_id else each.slug, f"{each.slug} ({each.stage})") for each in wanted)
        return _offer(rows, typed)

    return complete


complete_features = _complete_features(lambda _stage: True)
complete_open_features = _complete_features(lambda stage: stage not in _CLOSED)
complete_closed_features = _complete_features(lambda stage: stage in _CLOSED)
complete_inbox = _complete_features(lambda stage: stage == "inbox")


def complete_agents(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Agent types, configured agents and, after `NAME:`, models; `A,B` completes the last one."""
    before, comma, last = typed.rpartition(",")
    name, colon, _ = last.partition(":")
    names = [f"{name}:{model}" for model in _list_models(name)] if colon else _list_agents()
    return _offer_words((before + comma + each for each in names), typed)


def _list_agents() -> list[str]:
    import json

    from platformdirs import user_config_path

    from aigon.files.resources import find_agent_types

    root = find_repository_root(Path.cwd())
    own = (user_config_path("aigon"), *([root / ".aigon"] if root else []))
    names = {*find_agent_types()} - {*_NO_AGENT_TYPES}
    for folder in own:
        names |= {*find_agent_types(folder / "agents")}
        # The readers of the configuration, which check it, take five times as long to import as all that runs here.
        with suppress(OSError, ValueError, AttributeError):
            names |= json.loads((folder / "config.json").read_bytes()).get("agents", {}).keys()
    return sorted(names)


def complete_models(context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Models with a known price: those of the provider of the agent named before, if its steps tell that."""
    agents: tuple[str, ...] = context.params.get("agents") or ("",)
    return _offer_words(_list_models(agents[0].partition(":")[0]), typed)


def _list_models(agent: str) -> list[str]:
    import yaml

    from aigon.files.resources import find_agent_types, find_resource

    groups = yaml.safe_load(find_resource("templates", "prices.yaml").read_bytes())["groups"]
    known = [[*group.get("aliases", ()), *group["models"]] for group in groups]
    kind = find_agent_types().get(agent)
    steps = (yaml.safe_load(kind.read_bytes()).get("ladder") if kind else None) or ()
    own = {step.get("model") for step in steps}
    return [model for models in known if not own or own & {*models} for model in models]


def complete_profiles(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Profiles that ship, and the project's own."""
    from aigon.files.resources import find_resource

    root = find_repository_root(Path.cwd())
    folders = (find_resource("profiles"), *([root / ".aigon" / "profiles"] if root else []))
    files = (file for folder in folders for file in folder.glob("*.y*ml"))
    return _offer_words(sorted({file.stem for file in files} - {"protection"}), typed)


def complete_judges(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Judge backends, those of plug-ins too."""
    from aigon.judge.backends import BACKENDS

    return _offer_words((*BACKENDS.names(), "none"), typed)


def complete_branches(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Local branches."""
    return _offer_words((ref.removeprefix("refs/heads/") for ref in _list_refs("refs/heads/")), typed)


def complete_saved_aside(_context: Context, _parameter: Parameter, typed: str) -> "list[CompletionItem]":
    """Refs of what was saved aside."""
    return _offer_words(_list_refs("refs/aigon/parked/"), typed)


def _list_refs(prefix: str) -> list[str]:
    """Return the refs below `prefix`, read from git's files: starting git would take longer than all the rest."""
    common = find_repository(Path.cwd()).common_dir
    refs = {file.relative_to(common).as_posix() for file in (common / prefix).rglob("*") if file.is_file()}
    with suppress(OSError):
        packed = (common / "packed-refs").read_text(errors="replace")
        refs |= {line.partition(" ")[2] for line in packed.splitlines() if f" {prefix}" in line}
    return sorted(refs)


def _offer(rows: Iterable[tuple[str, str]], typed: str) -> "list[CompletionItem]":
    """Return what begins as typed; each row is a word and what to say of it."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word, help=about or None) for word, about in rows if word.startswith(typed)]


def _offer_words(words: Iterable[str], typed: str) -> "list[CompletionItem]":
    return _offer(((word, "") for word in words), typed)
