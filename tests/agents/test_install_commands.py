"""Commands as files: in each agent's own form, brought up to date, and never over what a person wrote."""

import tomllib
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from aigon.agents.adapters import find_type
from aigon.agents.install_commands import (
    CommandTemplate,
    InstallTarget,
    install_commands,
    load_templates,
    parse_template,
    render_command,
)
from aigon.errors import AigonError
from aigon.files.checksums import inspect_command, is_unedited_command
from aigon.model.agents import AgentType, CommandFileResult, CommandFiles

NAMES = {"feature-create", "feature-implement", "feature-status", "feature-validate"}
CLAUDE = AgentType("claude", "Claude Code", commands=CommandFiles(".claude/commands/{name}.md"))
GEMINI = AgentType(
    "gemini", "Gemini CLI", commands=CommandFiles(".gemini/commands/{name}.toml", "toml", "{{args}}", "{{args}}")
)
SKILL = AgentType("pi", "pi", commands=CommandFiles(".agents/skills/{name}/SKILL.md", "skill", "", "", "${name}"))
HOME = AgentType("codex", "Codex CLI", commands=CommandFiles("~/.codex/prompts/{name}.md"))


@pytest.fixture
def place(tmp_path: Path) -> InstallTarget:
    (tmp_path / "repo").mkdir()
    return InstallTarget(tmp_path / "repo", tmp_path / "home")


def one(of: AgentType, name: str = "feature-implement") -> str:
    assert of.commands
    (found,) = [each for each in load_templates() if each.name == name]
    return render_command(found, of, of.commands).decode()


def put(of: AgentType, place: InstallTarget, name: str = "feature-implement") -> CommandFileResult:
    (found,) = [each for each in install_commands([of], place) if each.command == name]
    return found


def older(of: AgentType) -> bytes:
    """A file of an older aigon, as it wrote it."""
    assert of.commands
    return render_command(CommandTemplate("feature-implement", "Old", "", "# Old\n"), of, of.commands)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# content


def test_a_markdown_command_begins_with_frontmatter_and_has_the_agents_own_arguments() -> None:
    text = one(CLAUDE)
    _, head, body = text.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "description": "Have aigon build a feature until every acceptance criterion is proven",
        "argument-hint": "ID [options]",
    }
    assert "They typed: $ARGUMENTS\n" in body and "The first word, $1, is the feature" in body
    assert "aigon feature-implement <ID> --loop" in body and "`claude` is Claude Code" in body
    for told in (
        "## Loop Mode (Ralph Wiggum Technique)",
        "`.aigon/validation.sh`",
        "What it does",
        "Its configuration",
        "To interrupt",
        "To resume",
        "--resume",
    ):
        assert told in body
    assert "{{" not in text


def test_opencode_gets_no_numbered_placeholder_as_its_last_takes_all_words() -> None:
    opencode = find_type("opencode")
    assert opencode.commands is not None
    body = one(opencode)
    assert "They typed: $ARGUMENTS\n" in body and "$1" not in body


def test_a_toml_command_can_be_read_and_keeps_the_agents_own_braces() -> None:
    for name in NAMES:
        document = tomllib.loads(one(GEMINI, name))
        assert set(document) == {"description", "prompt"} and "{{args}}" in document["prompt"]
        assert "{{" not in document["prompt"].replace("{{args}}", "") and "aigon feature-" in document["prompt"]
    assert "The first word, the one after the name of this command, is" in tomllib.loads(one(GEMINI))["prompt"]


def test_a_skill_has_its_name_and_needs_no_arguments_of_its_own() -> None:
    text = one(SKILL, "feature-validate")
    assert yaml.safe_load(text.split("---\n")[1])["name"] == "feature-validate"
    assert "see their message" in text and "`$feature-implement <ID>`" in text and "{{" not in text


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_command_holds_what_an_agent_would_run_or_read_in_before_it_is_asked(name: str) -> None:
    (found,) = [each for each in load_templates() if each.name == name]
    for form in ("!`", "!{", "@{", " @"):
        assert form not in found.body


def test_only_options_that_exist_are_named_in_the_commands() -> None:
    from click import Context

    from aigon.commands.implement import implement_feature
    from aigon.commands.queue import stop_loops

    commands = (implement_feature, stop_loops)
    known = {option for command in commands for each in command.get_params(Context(command)) for option in each.opts}
    (found,) = [each for each in load_templates() if each.name == "feature-implement"]
    words = {word.strip("`,.:;()") for word in found.body.split()}
    assert {word for word in words if word.startswith("--")} - known == set()


@pytest.mark.parametrize(
    "body", ["# no frontmatter\n", "---\nargument-hint: x\n---\nbody\n", "---\ndescripton: x\n---\nb\n"]
)
def test_a_template_without_a_description_is_refused(body: str) -> None:
    with pytest.raises(AigonError):
        parse_template("x", body.encode(), "x.md")


def test_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(AigonError, match="ARG7"):
        render_command(CommandTemplate("x", "X", "", "{{ARG7}}\n"), CLAUDE, CommandFiles("x"))


# whose a file is


