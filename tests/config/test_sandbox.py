"""What grants mean where they meet: the most specific path decides."""

from pathlib import Path

from aigon.config.grants import Grants, list_grant_layers
from aigon.isolation.machine_paths import expand_existing, load_sandbox_data


def test_the_more_specific_path_wins_whatever_it_is() -> None:
    grants = Grants(
        write=("/h/me/project", "/h/me/.cache"),
        read=("/h/me/.gitconfig",),
        hidden=("/h", "/h/me/.cache/browser"),
        own=("/h/me",),
    )
    assert list_grant_layers(grants) == (
        ("/h", "hidden"),
        ("/h/me", "own"),
        ("/h/me/.cache", "write"),
        ("/h/me/.gitconfig", "read"),
        ("/h/me/project", "write"),
        ("/h/me/.cache/browser", "hidden"),
    )


def test_what_may_be_read_inside_of_the_workspace_stays_writable() -> None:
    assert list_grant_layers(Grants(write=("/w",), read=("/w/.venv", "/usr/bin"))) == (("/w", "write"),)


def test_settings_inside_of_what_may_be_written_are_fixed() -> None:
    assert list_grant_layers(Grants(write=("/w",), fixed=("/w/.git/hooks",)))[1] == ("/w/.git/hooks", "fixed")


def test_a_place_is_where_the_persons_variables_say(tmp_path: Path) -> None:
    for name in ("home/.config/git", "elsewhere/git", "go"):
        (tmp_path / name).mkdir(parents=True)
    env = {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "elsewhere"),
        "GOPATH": str(tmp_path / "go"),
    }
    assert expand_existing(["~/.config/git", "$GOPATH", "$GOROOT/x", "~/.none"], env) == (
        str(tmp_path / "elsewhere" / "git"),
        str(tmp_path / "go"),
    )


def test_the_shipped_places_can_be_read_and_no_secret_is_among_them() -> None:
    assert load_sandbox_data().write and load_sandbox_data().read and load_sandbox_data().sockets
    assert not {*load_sandbox_data().write, *load_sandbox_data().read} & set(load_sandbox_data().never)
