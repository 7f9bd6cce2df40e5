"""Readers of what people configure: JSON and YAML."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

from aigon.checks.endpoints.plan import parse_document as document
from aigon.checks.endpoints.plan import parse_unnamed, unpack_plan
from aigon.checks.project import ProjectOnDisk
from aigon.config.loading import parse_configuration
from aigon.config.models import Config
from aigon.config.prices import read_price_table
from aigon.config.sections import read_section, write_value
from aigon.errors import AigonError
from aigon.files import checksums
from aigon.files.resources import read_profiles
from aigon.model import agents
from aigon.profiles import profile
from aigon.profiles.conditions import Format, find_values
from aigon.profiles.resolution import apply_overrides
from aigon.proof.analysis import protected_keys
from tests.fuzz.of_specs import ROOT
from tests.fuzz.target import Target

JSON = (b'"', b"{", b"[", b'{"a":', b",", b":", b"null", b"1e9", b"\\u0000", b'"ralph": ', b'"agents": ', b'"paths": ')
YAML = (
    *(
        b"- ",
        b"a: ",
        b"&a ",
        b"*a",
        b"[*a,*a]",
        b"!!python/name:os.system ",
        b"!!float ",
        b"|\n  ",
        b">",
        b"? ",
        b"{",
        b"[",
    ),
    *(
        b"extends: library\n",
        b"detect: ",
        b"roles: ",
        b"any: ",
        b"all: ",
        b"not: ",
        b"always: true",
        b"<<: ",
        b"%YAML 1.2\n",
    ),
)
LAUGHS = b"".join(
    b"%c: &%c [%s]\n" % (97 + n, 97 + n, b",".join([b"*%c" % (96 + n)] * 9) or b"x") for n in range(1, 20)
)
"""Anchors within anchors: a document of a kilobyte that stands for more values than any memory holds."""
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + LAUGHS


def files(*patterns: str) -> Sequence[bytes]:
    """What ships, by globs in the repository."""
    return tuple(file.read_bytes() for pattern in patterns for file in sorted(ROOT.glob(pattern)) if file.is_file())


@cache
def configs() -> Sequence[bytes]:
    found = files(".aigon.example/config.json", "templates/**/config.json", "tests/**/config.json")
    server = (
        b'{"endpoints": {"command": "serve", "requests": ["GET /a", {"path": "/b", "expect": {"json": {"a": 1}}}]}}'
    )
    more = b'{"hooks": {"before_loop": {"command": "x"}}, "guards": {"runTime": "1h"}, "paths": {"a": "web"}}'
    return (
        *found,
        server,
        more,
        b'{"ladder": [{"turns": 1, "model": "a"}], "notify": [{"on": ["met"], "command": ["x"]}]}',
    )


def config(data: bytes) -> None:
    """The project's configuration over a person's, and the other way round."""
    person = ("config.json", b'{"ralph": {"maxIterations": 3}, "agents": {"mine": {"command": "x"}}}')
    found = parse_configuration([person, (".aigon/config.json", data)])
    assert isinstance(found, Config) and 1 <= found.ralph.max_iterations <= 20
    parse_configuration([(".aigon/config.json", data), person])


def _yaml(folder: str) -> Sequence[bytes]:
    return (*files(f"{folder}/*.yaml"), BOMB, b"description: mine\nextends: library\ntimeouts: {tests: 20m}\n")


@cache
def _shipped() -> Mapping[str, bytes]:
    return read_profiles()


def own_profile(data: bytes) -> None:
    """A project's profile, its own ecosystem, a shipped one's name, and one that extends itself."""
    for name in ("library", "mine"):
        found = profile.load_profiles(_shipped(), {name: data})
        with tempfile.TemporaryDirectory() as folder:
            profile.resolve_profile(found[name], ProjectOnDisk(Path(folder), {}))


def own_ecosystem(data: bytes) -> None:
    """A project's ecosystem, with its rules of protection."""
    shipped = {name: _shipped()[name] for name in ("ecosystems/make", "protection")}
    profile.load_ecosystems(shipped, {"ecosystems/make": data})
    profile.load_protections(shipped, {"ecosystems/mine": data})


def protection(data: bytes) -> None:
    """A project's rules for any project."""
    profile.load_protections(_shipped(), {"protection": data})


def overridden(data: bytes) -> None:
    """The key `checks` of a configuration, on a profile."""
    config = parse_configuration([(".aigon/config.json", data)])
    checks = {name: write_value(each) for name, each in config.checks.items()}
    with tempfile.TemporaryDirectory() as folder:
        project = ProjectOnDisk(Path(folder), {})
        found = profile.resolve_profile(profile.load_profiles(_shipped(), {})["generic"], project)
        apply_overrides(found, checks, project, profile.CONFIG)


