"""Which projects are servers: the profile `api` is for those, and for no library or client beside them."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from aigon.errors import AigonError
from aigon.profiles.profile import detect_profile
from tests.projects import files, shipped

Files = Mapping[str, str]


def package(**content: object) -> Files:
    return {"package.json": json.dumps(content)}


def detected(root: Path, contents: Files) -> str:
    files(root, contents)
    return detect_profile(shipped().values(), ProjectOnDisk(root, {"PATH": f"{root}/bin"})).name


FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"
POM = "<dependency><artifactId>{}</artifactId></dependency>"
GO_MAIN = "package main\n\nfunc main() {\n}\n"
GO_MOD = "module x\n\ngo 1.22\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.10.0\n)\n"

SERVERS: dict[str, Files] = {
    "fastapi in requirements": {"requirements.txt": "fastapi==0.1\nuvicorn\n", "app/main.py": FASTAPI},
    "fastapi in pyproject": {
        "pyproject.toml": '[project]\nname = "x"\ndependencies = ["fastapi[standard]>=0.1", "x"]\n[build-system]\n',
        "src/x/main.py": FASTAPI,
    },
    "fastapi with poetry": {"pyproject.toml": '[tool.poetry.dependencies]\nfastapi = "^0.1"\n', "x.py": FASTAPI},
    "flask": {"requirements/base.txt": "Flask\n", "web/__init__.py": "def create():\n    return flask.Flask('x')\n"},
    "aiohttp": {"setup.cfg": "[options]\ninstall_requires =\n  aiohttp\n", "a.py": "app = web.Application()\n"},
    "litestar": {"Pipfile": '[packages]\nlitestar = "*"\n', "a.py": "app = Litestar([hello])\n"},
    "django": {
        "requirements.txt": "Django>=5\n",
        "manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'x.settings')\n",
    },
    "express": package(dependencies={"express": "^5"}),
    "nest": package(dependencies={"@nestjs/core": "^11"}, private=True),
    "hapi": package(dependencies={"@hapi/hapi": "1"}),
    "node without a framework": {
        **package(scripts={"start": "node server.js"}),
        "server.js": "import { createServer } from 'node:http';\ncreateServer((q, a) => a.end()).listen(80);\n",
    },
    "gin": {"go.mod": GO_MOD, "cmd/api/main.go": GO_MAIN},
    "echo, one line": {"go.mod": "module x\nrequire github.com/labstack/echo/v4 v4.1.0\n", "main.go": GO_MAIN},
    "net/http": {"go.mod": "module x\n", "main.go": GO_MAIN.replace("{\n", "{\n\thttp.ListenAndServe(a, nil)\n")},
    "axum": {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\naxum = "0.8"\n', "src/main.rs": ""},
    "actix in a workspace": {
        "Cargo.toml": '[workspace]\nmembers = ["api"]\n',
        "api/Cargo.toml": '[package]\nname = "x"\n[dependencies.actix-web]\nversion = "4"\n',
        "api/src/main.rs": "",
    },
    "axum, crates in a folder": {
        "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
        "crates/api/Cargo.toml": '[package]\nname = "api"\n[dependencies]\naxum = "0.8"\n',
        "crates/api/src/bin/serve.rs": "",
    },
    "a package at the root and a server in cmd": {
        "go.mod": "module x\n",
        "store.go": "package store\n",
        "cmd/serve/run.go": GO_MAIN.replace("{\n", "{\n\thttp.ListenAndServe(a, nil)\n"),
    },
    "a program among very many files": {
        "go.mod": "module x\n",
        "zz/main.go": GO_MAIN.replace("{\n", "{\n\thttp.ListenAndServe(a, nil)\n"),
        **{f"a/f{i}.go": "package a\n" for i in range(210)},
    },
    "spring": {"pom.xml": POM.format("spring-boot-starter-web")},
    "quarkus": {"build.gradle.kts": 'implementation("io.quarkus:quarkus-rest")\n'},
    "micronaut": {"build.gradle": "plugins { id 'io.micronaut.application' version '4' }\n"},
    "ktor in a catalog": {"build.gradle.kts": "", "gradle/libs.versions.toml": 'a = "io.ktor:ktor-server-core:3"\n'},
    "rails": {"Gemfile": "source 'x'\ngem 'rails', '~> 8'\n", "config/application.rb": ""},
    "sinatra": {"Gemfile": "gem \"sinatra\"\n", "config.ru": ""},
    "laravel": {"composer.json": '{"require": {"laravel/framework": "^12"}}'},
    "asp.net": {"Api/Api.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"></Project>'},
}  # fmt: skip

OTHERS: dict[str, Files] = {
    "a library for fastapi": {"pyproject.toml": '[project]\ndependencies = ["fastapi"]\n', "x.py": "x = 1\n"},
    "a client that needs aiohttp": {"requirements.txt": "aiohttp\n", "a.py": "aiohttp.ClientSession()\n"},
    "fastapi-users is not fastapi": {"requirements.txt": "fastapi-users\nflask_login\n", "a.py": "FastAPI()\n"},
    "a word in a comment": {"requirements.txt": "requests # not fastapi here\n", "a.py": FASTAPI},
    "express for tests only": package(devDependencies={"express": "5"}),
    "a helper for express": package(peerDependencies={"express": "5"}, main="i.js"),
    "a command line": package(scripts={"start": "node cli.js"}, bin="cli.js"),
    "a module that can serve": {"go.mod": "module x\n", "serve.go": "package serve\nvar s = http.Server{}\n"},
    "gin behind another module": {
        "go.mod": "module x\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.10.0 // indirect\n)\n",
        "main.go": GO_MAIN,
    },
    "middleware for axum": {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\naxum = "0.8"\n', "src/lib.rs": ""},
    "axum for tests": {"Cargo.toml": '[package]\nname = "x"\n[dev-dependencies]\naxum = "0.8"\n', "src/main.rs": ""},
    "spring without a server": {"pom.xml": POM.format("spring-boot-starter-batch")},
    "ktor's client": {"build.gradle.kts": 'implementation("io.ktor:ktor-client-core")\n'},
    "an engine for rails": {"Gemfile": "gemspec\n", "x.gemspec": "spec.add_dependency 'rails'\n"},
    "a package for laravel": {"composer.json": '{"require": {"illuminate/support": "*"}}'},
    "a framework itself": {
        "pyproject.toml": '[project]\nname = "Flask"\nclassifiers = ["Framework :: Flask"]\n[build-system]\n',
        "src/flask/app.py": "class Flask(App):\n    pass\n\napp = Flask(__name__)\n",
    },
    "what extends a framework": {
        "pyproject.toml": '[project]\ndependencies = ["fastapi"]\nclassifiers = ["Framework :: FastAPI"]\n',
        "tests/test_x.py": FASTAPI,
    },
    "a name is no dependency": {"pyproject.toml": '[project]\nname = "flask"\n', "a.py": "Flask(1)\n"},
    "an app for django": {
        "setup.cfg": "[metadata]\nclassifiers =\n  Framework :: Django\n",
        "manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'tests.settings')\n",
    },
    "a go library with an example that serves": {
        "go.mod": "module x\n",
        "mux.go": "package mux\n",
        "mux_test.go": "package mux_test\n",
        "_examples/rest/main.go": GO_MAIN.replace("{\n", "{\n\thttp.ListenAndServe(a, nil)\n"),
    },
    "a workspace of axum's kind": {
        "Cargo.toml": '[workspace]\nmembers = ["web", "web-extra", "examples/*"]\n',
        "web/Cargo.toml": '[package]\nname = "web"\n',
        "web/src/lib.rs": "",
        "web-extra/Cargo.toml": '[package]\nname = "web-extra"\n[dependencies]\naxum = "0.8"\n',
        "web-extra/src/lib.rs": "",
        "examples/chat/Cargo.toml": '[package]\nname = "chat"\n[dependencies]\naxum = "0.8"\n',
        "examples/chat/src/main.rs": "",
    },
    "a .NET library": {"A.csproj": '<Project Sdk="Microsoft.NET.Sdk"></Project>'},
    "nothing": {"README.md": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_has_the_profile_for_servers(name: str, tmp_path: Path) -> None:
    assert detected(tmp_path, SERVERS[name]) == "api"


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_stands_near_servers_has_another_one(name: str, tmp_path: Path) -> None:
    assert detected(tmp_path, OTHERS[name]) in ("generic", "library")


def test_a_front_end_and_a_server_in_one_package_are_for_a_person_to_decide(tmp_path: Path) -> None:
    if "web" not in shipped():
        pytest.skip("there is no profile web")
    with pytest.raises(AigonError, match="api and web match equally well"):
        detected(
            tmp_path,
            package(dependencies={"express": "5", "react": "19", "react-dom": "19"}, devDependencies={"vite": "7"}),
        )
