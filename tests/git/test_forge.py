"""Which forge an address belongs to, and where it shows commits and files."""

import pytest

from aigon.git.forge import find_forge

C = "c" * 40


@pytest.mark.parametrize(
    ("address", "commit", "file"),
    [
        ("git@github.com:ada/tea.git", f"https://github.com/ada/tea/commit/{C}", f"/blob/{C}/a.py#L3"),
        ("https://gitlab.example/g/tea.git", f"https://gitlab.example/g/tea/-/commit/{C}", f"/-/blob/{C}/a.py#L3"),
        ("ssh://git@bitbucket.org/ada/tea", f"https://bitbucket.org/ada/tea/commits/{C}", f"/src/{C}/a.py#lines-3"),
        ("https://codeberg.org/ada/tea", f"https://codeberg.org/ada/tea/commit/{C}", f"/src/commit/{C}/a.py#L3"),
    ],
)  # fmt: skip
def test_commits_and_files_have_an_address_on_a_known_forge(address: str, commit: str, file: str) -> None:
    found = find_forge(address)
    assert found is not None and found.commit(C) == commit
    assert found.file(C, "a.py", 3).endswith(file)


@pytest.mark.parametrize(
    "address",
    ["", "/srv/git/tea.git", "../t", "https://a.example/a/tea", "file:///github.com/x/y", "github.com", "C:/github/x"],
)  # fmt: skip
def test_any_other_address_has_none(address: str) -> None:
    assert find_forge(address) is None


def test_a_login_in_the_address_is_in_no_link() -> None:
    found = find_forge("https://ada:secret-token@github.com/ada/tea.git")
    assert found is not None and found.web == "https://github.com/ada/tea" and "secret" not in found.commit(C)


def test_a_path_cannot_end_the_address_or_begin_another_part() -> None:
    found = find_forge("https://github.com/ada/tea")
    assert found is not None
    assert found.file(C, 'a b"<#?.py').endswith("/a%20b%22%3C%23%3F.py")
    assert find_forge('https://github.com/ada/"onload=x') is not None
    assert '"' not in str(find_forge('https://github.com/a/"').web)  # type: ignore[union-attr]