def kind(data: bytes) -> None:
    """A kind of agent."""
    agents.read_agent_type("mine", data, "agents/mine.yaml")


def prices(data: bytes) -> None:
    """A table of prices."""
    read_price_table(data, "prices.yaml")


def template(data: bytes) -> None:
    """A command for people, and whose file it is."""
    checksums.inspect_command(data)
    checksums.is_unedited_command("a.md", data)


def mcp(data: bytes) -> None:
    """The servers of a project: what is wrong is noted."""
    from aigon.agents.api_agent.mcp import SERVERS_FILE, load_servers

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, SERVERS_FILE).write_bytes(data)
        load_servers(Path(folder), lambda _note: None)


def project_files(data: bytes) -> None:
    """Values in configuration files of tools."""
    forms: tuple[Format, ...] = ("toml", "json", "ini")
    for form in forms:
        try:
            find_values(form, data, ("tool", "*"))
        except ValueError as error:
            assert str(error) or form
    text = data.decode("utf-8", "replace")
    for path in ("package.json", "pyproject.toml", "setup.cfg"):
        protected_keys.have_equal_keys(text, text + " ", path, ("tool.pytest", "scripts"))
        protected_keys.copy_keys("", text, path, ("tool.pytest", "scripts"))


def conditions(data: bytes) -> None:
    """A project in which a file that a tool is configured with holds anything, under every profile."""
    for name in ("package.json", "pyproject.toml", "setup.cfg", "tsconfig.json", "Makefile"):
        with tempfile.TemporaryDirectory() as folder, suppress(AigonError):
            Path(folder, name).write_bytes(data)
            project = ProjectOnDisk(Path(folder), {})
            for found in _known().values():
                profile.resolve_profile(found, project)


@cache
def _known() -> Mapping[str, profile.Profile]:
    return profile.load_profiles(_shipped(), {})


def schema(data: bytes) -> None:
    """A document beside the endpoints: a schema, OpenAPI, in JSON or YAML."""
    document("a.yaml", data.decode("utf-8", "replace"))
    parse_unnamed(data.decode("utf-8", "replace"))


def plan(data: bytes) -> None:
    """What the check of endpoints is started with."""
    unpack_plan(data.decode("latin-1"))


def _tools() -> Sequence[bytes]:
    toml = b'[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n[tool.ruff]\nline-length = 100\n'
    return (*files("templates/demo/**/*.toml", "pyproject.toml"), toml, b'{"scripts": {"test": "jest"}, "type": "a"}',
            b"[tool:pytest]\naddopts = -q\n[flake8]\nmax = 1\n", b"a=[{b=1},{c=[2,3]}]\n")  # fmt: skip


def _plans() -> Sequence[bytes]:
    from aigon.checks.endpoints.plan import EndpointPlan, pack_plan
    from aigon.config.endpoints import Endpoints

    config = read_section(Endpoints, {"command": "x", "requests": ["GET /"]})
    return (
        pack_plan(EndpointPlan(config=config, names=["a"])).encode(),
        pack_plan(EndpointPlan(config=config)).encode(),
    )


def known(module: ModuleType) -> str:
    """A module's own name."""
    return module.__name__.rpartition(".")[2]


TARGETS = (
    Target("config", config, configs, JSON),
    Target("checks", overridden, lambda: (b'{"checks": {"lint": {"command": "ruff check", "timeout": "20m"}}}',), JSON),
    Target("profile", own_profile, lambda: (*_yaml("profiles"), *_yaml(".aigon.example/profiles")), YAML),
    Target("ecosystem", own_ecosystem, lambda: _yaml("profiles/ecosystems"), YAML),
    Target("protection", protection, lambda: files("profiles/protection.yaml"), YAML),
    Target("agent-kind", kind, lambda: _yaml("templates/agents"), YAML),
    Target("prices", prices, lambda: files("templates/prices.yaml", ".aigon.example/prices.yaml"), YAML),
    Target("commands", template, lambda: files("templates/commands/*"), (b"<!-- written by aigon", b"---\n")),
    Target(
        "mcp", mcp, lambda: (b'{"mcpServers": {"a": {"command": "x", "args": ["$" ], "env": {"A": "${B}"}}}}',), JSON
    ),
    Target("tool-files", project_files, _tools, (b"[", b"[[", b"a=", b"'''", b'"""', b"{a=", b"\\", b"\n ", *JSON)),
    Target("conditions", conditions, _tools, (b"[", b"[[", b"a=", b"'''", *JSON)),
    Target("schema", schema, lambda: (*files("templates/schemas/*.json"), BOMB), (*YAML, *JSON), (ValueError,)),
    Target("endpoint-plan", plan, _plans, (b"A", b"="), (ValueError,)),
)