@pytest.mark.parametrize("of", [CLAUDE, GEMINI, SKILL])
def test_a_file_is_aigons_until_anybody_edits_it_and_line_endings_are_no_edit(of: AgentType) -> None:
    content = one(of).encode()
    assert inspect_command(content)[0] == "intact" and is_unedited_command("feature-implement.md", content)
    assert inspect_command(content.replace(b"\n", b"\r\n"))[0] == "intact"
    for edited in (
        content + b"more\n",
        content.replace(b"aigon", b"Aigon", 1),
        b"first\n" + content,
        content + content,
    ):
        assert inspect_command(edited)[0] == "edited" and not is_unedited_command("feature-implement.md", edited)
    assert inspect_command(b"# Mine\n") == inspect_command(b"") == ("foreign", "")
    assert inspect_command(b"\xff\xfe\x00")[0] == "foreign"


# writing


def test_commands_are_written_once_and_a_second_time_changes_nothing(place: InstallTarget, tmp_path: Path) -> None:
    found = install_commands([CLAUDE, GEMINI, SKILL, HOME], place)
    assert {each.state for each in found} == {"new"} and len(found) == 4 * len(NAMES)
    assert {each.command for each in found} == NAMES
    assert put(HOME, place).path == "~/.codex/prompts/feature-implement.md"
    assert (tmp_path / "home/.codex/prompts/feature-status.md").is_file()
    before = everything(tmp_path)
    assert {each.state for each in install_commands([CLAUDE, GEMINI, SKILL, HOME], place)} == {"unchanged"}
    assert everything(tmp_path) == before


def test_a_dry_run_says_the_same_and_writes_nothing(place: InstallTarget, tmp_path: Path) -> None:
    dry = install_commands([CLAUDE, HOME], replace(place, dry=True))
    assert everything(tmp_path) == {} and not (tmp_path / "repo" / ".claude").exists()
    assert dry == install_commands([CLAUDE, HOME], place)


@pytest.mark.parametrize("of", [CLAUDE, GEMINI])
def test_an_older_file_is_brought_up_to_date_unless_a_person_edited_it(of: AgentType, place: InstallTarget) -> None:
    path = (place.root or Path()) / put(of, place).path
    newest = path.read_bytes()
    path.write_bytes(older(of))
    assert put(of, replace(place, dry=True)).state == "updated" and path.read_bytes() == older(of)
    assert put(of, place).state == "updated" and path.read_bytes() == newest
    hers = older(of) + b"\n# and this is mine\n"
    path.write_bytes(hers)
    beside = path.with_name(f"{path.name}.new")
    for _ in range(2):
        found = put(of, place)
        assert (found.state, found.beside) == ("edited", f"{found.path}.new") and not found.wrote
        assert (path.read_bytes(), beside.read_bytes()) == (hers, newest)
    beside.write_bytes(older(of))
    assert put(of, place).beside and beside.read_bytes() == newest
    beside.write_bytes(b"notes of hers")
    assert put(of, place).beside == "" and beside.read_bytes() == b"notes of hers"


def test_an_edit_of_the_newest_version_leaves_nothing_beside_it(place: InstallTarget) -> None:
    path = (place.root or Path()) / put(CLAUDE, place).path
    path.write_bytes(path.read_bytes().replace(b"# Build", b"# Do build"))
    found = put(CLAUDE, place)
    assert (found.state, found.beside) == ("edited", "") and len(list(path.parent.iterdir())) == len(NAMES)


def test_a_file_that_aigon_did_not_write_is_never_touched(place: InstallTarget) -> None:
    path = (place.root or Path()) / ".claude/commands/feature-implement.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    found = put(CLAUDE, place)
    assert (found.state, found.beside, path.read_text()) == ("foreign", "", "mine")
    assert put(CLAUDE, place, "feature-status").state == "unchanged"


def test_nothing_is_written_through_links_or_out_of_the_repository(place: InstallTarget, tmp_path: Path) -> None:
    root, outside = place.root or Path(), tmp_path / "outside"
    outside.mkdir()
    (root / ".gemini").symlink_to(outside)
    (root / ".claude/commands").mkdir(parents=True)
    (root / ".claude/commands/feature-implement.md").symlink_to(outside / "target.md")
    (root / ".claude/commands/feature-create.md").mkdir()
    (root / ".agents").write_text("a file where a folder should be")
    states = {
        (each.agent, each.command): (each.state, each.why) for each in install_commands([CLAUDE, GEMINI, SKILL], place)
    }
    assert states["gemini", "feature-status"] == ("refused", "it would lie outside of the repository")
    assert states["claude", "feature-implement"] == ("refused", "it is a link")
    assert states["claude", "feature-create"] == ("refused", "there is something else than a file")
    assert states["claude", "feature-status"] == ("new", "")
    assert states["pi", "feature-status"][0] == "refused"
    assert everything(outside) == {}
    for path in ("../x/{name}.md", "/tmp/x/{name}.md"):
        away = AgentType("away", "Away", commands=CommandFiles(path))
        assert {each.state for each in install_commands([away], replace(place, dry=True))} == {"refused"}
    with pytest.raises(AigonError, match=r"has no .name."):
        install_commands([AgentType("one", "One", commands=CommandFiles("x.md"))], place)


def test_agents_that_read_the_same_files_do_not_overwrite_each_other(place: InstallTarget) -> None:
    twin = replace(CLAUDE, name="twin", title="Twin")
    assert {each.agent for each in install_commands([CLAUDE, twin], place)} == {"claude"}


def test_every_shipped_kind_with_commands_has_a_path_that_can_be_written(place: InstallTarget) -> None:
    from aigon.agents.adapters import load_types

    able = [known for known in load_types().values() if known.commands]
    assert find_type("claude") in able
    assert {each.state for each in install_commands(able, place)} == {"new"}
