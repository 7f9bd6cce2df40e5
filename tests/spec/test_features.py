"""Features by name: IDs padded or not, slugs, names, paths."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aigon.errors import AigonError
from aigon.spec.document import parse_spec
from aigon.spec.features import FOLDERS, LONGEST_SLUG, ROOT, Feature, find_feature, next_id, parse_feature_path, slugify
from aigon.spec.files import read_title

PATHS = [
    f"{ROOT}/01-inbox/feature-light-mode.md",
    f"{ROOT}/02-backlog/feature-07-search.md",
    f"{ROOT}/03-in-progress/feature-42-dark-mode.md",
    f"{ROOT}/03-in-progress/notes.md",
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("42", "dark-mode"),
        ("042", "dark-mode"),
        ("7", "search"),
        ("07", "search"),
        ("dark-mode", "dark-mode"),
        ("42-dark-mode", "dark-mode"),
        ("feature-42-dark-mode", "dark-mode"),
        ("feature-42-dark-mode.md", "dark-mode"),
        (PATHS[2], "dark-mode"),
        (f"./{PATHS[2]}", "dark-mode"),
        ("light-mode", "light-mode"),
        ("feature-light-mode", "light-mode"),
    ],
)
def test_a_feature_is_found_by_every_name_it_has(wanted: str, found: str) -> None:
    assert find_feature(PATHS, wanted).slug == found


def test_an_id_is_kept_as_it_is_written_in_the_file_name() -> None:
    feature = find_feature(PATHS, "7")
    assert (feature.id, feature.name, feature.stage) == ("07", "feature-07-search", "backlog")
    assert feature.state_file() == ".aigon/loop-state-07.json"
    assert feature.state_file("cc") == ".aigon/loop-state-07-cc.json"
    assert feature.log() == f"{ROOT}/logs/feature-07-search-log.md"
    assert feature.log("cc") == f"{ROOT}/logs/feature-07-cc-search-log.md"


def test_a_feature_of_the_inbox_has_no_id_yet() -> None:
    feature = find_feature(PATHS, "light-mode")
    assert (feature.id, feature.name, feature.stage) == ("", "feature-light-mode", "inbox")
    assert feature.at("backlog", "08") == f"{ROOT}/02-backlog/feature-08-light-mode.md"


def test_a_slug_of_digits_alone_is_found_too() -> None:
    assert find_feature([f"{ROOT}/01-inbox/feature-2026.md"], "2026").slug == "2026"


def test_a_name_of_two_features_is_not_guessed() -> None:
    twice = [*PATHS, f"{ROOT}/05-done/feature-042-old.md"]
    with pytest.raises(AigonError) as error:
        find_feature(twice, "42")
    assert error.value.code == 2 and PATHS[2] in error.value.where and twice[-1] in error.value.where


@pytest.mark.parametrize(
    ("wanted", "hint"), [("dark-mod", "Did you mean 'dark-mode'?"), ("99", "42 dark-mode"), ("4", "07 search")]
)
def test_an_unknown_name_says_what_is_near_or_there(wanted: str, hint: str) -> None:
    with pytest.raises(AigonError) as error:
        find_feature(PATHS, wanted)
    assert error.value.code == 2 and f"'{wanted}'" in error.value.what and hint in error.value.hint
    assert wanted == "dark-mod" or "Known features: light-mode, 07 search, " in error.value.hint


def test_without_any_feature_it_says_how_to_make_one() -> None:
    with pytest.raises(AigonError) as error:
        find_feature([], "1")
    assert "none yet" in error.value.hint and "feature-create" in error.value.hint


@pytest.mark.parametrize(("folder", "stage"), [(folder, stage) for stage, folder in FOLDERS.items()])
def test_a_stage_is_a_folder(folder: str, stage: str) -> None:
    path = f"{ROOT}/{folder}/feature-1-x.md"
    feature = parse_feature_path(path)
    assert feature == Feature("1", "x", path, stage)


@pytest.mark.parametrize("path", ["README.md", "docs/feature.md", "feature-1-x.txt", "feature-.md"])
def test_other_files_are_no_features(path: str) -> None:
    assert parse_feature_path(path) is None


@pytest.mark.parametrize(
    ("title", "wanted"),
    [("Dark mode!", "dark-mode"), ("Über Größe ", "uber-grosse"), ("a/b\\c..d", "a-b-c-d"), ("2 players", "2-players")],
)
def test_a_title_becomes_a_name_for_files_and_branches(title: str, wanted: str) -> None:
    assert slugify(title) == wanted


@pytest.mark.parametrize("title", ["", "!!!", "暗いモード", "42", " - "])
def test_a_title_without_letters_is_refused(title: str) -> None:
    with pytest.raises(AigonError) as error:
        slugify(title)
    assert error.value.code == 2 and "no letter from a to z" in error.value.what and "--slug" in error.value.hint


@settings(max_examples=40)
@given(st.text(max_size=80))
def test_every_name_that_is_made_is_found_again(title: str) -> None:
    try:
        name = slugify(title)
    except AigonError:
        return
    assert len(name) <= LONGEST_SLUG and name == slugify(name)
    assert find_feature([f"{ROOT}/01-inbox/feature-{name}.md"], name).name == f"feature-{name}" or name[0].isdigit()


@pytest.mark.parametrize(
    ("ids", "wanted"), [([], "01"), (["01", "02"], "03"), (["9"], "10"), (["0042"], "0043"), (["99", "7"], "100")]
)
def test_the_next_id_is_one_more_and_as_wide(ids: list[str], wanted: str) -> None:
    assert next_id([f"{ROOT}/02-backlog/feature-{i}-x.md" for i in ids] + PATHS[:1]) == wanted


@pytest.mark.parametrize(
    "raw",
    [
        b"# Feature: Tea\n\ntext\n",
        b"##  a  b  \r\n",
        b"# Gr\xc3\xb6\xc3\x9fe \xff `x`\rmore",
        b"# a #\n",
        b"# a\\# b\n",
        b"#\tx\n",
        b"#x\n\n## y\n",
        b"text\n===\n",
        b"---\nallow: []\n---\n# Behind frontmatter\n",
        b"",
    ],
)
def test_a_title_is_the_same_read_alone_and_with_the_whole_spec(raw: bytes) -> None:
    assert read_title(raw) == parse_spec(raw).title
