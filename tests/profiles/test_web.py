"""What is a web front end, and what only looks like one."""

from pathlib import Path
from typing import Any

import pytest

from aigon.errors import AigonError
from tests.projects import files, managers, names, package, resolved

APP: dict[str, Any] = {"private": True, "scripts": {"test": "vitest", "build": "vite build"}}


def of(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "*")


@pytest.mark.parametrize(
    ("content", "others"),
    [
        ({"dependencies": of("react", "react-dom")}, ()),
        ({"dependencies": of("next", "react", "react-dom")}, ()),
        ({"dependencies": of("vue"), "devDependencies": of("vite")}, ("index.html",)),
        ({"devDependencies": of("svelte", "@sveltejs/kit", "vite")}, ("src/app.html",)),
        ({"dependencies": of("@angular/core", "@angular/platform-browser")}, ("angular.json",)),
        ({"dependencies": of("nuxt")}, ()),
        ({"dependencies": of("astro")}, ()),
        ({"dependencies": of("@remix-run/react", "@remix-run/node")}, ()),
        ({"devDependencies": of("@react-router/dev")}, ()),
        ({"dependencies": of("solid-js")}, ("index.html",)),
        ({"devDependencies": of("vite")}, ("index.html",)),
        ({"devDependencies": of("webpack")}, ("src/index.html",)),
        ({"devDependencies": of("@11ty/eleventy")}, ()),
        ({}, ("index.html",)),
    ],
)
def test_a_front_end_is_web(tmp_path: Path, content: dict[str, object], others: tuple[str, ...]) -> None:
    managers(tmp_path)
    package(tmp_path, **APP, **content)
    files(tmp_path, dict.fromkeys(others, ""))
    resolution = resolved(tmp_path)
    assert (resolution.profile, names(resolution)) == ("web", ["tests", "build"])


@pytest.mark.parametrize(
    ("content", "others", "profile"),
    [
        ({"private": True, "dependencies": of("express")}, (), "api"),
        ({"private": True, "dependencies": of("express")}, ("public/index.html",), "api"),
        ({"private": True, "dependencies": of("fastify")}, ("index.html",), "api"),
        ({"private": True, "dependencies": of("react", "react-native")}, (), "generic"),
        ({"private": True, "dependencies": of("expo", "react", "react-dom", "react-native")}, (), "generic"),
        ({"private": True, "dependencies": of("react", "ink")}, (), "generic"),
        ({"exports": "./a.js", "peerDependencies": of("react", "react-dom")}, (), "library"),
        (
            {"exports": "./a.js", "peerDependencies": of("vue"), "devDependencies": of("vue", "vite")},
            ("index.html",),
            "library",
        ),
        ({"exports": "./a.js", "devDependencies": of("svelte", "@sveltejs/kit", "@sveltejs/package")}, (), "library"),
        ({"private": True, "devDependencies": of("vite", "vitest")}, (), "generic"),
        ({"main": "index.js", "dependencies": of("lodash")}, (), "library"),
    ],
)
def test_what_is_not_opened_in_a_browser_is_not_web(
    tmp_path: Path, content: dict[str, object], others: tuple[str, ...], profile: str
) -> None:
    package(tmp_path, **content)
    files(tmp_path, dict.fromkeys(others, ""))
    assert resolved(tmp_path).profile == profile


def test_a_front_end_and_a_server_in_one_package_are_a_tie_that_names_the_option(tmp_path: Path) -> None:
    package(tmp_path, private=True, dependencies=of("express", "react", "react-dom"))
    with pytest.raises(AigonError, match="api and web match equally well") as caught:
        resolved(tmp_path)
    assert "--profile api" in caught.value.hint
