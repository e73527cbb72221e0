"""The programs that `fireside connect` knows, and what each needs to ask Fireside.

Codex from 0.134 on (a profile is a file of its own), Claude Code 2, llm from 0.26 on, pi from 0.70 on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fireside.connect.blocks import Check, check_toml, check_yaml
from fireside.connect.files import CannotEdit
from fireside.connect.json_values import Path as Names

PLACEHOLDER = "fireside"
"""Where a program wants a key and the server needs none."""

SECRETS = frozenset({"ANTHROPIC_AUTH_TOKEN", "apiKey", "fireside"})
"""Names of values that are keys, unless they are objects."""

_MOST_ANSWER = 16_384


@dataclass(frozen=True)
class Target:
    """The Fireside to connect to.

    Attributes:
        url: without `/v1`.
        key: None where it needs none.
        window: tokens that the model holds; None if that is not known.
    """

    url: str
    key: str | None
    model: str
    window: int | None
    thinks: bool = False


@dataclass(frozen=True)
class JsonFile:
    path: Path
    values: Mapping[Names, Any]


@dataclass(frozen=True)
class BlockFile:
    path: Path
    body: str
    check: Check


@dataclass(frozen=True)
class Client:
    """A program.

    Attributes:
        settings: where they are, and the variable that puts them elsewhere.
        files: what is written, and where; the second argument is the environment.
        use: what to do with it then.
    """

    title: str
    settings: str
    files: Callable[[Target, Mapping[str, str]], list[JsonFile | BlockFile]]
    use: Callable[[Target], str]


def _claude_code(target: Target, environment: Mapping[str, str]) -> list[JsonFile | BlockFile]:
    folder = _folder(environment, "CLAUDE_CONFIG_DIR", Path.home() / ".claude")
    names = ("ANTHROPIC_MODEL", *(f"ANTHROPIC_DEFAULT_{size}_MODEL" for size in ("OPUS", "SONNET", "HAIKU")))
    variables = {
        "ANTHROPIC_BASE_URL": target.url,
        "ANTHROPIC_AUTH_TOKEN": target.key or PLACEHOLDER,
        **dict.fromkeys(names, target.model),
        # A line that differs in every request would be the first of the prompt: nothing were cached.
        "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return [JsonFile(folder / "settings.json", {("env", name): value for name, value in variables.items()})]


def _codex(target: Target, environment: Mapping[str, str]) -> list[JsonFile | BlockFile]:
    folder = _folder(environment, "CODEX_HOME", Path.home() / ".codex")
    provider = [
        "[model_providers.fireside]",
        'name = "Fireside"',
        f"base_url = {_quoted(target.url + '/v1')}",
        'wire_api = "responses"',
        *(['env_key = "FIRESIDE_API_KEY"'] if target.key else []),
    ]
    profile = [
        f"model = {_quoted(target.model)}",
        'model_provider = "fireside"',
        *([f"model_context_window = {target.window}"] if target.window else []),
    ]
    return [
        BlockFile(folder / "config.toml", "\n".join(provider) + "\n", check_toml),
        BlockFile(folder / "fireside.config.toml", "\n".join(profile) + "\n", check_toml),
    ]


def _llm(target: Target, environment: Mapping[str, str]) -> list[JsonFile | BlockFile]:
    folder = _folder(environment, "LLM_USER_PATH", Path(click.get_app_dir("io.datasette.llm")))
    model = [
        "- model_id: fireside",
        f"  model_name: {_quoted(target.model)}",
        f"  api_base: {_quoted(target.url + '/v1')}",
        *(["  api_key_name: fireside"] if target.key else []),
        "  supports_tools: true",
        "  supports_schema: true",
    ]
    return [
        BlockFile(folder / "extra-openai-models.yaml", "\n".join(model) + "\n", check_yaml),
        JsonFile(folder / "keys.json", {("fireside",): target.key} if target.key else {}),
    ]


def _pi(target: Target, environment: Mapping[str, str]) -> list[JsonFile | BlockFile]:
    folder = _folder(environment, "PI_CODING_AGENT_DIR", Path.home() / ".pi" / "agent")
    if target.key and (target.key.startswith("!") or "$" in target.key):
        raise CannotEdit("pi would run a key that begins with '!' and replace '$'; use another key")
    window = target.window
    model: dict[str, Any] = {"id": target.model, "reasoning": target.thinks}
    if window is not None:
        model |= {"contextWindow": window, "maxTokens": min(_MOST_ANSWER, max(1, window // 2))}
    provider = {
        "baseUrl": f"{target.url}/v1",
        "api": "openai-completions",
        "apiKey": target.key or PLACEHOLDER,
        "models": [model],
    }
    return [JsonFile(folder / "models.json", {("providers", "fireside"): provider})]


def _codex_use(target: Target) -> str:
    export = "export FIRESIDE_API_KEY=… (your key), then: " if target.key else ""
    return f"{export}codex --profile fireside"


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        "Claude Code", "~/.claude/settings.json (CLAUDE_CONFIG_DIR)", _claude_code, lambda _: "claude"
    ),
    "codex": Client("Codex", "~/.codex (CODEX_HOME)", _codex, _codex_use),
    "llm": Client("llm", "its folder (LLM_USER_PATH)", _llm, lambda _: "llm -m fireside 'Hello'"),
    "pi": Client(
        "pi",
        "~/.pi/agent/models.json (PI_CODING_AGENT_DIR)",
        _pi,
        lambda target: f"pi --provider fireside --model {target.model}",
    ),
}


def _folder(environment: Mapping[str, str], name: str, usual: Path) -> Path:
    given = environment.get(name)
    return Path(given).expanduser().absolute() if given else usual


def _quoted(text: str) -> str:
    """A string as TOML and YAML both have it."""
    return json.dumps(text, ensure_ascii=False)
