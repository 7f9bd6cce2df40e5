"""How each real program is installed in a folder of its own, and pointed at a server on loopback."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

KEY = "sk-test-local"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DO_NOT_TRACK": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "GEMINI_TELEMETRY_ENABLED": "false",
    "NO_UPDATE_NOTIFIER": "1",
}
"""No program may look for updates or tell anybody anything."""


@dataclass(frozen=True, slots=True)
class Pointed:
    """What points a program at the server: variables, its model, more arguments, files in the home folder."""

    env: Mapping[str, str]
    model: str = ""
    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """A real program: its kind in aigon, the package it comes in, how it is pointed at the server.

    `restricted` makes of that one with which it may not write; `limited` is the server's answer to a spent usage limit.
    None where the program knows no such thing; `subscribed` is pointed at it by a login, where a key has no such limit.
    `unpaid` is the server's answer where a balance is used up.
    """

    kind: str
    package: str
    point: Callable[[str], Pointed]
    restricted: Callable[[Pointed], Pointed] | None = None
    limited: Mapping[str, object] | None = None
    subscribed: Callable[[Pointed], Pointed] = lambda pointed: pointed
    unpaid: Mapping[str, object] = field(default_factory=lambda: SPENT)
    node22: bool = False

    @property
    def from_npm(self) -> bool:
        """Whether it comes from npm; from PyPI otherwise."""
        return "==" not in self.package


def _with(*args: str) -> Callable[[Pointed], Pointed]:
    return lambda pointed: replace(pointed, args=(*pointed.args, *args))


def _denying(pointed: Pointed) -> Pointed:
    config = json.loads(pointed.env["OPENCODE_CONFIG_CONTENT"]) | {"permission": {"edit": "deny", "bash": "deny"}}
    return replace(pointed, env={**pointed.env, "OPENCODE_CONFIG_CONTENT": json.dumps(config)})


def _by_login(pointed: Pointed) -> Pointed:
    env = {name: value for name, value in pointed.env.items() if name != "ANTHROPIC_API_KEY"}
    return replace(pointed, env={**env, "CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{KEY}"})


def _openai(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_BASE": f"{url}/v1"}


def _claude(url: str) -> Pointed:
    return Pointed({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}, "claude-sonnet-4-5")


def _codex(url: str) -> Pointed:
    provider = (
        f'{{name="local",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY",requires_openai_auth=false}}'
    )
    args = ("-c", "model_provider=local", "-c", f"model_providers.local={provider}", "-c", "model_reasoning_effort=low")
    return Pointed(_openai(url), "gpt-5.4", args)


def _gemini(url: str) -> Pointed:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}
    return Pointed(env, "gemini-2.5-pro", files={".gemini/settings.json": json.dumps(settings)})


def _qwen(url: str) -> Pointed:
    return Pointed(_openai(url), "scripted", ("--auth-type", "openai"))


def _opencode(url: str) -> Pointed:
    model = {"name": "scripted", "limit": {"context": 200000, "output": 8192},
             "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}  # fmt: skip
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"scripted": model},
                "options": {"baseURL": f"{url}/v1", "apiKey": KEY}}  # fmt: skip
    config = {"autoupdate": False, "share": "disabled", "provider": {"local": provider}}
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1",
           "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}  # fmt: skip
    return Pointed(env, "local/scripted")


def _copilot(url: str) -> Pointed:
    env = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_MODEL": "gpt-4o",
           "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_OFFLINE": "true"}  # fmt: skip
    return Pointed(_openai(url) | env, "gpt-4o")


def _aider(url: str) -> Pointed:
    return Pointed(_openai(url), "openai/gpt-4o", ("--no-show-model-warnings",))


def _mini(url: str) -> Pointed:
    return Pointed({**_openai(url), "MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"}, "openai/gpt-4o")


def _pi(url: str) -> Pointed:
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [{"id": "scripted"}]}
    files = {".pi/agent/models.json": json.dumps({"providers": {"local": provider}})}
    return Pointed({"PI_OFFLINE": "1", "OPENAI_API_KEY": KEY}, "scripted", ("--provider", "local"), files)


SPENT: Mapping[str, object] = {"status": 429, "code": "insufficient_quota", "type": "insufficient_quota",
          "message": "You exceeded your current quota, please check your plan and billing details."}  # fmt: skip
_CODEX_SPENT = {"status": 429, "body": {"error": {"type": "usage_limit_reached", "plan_type": "plus",
                "message": "The usage limit has been reached", "resets_in_seconds": 3600}}}  # fmt: skip

_CLAUDE_SPENT = {
    "status": 429,
    "message": "This request would exceed your account's rate limit. Please try again later.",
    "headers": {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-reset": str(int(time.time()) + 36_000),
        "anthropic-ratelimit-unified-5h-status": "rejected",
    },
}
_CLAUDE_UNPAID = {"status": 400, "message": "Your credit balance is too low to access the Anthropic API."}

PROGRAMS: Mapping[str, Program] = {
    program.kind: program
    for program in (
        Program(
            "claude",
            "@anthropic-ai/claude-code@2.1.330",
            _claude,
            _with("--permission-mode", "default"),
            _CLAUDE_SPENT,
            _by_login,
            _CLAUDE_UNPAID,
            node22=True,
        ),
        Program("codex", "@openai/codex@0.169.0", _codex, _with("-s", "read-only"), _CODEX_SPENT),
        Program("opencode", "opencode-ai@1.18.33", _opencode, _denying, SPENT),
        Program("gemini", "@google/gemini-cli@0.61.0", _gemini, _with("--approval-mode", "default"), node22=True),
        Program("aider", "aider-chat==0.86.2", _aider, None, SPENT),
        Program("mini", "mini-swe-agent==2.4.6", _mini, None, SPENT),
        Program("qwen", "@qwen-code/qwen-code@0.24.4", _qwen, _with("--approval-mode", "default"), node22=True),
        Program("copilot", "@github/copilot@1.0.102", _copilot, _with("--deny-tool", "write", "--deny-tool", "shell")),
        Program("pi", "@mariozechner/pi-coding-agent@0.73.1", _pi, node22=True),
    )
}


def install(program: Program, prefix: Path) -> Path:
    """The folder with the program in it, installed there unless it already is. Raises CalledProcessError."""
    folder = prefix / program.kind
    if not folder.exists():
        _npm(program.package, folder) if program.from_npm else _pip(program.package, folder)
    return folder / ("node_modules/.bin" if program.from_npm else "bin")


def node22(prefix: Path) -> Path:
    """The folder with a Node 22, which the newest releases want: on an older one npm picks older builds silently."""
    folder = prefix / "node22"
    if not folder.exists():
        _npm("node@22", folder)
    return folder / "node_modules/.bin"


def _npm(package: str, folder: Path) -> None:
    _installed(
        folder, ["npm", "--prefix", "{folder}", "install", package, "--no-fund", "--no-audit", "--loglevel=error"]
    )


def _pip(package: str, folder: Path) -> None:
    pip = ["{folder}/bin/pip", "install", "-q", package, "mcp"]  # mini-swe-agent needs mcp and does not say so
    _installed(folder, [sys.executable, "-m", "venv", "{folder}"], pip)


def _installed(folder: Path, *commands: list[str]) -> None:
    """Run the commands; a folder that was not finished is put out of the way, not taken for an installation."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        for command in commands:
            subprocess.run([word.format(folder=folder) for word in command], check=True)
    except (OSError, subprocess.CalledProcessError):
        if folder.exists():
            folder.rename(folder.with_name(f"{folder.name}-broken-{os.getpid()}"))
        raise
